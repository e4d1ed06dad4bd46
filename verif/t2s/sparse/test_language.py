"""Checks which sparse tensors, forwarding feeders and sums of products are refused, and how
mappings are completed for hardware. The page of directives has more refusals.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from tilewright.cli import main
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.program import Program
from tilewright.hw.t2s.compiler import passes
from tilewright.hw.t2s.compiler.passes import compiled
from tilewright.hw.t2s.compiler.visiting import visit
from tilewright.hw.t2s.language import Computation, MappingError
from tilewright.hw.t2s.language.computation import load_mapping
from tilewright.hw.t2s.lowering.completion import complete
from tilewright.hw.t2s.lowering.design import lowered
from tilewright.verif.kit.pages import examples, page
from tilewright.verif.t2s.designs import FOLDER

START = """\
from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k, ii, jj, kk = indices("i j k ii jj kk")
A, S = (tensor(name, "fp32", i, k, sparse="csr") for name in "AS")
B, X = tensor("B", "fp32", k, j), tensor("X", "fp32", k)
"""
SPMM = (
    START
    + """\
C = compute("C", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]]
C.tile(i, (ii, 2)).tile(j, (jj, 2)).tile(k, (kk, 4)).order(i, j, k, ii, kk, jj).unroll(ii)
feed, load = C.producers(B, "feeder", "loader")
"""
)
DENSE = """\
from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k, ii = indices("i j k ii")
A, B = tensor("A", "fp32", i, k), tensor("B", "fp32", k, j)
C = compute("C", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]]
C.tile(i, (ii, 2)).unroll(ii)
feed, load = C.producers(B, "feeder", "loader")
"""


def y(expression: str) -> str:
    return f'compute("Y", "fp32", i, sum_over=k)[{expression}]'


REFUSED = [
    (START, y("A[i, k] * X[k] + A[i, k] * X[k]"), "Y: A must stand in it once, not twice"),
    (START, y("A[i, k] * A[i, k]"), "Y: A must stand in it once, not twice"),
    (START, y("X[k] + X[k]"),
     "Y: a product must have a sparse tensor if others are added to it, unlike that of X"),
    (START, y("A[i, k] * X[k] + S[i, k] * X[k] * X[k]"),
     "Y: products that are added must have the same dense elements, unlike that of S and X and X "
     "and that of A and X"),
    (START, y("A[i, k] * X[k] + S[i, k] * X[i]"),
     "Y: products that are added must have the same dense elements, unlike that of S and X and "
     "that of A and X"),
    (START, y("X[k] * (A[i, k] + S[i, k])"),
     "a sum of products must not be multiplied: each product is written out"),
    (START, y("X[k] + 2"), "must be a sum of products of tensors' elements, not of 2"),
    (START, y("2 + A[i, k]"), "must be a sum of products of tensors' elements, not of 2"),
    (START, 'compute("Y", "fp32", i, sum_over=k, semiring="addnorm")[A[i, k] * X[k]]',
     "Y: semiring must be one of mma, minplus, maxplus, minmax, maxmin, orand, as A is sparse, not "
     "addnorm"),
    (START, 'compute("Y", "fp32", i, sum_over=k, semiring="minplus")[A[i, k] * S[i, k] * X[k]]',
     "Y: must be a product of 1 or 2 tensors on minplus, not 3"),
    (START, 'tensor("T", "fp32", i, k, sparse=True)',
     "T: sparse must be one of csr, ciss, not True"),
    (SPMM, "C.forward(feed, ii=1)",
     "C.forward: loop `ii` chooses entries of A: not every element takes the word"),
    (SPMM, "feed.unroll(ii).scatter(ii=1)",
     "B_feeder.scatter: A is sparse: words are forwarded"),
    (SPMM, "feed.unroll(jj).forward(jj=1)",
     "B_feeder.forward: loop `jj` chooses the element of B"),
    (SPMM, "feed.buffer(k).unroll(ii); load.remove(ii)",
     "B_loader.remove: loop `ii` is unrolled in B_feeder, which would have to forward along it"),
    (SPMM, 'C.producers(A, "feeder", "loader")',
     "C.producers: A is sparse: it has a loader of entries"),
    (SPMM, 'C.consumers("collector", "unloader")',
     "C.consumers: A is sparse: there is no collector"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "line", "message"), REFUSED)
def test_refused(before: str, line: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(before + line)
    with pytest.raises(MappingError) as told:
        compiled(load_mapping(file))
    assert str(told.value) == f"mine.py:{before.count(chr(10)) + 1}: {message}"


def test_feeders_of_dense_computations_have_no_hardware(tmp_path: Path) -> None:
    """Such feeders run in the interpreter: `verif/t2s/compiler/test_designs.py`."""
    file = tmp_path / "mine.py"
    file.write_text(DENSE + "feed.buffer(k).unroll(ii).forward(ii=1)\n")
    compiled(load_mapping(file))
    with pytest.raises(MappingError) as told:
        complete(load_mapping(file))
    assert str(told.value) == (
        "mine.py:8: B_feeder.forward: it has no hardware yet without a sparse tensor: let elements "
        "forward B along `ii`"
    )


def said(computation: Computation, tensor: str) -> dict[str, object]:
    """Returns the directives of a tensor's producers."""
    feeder, loader, serializer = computation.chain(tensor)
    assert feeder.buffered
    return {
        "buffer": feeder.buffered[:2],
        "unrolled": [one for one, _ in feeder.unrolled],
        "forwarded": [one[:2] for one in feeder.forwarded],
        "not loaded again": {one for one, _ in loader.removed},
        "laid out": {*computation.loop_names} - {one for one, _ in serializer.removed},
    }


