"""The page of the dataflow: its example runs, and its drawing agrees with the counts of `held`."""

from __future__ import annotations

import re

import numpy as np
from tilewright.hw.spec.elementwise.assembler import assemble
from tilewright.hw.spec.elementwise.instructions import INSTRUCTIONS
from tilewright.sim.sida.held import held
from tilewright.verif.kit.pages import examples, page

PAGE = page("oei.md")


def test_the_examples_run() -> None:
    blocks = examples(PAGE, "python")
    assert len(blocks) == 2
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {})


def test_the_program_assembles() -> None:
    text = re.search(r"^```\n(scalar.*?)^```", PAGE.read_text(), re.M | re.S)
    assert text is not None
    program = assemble(text[1], words=64)
    assert (len(program.e1), len(program.e2)) == (6, 6)


def test_every_instruction_is_there() -> None:
    """The page lists every instruction in the assembler's syntax; reductions have their own
    sentence."""
    names = {"v": "V", "m": "M"}
    expected = [
        f"| `{one.name} {', '.join(names.get(kind, kind) for kind in one.operands)}` | {one.doc} |"
        for one in INSTRUCTIONS.values()
        if one.name != "end" and "s" not in one.operands
    ]
    assert [line for line in PAGE.read_text().splitlines() if line in expected] == expected


def test_the_drawing() -> None:
    """The drawing has every element's step, and the elements that arrive, are used and wait in
    each."""
    lines = re.findall(r"^       ([0-5]) ((?:[.\d] ){6})", PAGE.read_text(), re.M)
    steps = {
        (int(row), col): int(cell)
        for row, cells in lines
        for col, cell in enumerate(cells.split())
        if cell != "."
    }
    assert steps == {(row, col): max(col, row + 2) for row, col in steps}
    rows, cols = (np.array(each) for each in zip(*steps, strict=True))
    listed = re.findall(
        r"  (\d)     (-|(?:\d,\d ?)+) +(-|(?:\d,\d ?)+) +(\d)$", PAGE.read_text(), re.M
    )
    waits = 0
    for number, (step, comes, used, after) in enumerate(listed):
        assert int(step) == number
        assert set(comes.split()) - {"-"} == {f"{r},{c}" for r, c in steps if c == number}
        again = {f"{r},{c}" for (r, c), when in steps.items() if when == number}
        assert set(used.split()) - {"-"} == again
        waits += len(set(comes.split()) - {"-"}) - len(again)
        assert int(after) == waits
    assert len(listed) == 8
    found = held(rows, cols, 6)
    assert found.peak == max(int(after) for *_, after in listed)
