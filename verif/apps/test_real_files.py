"""Commands of all subjects on files of others: they compute, or refuse with what would."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.data import data_file, needs_data

pytestmark = needs_data

COMPUTE = [
    "spgemm p2p-Gnutella31 --backend model",
    "spmv p2p-Gnutella31 --backend model",
    "khop p2p-Gnutella31 --backend model",
    "triangles karate --backend model",
    "gcn karate karate --backend model",
    "bicgstab LFAT5 --backend model",
    "kmeanspp lp_afiro --clusters 3 --backend model",
    "lu west0067",
    "pca lp_afiro",
    "closure west0067",
    "fft lp_afiro",
    "spmul olm1000 olm1000",
]
REFUSE = {
    "gemm p2p-Gnutella31 p2p-Gnutella31": "; run spgemm multiplies sparse matrices",
    "gemv p2p-Gnutella31 --backend model": "; run spmm and spmv take sparse matrices, without "
    "--dense",
    "apsp p2p-Gnutella31": "; run sssp finds paths from one vertex",
    "eliminate karate": "; run lu exchanges them",
    "distances LFAT5": "; run apsp takes weights",
    "cg west0067": "; run bicgstab and gmres take others",
    "lu cryg2500": "; run eliminate takes more, without exchanging rows",
}


def words(line: str) -> list[str]:
    """The words of a command, names of matrices being those of their files."""
    name, *rest = line.split()
    return [name, *(str(_file(word)) if re.match("[A-Za-z]", word) else word for word in rest)]


def _file(word: str) -> Path | str:
    return word if word == "model" or "=" in word else data_file(f"matrices/{word}.mtx")


@pytest.mark.parametrize("line", COMPUTE)
def test_computed(run: Run, line: str) -> None:
    assert run(*words(line)) == 0
    assert "DIFFERENT" not in run.out


@pytest.mark.parametrize("line", REFUSE)
def test_refused(run: Run, line: str) -> None:
    assert run.refused(*words(line)).endswith(REFUSE[line])


@pytest.mark.parametrize(
    "line",
    [
        "spgemm lp_afiro --backend model",
        "khop p2p-Gnutella31 --backend model --set vector_words=64",
    ],
)
def test_what_a_refusal_names_takes_the_file(run: Run, line: str) -> None:
    said = run.refused(*words(line))
    [option] = re.findall("; (?:with )?(--.*?)(?: they fit| holds them)$", said)
    name, _, _ = option.removeprefix("--set ").partition("=")
    kept = re.sub(rf" --set {name}=\S+", "", line)
    assert run(*words(kept), *option.split()) == 0


@pytest.mark.parametrize("app", ["pagerank", "spgemm", "gemm", "spmv", "cg"])
def test_malformed(run: Run, app: str) -> None:
    """Refuses each malformed file with one line that names it."""
    folder = data_file("malformed")
    for file in sorted(folder.iterdir()):
        given = (file, file) if app == "gemm" else (file,)
        assert run.refused(app, *given).startswith(f"{file}: "), file