def test_what_is_left_out_is_completed() -> None:
    """Feeders are filled from the innermost loop on that chooses their words."""
    computation = complete(load_mapping(FOLDER / "sparse" / "spmttkrp.py"))
    shared = {"unrolled": ["ii"], "forwarded": [("ii", 1)]}
    assert said(computation, "B") == shared | {
        "buffer": ("k", True),
        "not loaded again": {"l", "ll", "iii", "ii"},
        "laid out": {"j", "jj", "jjj", "k", "kk"},
    }
    assert said(computation, "C") == shared | {
        "buffer": ("l", True),
        "not loaded again": {"kk", "iii", "ii"},
        "laid out": {"j", "jj", "jjj", "l", "ll"},
    }
    assert [one.role for one in computation.chain("A")] == ["loader"]
    assert [one.role for one in computation.chain("D")] == ["unloader", "deserializer"]


def test_what_is_said_stays() -> None:
    """The mapping of the product of matrices says all of it; completing it again adds nothing."""
    written = load_mapping(FOLDER / "sparse" / "spmm.py")
    computation = complete(written)
    wanted = {
        "buffer": ("k", True),
        "unrolled": ["ii"],
        "forwarded": [("ii", 1)],
        "not loaded again": {"iii", "ii"},
        "laid out": {"j", "jj", "jjj", "k", "kk", "ii", "iii"},
    }
    assert said(computation, "B") == wanted
    assert said(complete(computation), "B") == wanted


def test_one_element_needs_no_copies() -> None:
    computation = complete(load_mapping(FOLDER / "sparse" / "union.py"))
    assert said(computation, "X") == {
        "buffer": ("k", True),
        "unrolled": [],
        "forwarded": [],
        "not loaded again": {"iii"},
        "laid out": {"k", "kk"},
    }
    assert [one.tensor.name for one in computation.sparse] == ["A", "B"]
    assert [len(one) for one in computation.products] == [2, 2]


# ``tilewright t2s`` with mappings of sparse tensors: its output and its checks.

SPMM_MAPPING_COMMANDS = [
    str(FOLDER / "sparse" / "spmm.py"),
    "--largest",
    "2",
    "--bounds",
    "i=7,j=8,k=5",
]


def test_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Figures that depend on the places of entries are upper bounds, or are not known."""
    report = tmp_path / "show.json"
    assert main(["t2s", "show", *SPMM_MAPPING_COMMANDS, "--json", str(report)]) == 0
    found = json.loads(report.read_text())
    # Tiles of 4 rows, 4 columns, 2 of k: of each row 2 entries, of each two vectors of 2.
    assert found["iterations"]["A_loader"] == 2 * 2 * 3 * 4 * 2
    assert found["iterations"]["B_loader"] == 2 * 2 * 3 * 2 * 2
    assert found["multiplications"] == {"defined": 7 * 8 * 5, "done": 2 * 2 * 3 * 4 * 2 * 2 * 2}
    assert found["predicted"] == {"not_known": "they depend on where entries are"}
    assert found["depths_depend_on_bounds"] == "they depend on where entries are"
    assert (found["depths"], found["interval"]) == ({}, None)
    told = capsys.readouterr().out
    assert "for kk < 2 where A(4 i + ii + 2 iii, 2 k + kk) is there:\n" in told
    assert "iterations, at most" in told
    assert "(x), done, at most" in told
    assert "counters" not in told


def test_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["t2s", "check", *SPMM_MAPPING_COMMANDS]) == 0
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if "│" in line]
    assert [one[1].strip() for one in rows] == ["define", *passes.PASSES]
    assert {one[4].strip() for one in rows} == {"0"}


def test_check_finds_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The feeder of B visits all words, so elements receive words of other entries."""

    def wrong(program: Program, computation: Computation) -> Program:
        feeder = program.function("B_feeder")
        return visit(program, computation).with_function("B_feeder", lambda _: feeder)

    monkeypatch.setitem(passes.PASSES, "visit", wrong)
    assert main(["t2s", "check", *SPMM_MAPPING_COMMANDS]) == 1
    assert "channel B_feeder[0] is left with" in " ".join(capsys.readouterr().out.split())


# The page of sparse operands: its examples run, and its reports are the commands' output.

PAGE = page("t2s-sparse.md")


def test_examples() -> None:
    """The second one asserts its result; the result of the first is compared with the design
    below."""
    blocks = examples(PAGE, "python")
    assert ["assert " in one for one in blocks] == [False, True]
    for number, block in enumerate(blocks):
        exec(compile(block, f"{PAGE.name}:{number}", "exec"), {})


def test_the_mapping_is_the_designs() -> None:
    """The page's five lines are compiled as the design is that ships."""
    names: dict[str, Any] = {}
    exec(examples(PAGE, "python")[0], names)
    config = T2sConfig(design="sparse/spmm", largest=0)
    assert lowered(names["C"], config).sparse == config.plan.sparse


def test_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Entries, steps and bytes of the same matrix on the model are those of the page."""
    rng = np.random.default_rng(1)
    entries = scipy.sparse.random_array((256, 256), density=0.05, rng=rng, format="csr")
    scipy.sparse.save_npz(tmp_path / "a.npz", entries)
    np.save(tmp_path / "x.npy", rng.random(256))
    files = [str(tmp_path / name) for name in ("a.npz", "x.npy")]
    settings = ["--set", "design=sparse/spmv_ciss", "--set", "largest=0", "--backend", "model"]
    assert main(["run", "einsum", "ik,k->i", *files, *settings]) == 0
    said = capsys.readouterr().out
    for line in PAGE.read_text().splitlines():
        if line.startswith("    │ ") and line.split()[1] in ("bounds", "array", "formats", "A"):
            assert line.strip().split() in [one.split() for one in said.splitlines()], line
