"""``examples/from_the_page/sida``: runs without Tilewright; its bytes are the page's."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tilewright.hw.spec.elementwise.assembler import assemble
from tilewright.hw.spec.elementwise.instructions import (
    INSTRUCTIONS,
    Instruction,
    encode,
    scalar_operand,
)
from tilewright.sim.sida.images import program_words
from tilewright.verif.examples.strangers import Stranger, memory_lines, page_of_memory
from tilewright.verif.kit.pages import page

pytestmark = pytest.mark.long

PAGE = page_of_memory("sida.md")
PROGRAM = """
scalar factor
scalar addend
reduce total sum
vector z
vector w
e1:
    fma r1, y, factor, addend
    store z, r1
    out r1
e2:
    reduce total, y
    store w, y
    out y
"""


@pytest.mark.slow
def test_on_the_rtl(tmp_path: Path) -> None:
    example = Stranger("sida", tmp_path)
    generate, run = example.commands
    assert generate in PAGE
    example.prints(generate)
    printed = example.prints(run)
    assert printed.splitlines()[-1] == "PASS"
    assert memory_lines(printed) == memory_lines(PAGE)
    # A minimum in place of the sum.
    example.change("run.py", '("rsum", "s2", "r0")', '("rmin", "s2", "r0")')
    done = example.run(run)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "FAIL")


def test_the_page_has_what_the_assembler_writes() -> None:
    words, entry = program_words(assemble(PROGRAM))
    memory = memory_lines(PAGE)
    found = [int.from_bytes(memory[0x2000 + 4 * place], "little") for place in range(8)]
    assert (found, 4) == ([int(word) for word in words], entry)


def test_the_page_has_the_bits_of_every_instruction() -> None:
    """Words are put together by the page's table, with every number that an operand may have."""
    table = page("sida.md").read_text().partition("## Instruction words\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \| (.*) \|$", table, re.M)
    assert [name for _, name, _ in rows] == list(INSTRUCTIONS)
    places = [int(low) for _, low in re.findall(r"(\d+):(\d+) \|", table.partition("|---")[0])]
    assert len(places) == 4
    registers = [*range(16), *range(scalar_operand(0), scalar_operand(32))]
    numbers = {"d": range(16), "v": range(16), "m": range(4), "s": range(32)}
    rng = np.random.default_rng(1)
    for opcode, name, cells in rows:
        kinds = [cell.strip() for cell in cells.split("|")]
        assert sorted("".join(kinds)) == sorted(INSTRUCTIONS[name].operands)
        for _ in range(20):
            drawn = {kind: int(rng.choice(numbers.get(kind, registers))) for kind in kinds if kind}
            word = int(opcode)
            for kind, low in zip(kinds, places, strict=True):
                word |= drawn.get(kind, 0) << low
            operation = INSTRUCTIONS[name]
            operands = tuple(drawn[kind] for kind in operation.operands)
            assert encode([Instruction(operation=operation, operands=operands)]) == [word]
