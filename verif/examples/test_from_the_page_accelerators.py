"""``examples/from_the_page/sida``: runs without Tilewright; its bytes are the page's."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tilewright.hw.spec.ciss import CissLayout
from tilewright.hw.spec.elementwise.assembler import assemble
from tilewright.hw.spec.elementwise.instructions import (
    INSTRUCTIONS,
    Instruction,
    encode,
    scalar_operand,
)
from tilewright.hw.spec.jobs.tensaurus_operations import tile_words
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.sim.sida.images import program_words
from tilewright.sim.sparse.ciss import from_tensor
from tilewright.sim.sparse.tensor import Tensor
from tilewright.sim.t2s.images import laid_out
from tilewright.sim.t2s.sparse.entries import Entries
from tilewright.sim.t2s.sparse.running import laid_out_operands
from tilewright.verif.examples.readme import Stranger, memory_lines, page_of_memory
from tilewright.verif.kit.pages import page

pytestmark = pytest.mark.long

PAGE = page_of_memory("sida-job.md")
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
    table = page("sida-job.md").read_text().partition("## Instruction words\n")[2]
    table = table.partition("\n## ")[0]
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


# ``examples/from_the_page/t2s``: runs without Tilewright; its bytes are the page's.

PAGE_T2S = page_of_memory("t2s-job.md")
SPARSE_PAGE = page_of_memory("t2s-sparse.md")


@pytest.mark.slow
def test_t2s_on_the_rtl(tmp_path: Path) -> None:
    example = Stranger("t2s", tmp_path)
    *generate, run = example.commands
    assert len(generate) == 3
    assert generate[0] in PAGE_T2S
    assert generate[2] in SPARSE_PAGE
    for command in generate:
        example.prints(command)
    printed = example.prints(run)
    assert printed.splitlines()[-1] == "PASS"
    dense, _, sparse = printed.partition("tokens of A")
    assert memory_lines(dense) == memory_lines(PAGE_T2S)
    assert memory_lines(sparse) == memory_lines(SPARSE_PAGE)
    # Loops are walked in another order.
    example.change("run.py", "in reversed(place", "in list(place")
    done = example.run(run)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "FAIL")


def test_the_page_has_what_the_host_lays_out() -> None:
    config, bounds = T2sConfig(largest=2, format="int32"), {"i": 3, "j": 3, "k": 4}
    a = np.array([[16 * i + k for k in range(4)] for i in range(3)], np.uint64)
    b = np.array([[16 * k + j for j in range(3)] for k in range(4)], np.uint64)
    memory = memory_lines(PAGE_T2S)
    for name, base, words in (("A", 0, a), ("B", 0x100, b), ("C", 0x200, a @ b)):
        found = b"".join(memory[base + offset] for offset in range(0, 64, 16))
        assert found == laid_out(config.plan, name, bounds, words, config.beat_bytes)


def test_the_page_has_the_tokens_that_the_host_lays_out() -> None:
    config = T2sConfig(design="sparse/spmm", largest=2, format="int32")
    places = np.array([[0, 1], [1, 0], [2, 0]])
    entries = Entries(shape=(3, 2), places=places, words=np.array([5, 6, 7], np.uint64))
    bounds = {"i": 3, "j": 4, "k": 2}
    found = laid_out_operands(config.plan, bounds, {"A": entries}, config.beat_bytes)
    assert found.steps == {"A": 3}
    content = b"".join(memory_lines(SPARSE_PAGE).values())
    assert found.images["A"].content[:30] == content


# ``examples/from_the_page/tensaurus``: runs without Tilewright; its bytes are the page's.

PAGE_TENSAURUS = page_of_memory("tensaurus-job.md")


@pytest.mark.slow
def test_tensaurus_on_the_rtl(tmp_path: Path) -> None:
    example = Stranger("tensaurus", tmp_path)
    generate, run = example.commands
    assert generate in PAGE_TENSAURUS
    example.prints(generate)
    printed = example.prints(run)
    assert printed.splitlines()[-1] == "PASS"
    assert memory_lines(printed) == memory_lines(PAGE_TENSAURUS)
    # The second operand takes the first one's place.
    example.change("run.py", "REGION_2=cut * vectors", "REGION_2=0")
    done = example.run(run)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "FAIL")


def test_the_page_has_what_the_encoders_write() -> None:
    memory = memory_lines(PAGE_TENSAURUS)
    places = np.array([[0, 1, 1], [2, 0, 1], [2, 1, 0]])
    tensor = Tensor(shape=(3, 2, 2), indices=places, values=np.array([1.0, 2.0, 3.0]))
    stream = from_tensor(tensor, CissLayout(rows=2)).slots.tobytes()
    fields = {"load": 3, "last": 1, "slices": 3, "entries": 4, "tensor": 0x200, "output": 0x800}
    sizes = {"size_1": 2, "size_2": 2, "operand_1": 0x400, "operand_2": 0x600}
    tile = tile_words({**fields, **sizes})
    assert b"".join(memory[address] for address in range(0x200, 0x260, 12)) == stream
    assert b"".join(memory[address] for address in range(0, 128, 16)) == tile
