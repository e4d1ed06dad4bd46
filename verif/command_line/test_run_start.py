"""What ``tilewright run`` imports before it says something: of helps and of refusals.

A process takes many command lines, one after the other: the first that has imported too much is
named.
"""

import json
import subprocess
import sys
from inspect import cleandoc
from pathlib import Path

import numpy as np
import pytest
from tilewright.hw.spec.unit import named_object
from tilewright.registry import commands
from tilewright.verif.kit.sampling import by_size

COMPUTING = {"amaranth", "cocotb", "matplotlib", "networkx", "numba", "scipy", "sklearn"}
"""What only a computation needs; NumPy besides, where a file is read."""
EMITTING = {"tilewright.hw.emit", "tilewright.synth", "tilewright.verif"}

FILES: dict[str, int | tuple[str, ...]] = {
    "gemm": 2, "knn": 2, "gcn": 2, "label": ("{file}", "--labels", "0,1"),
    "tucker": ("{file}", "--ranks", "2,2,2"), "passes": ("{file}", "--program", "{program}"),
    "bignum": 2, "fir": 2, "vector": ("add", "{file}", "{file}"),
    "pair": ("{file},{file}", "{file},{file}"),
    "einsum": ("ik,kj->ij", "{file}", "{file}"),
    "strassen": 2, "bigmul": 2, "polyval": 2, "spmul": 2,
    "stencil": ("{file}", "--weights", "{file}", "--steps", "2"),
}  # fmt: skip
"""Files that a command must be given, if not one; or all that it must be."""

PROGRAM = "vector x\ne1:\n    out y\ne2:\n    store x, y\n    out y\n"

_TAKE = """
import json, sys
from tilewright.cli import main
forbidden, lines = json.load(sys.stdin)
found = [[main(line), sorted(set(forbidden) & set(sys.modules))] for line in lines]
print("\\n" + json.dumps(found))
"""


def taken(forbidden: set[str], lines: list[list[str]]) -> tuple[list[int], list[str]]:
    """Exit statuses of command lines, and what they say on standard error. Of what is forbidden
    none may have been imported."""
    told = json.dumps([sorted(forbidden), lines])
    command = [sys.executable, "-c", _TAKE]
    done = subprocess.run(command, input=told, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    for line, (_, imported) in zip(lines, found, strict=True):
        assert imported == [], " ".join(line)
    return [status for status, _ in found], done.stderr.splitlines()


def given(name: str, file: str, program: str = "absent.ew") -> list[str]:
    """A command with a file in each place that must have one."""
    wanted = FILES.get(name, 1)
    if isinstance(wanted, int):
        return ["run", name, *[file] * wanted]
    return ["run", name, *(word.format(program=program, file=file) for word in wanted)]


def modelled(name: str) -> tuple[str, str]:
    """The backend of a command that runs no Verilog."""
    on_tcu = ".apps.tcu." in commands()[name].function
    return "--backend", "numpy" if on_tcu else "model"


SOME = by_size(["gemm", "spgemm", "cg"], list(commands()), list(commands()))


def test_helps() -> None:
    lines = [["run", "--help"], ["run"], ["run", "make"]]
    lines += [["run", name, "--help"] for name in SOME]
    statuses, said = taken(COMPUTING | EMITTING | {"numpy", "pydantic"}, lines)
    assert statuses == [0, 0, 2] + [0] * len(SOME)
    assert len(said) == 1


REFUSED_OPTIONS = {
    ("--backend", "silicon"): "backend must be ",
    ("--set", "colour=1"): "unknown parameter",
    ("--json", "report.txt"): "report.txt: must end in .json, not '.txt'",
}


def test_refused_options() -> None:
    """Before files are looked at, which are not there."""
    lines = [[*given(name, "absent.npy"), *words] for words in REFUSED_OPTIONS for name in SOME]
    statuses, said = taken(COMPUTING | EMITTING | {"numpy"}, lines)
    assert statuses == [2] * len(lines)
    expected = [line for line in REFUSED_OPTIONS.values() for _ in SOME]
    assert [one for one, line in zip(said, expected, strict=True) if line not in one] == []


REFUSED_FILES = {
    "absent.mtx": "cannot be read: No such file or directory",
    "headless.mtx": "line 1: not a Matrix Market header",
    "words.npy": "not a NumPy .npy file",
}


OF_OTHER_FILES = {"bigmul", "bignum", "color", "mlp"}
"""Commands whose first file is no matrix."""


def test_refused_files(tmp_path: Path) -> None:
    program = tmp_path / "own.ew"
    program.write_text(PROGRAM)
    for file in list(REFUSED_FILES)[1:]:
        (tmp_path / file).write_text("not what its name says\n")
    some = [name for name in SOME if name not in OF_OTHER_FILES]
    lines = [[*given(name, str(tmp_path / file), str(program)), *modelled(name)]
             for file in REFUSED_FILES for name in some]  # fmt: skip
    statuses, said = taken(COMPUTING | EMITTING, lines)
    assert statuses == [2] * len(lines)
    expected = [f"error: {tmp_path / file}: {line}" for file, line in REFUSED_FILES.items()
                for _ in some]  # fmt: skip
    wrong = [one for one, line in zip(said, expected, strict=True) if not one.startswith(line)]
    assert wrong == []


def test_refused_shapes(tmp_path: Path) -> None:
    """As far as first lines tell, or a .npy file does."""
    wide = tmp_path / "wide.mtx"
    wide.write_text("%%MatrixMarket matrix coordinate real general\n3 4 0\n")
    array = tmp_path / "wide.npy"
    np.save(array, np.ones((3, 4)))
    square = ["apsp", "mst", "triangles", "mcl", "bfs", "cg", "passes", "gcn"]
    program = tmp_path / "own.ew"
    program.write_text(PROGRAM)
    pairs = [("gemm", wide), ("gemm", array), ("spgemm", wide), ("spmm", array)]
    lines = [["run", name, str(file), str(file)] for name, file in pairs]
    lines += [given(name, str(file), str(program)) for name in square for file in (wide, array)]
    lines += [given("strassen", str(file)) for file in (wide, array)]
    lines = [[*line, *modelled(line[1])] for line in lines]
    statuses, said = taken(COMPUTING | EMITTING, lines)
    assert statuses == [2] * len(lines)
    assert [line for line in said if "must be square" not in line and "must have" not in line] == []


@pytest.mark.parametrize("name", commands())
def test_the_summary_is_that_of_the_function(name: str) -> None:
    work = commands()[name]
    first, _, _ = cleandoc(named_object(work.function).__doc__).partition("\n\n")
    assert " ".join(first.split()) == work.summary
