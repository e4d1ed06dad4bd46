"""Checks that the tensor commands refuse bad input with one line, and the program with status 2."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tilewright.cli import main
from tilewright.registry import commands
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.pages import page
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.tensaurus.apps.files import random_tensor, save_tensor

TNS = {
    "0 1 1 5\n1 1 1 5\n": "line 1: index '0' of mode 1 must be an integer in 1..4294967295, or "
    "from 0 on with --zero-based",
    "0 0 0 5\n1 1 1 5\n": "line 1: index 0 of mode 1: every mode's indices begin with 0, so the "
    "file is zero-based: give --zero-based",
    "1 1 1 5\n1 1 5\n": "line 2: 3 fields, but line 1 has 4: an index for each of 3 modes and a "
    "value",
    "1 1 1 5\n1 1 1 1 5\n": "line 2: 5 fields, but line 1 has 4: an index for each of 3 modes "
    "and a value",
    "1 1 1 5\n1 x 1 5\n": "line 2: index 'x' of mode 2 must be an integer in 1..4294967295",
    "1 1 4294967296 5\n": "line 1: index '4294967296' of mode 3 must be an integer in "
    "1..4294967295",
    "1 1 1 five\n": "line 1: value 'five' must be a number",
    "1 1 5\n": "must have 3 or 4 modes, not 2",
    "1 1 1 1 1 5\n": "must have 3 or 4 modes, not 5",
    "": "has no entries, and their number of modes is not known",
}


@pytest.mark.parametrize("app", slow_but(["spmttkrp"], ["spmttkrp", "spttmc"]))
@pytest.mark.parametrize("text", TNS)
def test_tensors(run: Run, app: str, text: str) -> None:
    path = run.directory / "t.tns"
    path.write_text(text)
    assert run.refused(app, path) == f"{path}: {TNS[text]}"


OPTIONS = [
    (("--mode", "4"), "--mode must be in 1..3, as {tensor} has 3 modes, not 4"),
    (("--mode", "0"), "--mode must be an integer of at least 1, not '0'"),
    (("--rank", "0"), "--rank must be an integer in 1..4096, not '0'"),
    (("--factor", "5"), "--factor must be N=FILE, N a mode, not '5'"),
    (("--factor", "1={good}"), "--factor must be of mode 2 or 3, not 1"),
    (("--factor", "0={good}"), "--factor must be of mode 2 or 3, not 0"),
    (("--factor", "2={good}", "--factor", "2={good}"), "--factor must name mode 2 once"),
    (("--factor", "3={good}"), "{good}: must have 6 rows, as mode 3 has 6 indices, not 5"),
    (("--factor", "2={good}", "--rank", "4"), "{good}: must have 4 columns, as --rank says, not 3"),
    (("--set", "semiring=minplus", "--set", "marker=zero"), "tensaurus: `marker` must be bit with "
     "semiring minplus, of which 0 is a value, not 'zero'"),
    (("--set", "semiring=minplus"), "`semiring` must be mma for tensors of 3 modes, not 'minplus'"),
    (("--set", "order=2"), "`order` must be at least 3 for {tensor}, not 2"),
    (("--set", "value=int8"), "{tensor}: {n} of {n} values are not integers, which int8 needs"),
    (("--shape", "4,5"), "--shape must be of 3 or 4 modes, not 2"),
    (("--shape", "4,0,5"), "--shape must be sizes in 1..4294967295, not '4,0,5'"),
    (("--shape", "4,5,5"), "{tensor}: line 1: index '6' of mode 3 must be an integer in 1..5"),
    (("--backend", "gpu"), "backend must be one of "),
    (("--memory", "ddr"), "memory must be one of hbm, hbm32, hbm-refresh, flat, not 'ddr'"),
    (("--backend", "rtl", "--memory", "hbm"),
     "memory must be flat with the rtl backend, not 'hbm'"),
    (("--gigahertz", "0"), "--gigahertz must be a number in 0.01..100, not '0'"),
    (("--tile", "m=3"),
     "--tile must be of NAME=N, names f, f1, f2, i, j, k, loops, store, not 'm=3'"),
    (("--tile", "i=0"), "i of --tile must be an integer of at least 1, not '0'"),
    (("--tile", "loops=jj"), "loops of --tile must be jk in any order, not 'jj'"),
    (("--tile", "j=100000"), "no tiles fit the device: a tile's operands must have at most 1024 "
     "units, not 100001"),
    (("--tile", "f=9"), "no tiles fit the device: a fiber must have at most 4 vectors, a slice 4"),
    (("--set", "index_bits=16", "--tile", "i=65536", "--set", "out_bytes=4194304",
      "--set", "cols=1"), "no tiles fit the device: mode 0 of a stream must have at most 65535 "
     "indices"),
    (("-o", "y.txt"), "y.txt: must end in "),
    (("--json", "y.txt"), "y.txt: must end in .json, not '.txt'"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_options(run: Run, options: tuple[str, ...], message: str) -> None:
    tensor, _ = random_tensor(1, (4, 5, 6), 90)
    # The largest index comes first.
    path = run.directory / "t.tns"
    save_tensor(run, tensor)
    path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    there = len(np.unique(tensor.indices, axis=0))
    names = {"tensor": path, "good": run.save("good.npy", np.ones((5, 3))), "n": there}
    line = run.refused("spmttkrp", path, *(word.format(**names) for word in options))
    assert line.startswith(message.format(**names))


@pytest.mark.slow
def test_matrices_of_different_widths(run: Run) -> None:
    tensor, _ = random_tensor(1, (4, 5, 6), 9)
    path = save_tensor(run, tensor)
    b, c = run.save("b.npy", np.ones((5, 3))), run.save("c.npy", np.ones((6, 2)))
    given = ("--factor", f"2={b}", "--factor", f"3={c}")
    assert run.refused("spmttkrp", path, *given) == f"{c}: must have 3 columns, as {b} has, not 2"
    assert run.refused("spttmc", path, "--rank", "2,3,4") == "--rank must be 1 or 2 numbers, not 3"


MATRICES = [
    (("spmm", "{a}", "{b}"), "{b}: must have 4 rows, as {a} has 4 columns, not 3"),
    (("spmv", "{a}", "{b}"), "{b}: must be a vector of 4 values, as {a} has 4 columns, not 3 x 2"),
    (("spmm", "{a}", "{c}", "--rank", "3"), "--rank and {c} exclude each other"),
    (("spmm", "{a}", "--semiring", "max"), "semiring must be one of mma, minplus, "),
    (("spmm", "{a}", "--semiring", "minplus", "--set", "semiring=mma"),
     "--semiring and a setting of `semiring` exclude each other"),
    (("spmm", "{a}", "--semiring", "minplus", "--set", "value=int8"),
     "tensaurus: `value` must not be int8 with semiring minplus"),
    (("spmm", "{t}"), "{t}: must have 2 modes, not 3"),
    (("spmm", "missing.mtx"), "missing.mtx: cannot be read: No such file or directory"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("words", "message"), MATRICES)
def test_operands_of_matrices(run: Run, words: tuple[str, ...], message: str) -> None:
    tensor, _ = random_tensor(1, (4, 5, 6), 9)
    names = {
        "a": run.save("a.npy", np.eye(4)), "b": run.save("b.npy", np.ones((3, 2))),
        "c": run.save("c.npy", np.ones((4, 2))), "t": save_tensor(run, tensor),
    }  # fmt: skip
    assert run.refused(*(word.format(**names) for word in words)).startswith(
        message.format(**names)
    )


def test_a_refusal_is_one_line_and_status_2(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    path = run.directory / "t.tns"
    path.write_text("1 1 1 5\n0 1 1 5\n")
    assert main(["run", "spmttkrp", str(path), "--rank", "2"]) == 2
    said = capsys.readouterr().err.strip()
    assert said.count("\n") == 0
    assert f"{path}: line 2: index '0' of mode 1 must be" in said


# The page of Tensaurus' applications: its examples print what they say.

PAGE = page("tensaurus-applications.md")


def python_blocks() -> list[str]:
    """Indented text that imports or computes, block by block."""
    blocks: list[str] = []
    block: list[str] = []
    for line in [*PAGE.read_text().splitlines(), "end"]:
        if line.startswith("    ") or (block and not line):
            block.append(line[4:])
            continue
        if block and any(word.startswith("from ") for word in block):
            blocks.append("\n".join(block))
        block = []
    return blocks


def test_examples_print_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = python_blocks()
    assert len(blocks) == 3
    names: dict[str, object] = {}
    said = 0
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
        printed = " ".join(capsys.readouterr().out.split())
        wanted = re.findall(r"print\(.*\)\s+# ([^:\n]*)", block)
        said += len(wanted)
        assert printed == " ".join(wanted)
    assert said == 5


def test_every_command_is_on_the_page() -> None:
    text = PAGE.read_text()
    ours = [
        name
        for name, work in commands().items()
        if ".tensors." in work.function or ".networks." in work.function
    ]
    assert len(ours) == 8
    assert [name for name in ours if f"`{name} " not in text] == []
