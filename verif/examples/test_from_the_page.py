"""``examples/from_the_page``: dense and sparse products and conversions run without Tilewright;
their bytes are the pages'."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array
from tilewright.hw.spec.c2sr import C2srLayout
from tilewright.hw.spec.jobs.gta_commands import command_bytes
from tilewright.sim.sparse.c2sr import from_csr
from tilewright.sim.sparse.csr_image import csr_image
from tilewright.sim.sparse.image import image
from tilewright.verif.examples.strangers import Stranger, memory_lines, page_of_memory
from tilewright.verif.kit.sampling import slow_but

LAYOUT = C2srLayout(channels=2, interleave=64, value="fp32", index_bits=32)


class Case(NamedTuple):
    """An example, its page, and a mistake: in which file, the text, and what is wrong instead."""

    name: str
    page: str
    file: str
    right: str
    wrong: str


CASES = (
    Case("gta", "gta.md", "run.py", "use_c=int(c is not None)", "use_c=0"),
    Case("engine", "engine.md", "run.py", "TRANSPOSED_B * transposed_b", "TRANSPOSED_B"),
    Case("matraptor", "matraptor.md", "run.py", "min(sums.get(j, math.inf), x + y)", "x + y"),
    Case("c2sr_converter", "c2sr.md", "c2sr.py", "channel) * self.block", "0) * self.block"),
)


@pytest.mark.parametrize("case", slow_but([], CASES, CASES[3:]), ids=lambda case: case.name)
def test_on_the_rtl(case: Case, tmp_path: Path) -> None:
    example = Stranger(case.name, tmp_path)
    *generate, run = example.commands
    section = page_of_memory(case.page)
    assert generate[0] in section
    for command in generate:
        example.prints(command)
    printed = example.prints(run)
    assert printed.splitlines()[-1] == "PASS"
    assert memory_lines(printed) == memory_lines(section)
    example.change(case.file, case.right, case.wrong)
    done = example.run(run)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "FAIL")


def commands_of_gta() -> bytes:
    """The list of the page: a product of int16, 2 x 3 x 2, on lane 0."""
    rows = {"deal": 2, "rows": 2, "row_bytes": 6, "stride": 8, "lanes": 1, "words": 1}
    execute = {
        "loads": 2, "operation": 1, "format": 1, "group": 1, "rows_last": 4, "row_folds": 1,
        "col_folds": 1, "time": 3, "left_stride": 1, "top_stride": 1, "result_stride": 2,
    }  # fmt: skip
    store = {**rows, "executes": 1, "deal": 5, "base": 0xC000, "row_bytes": 8, "words": 2}
    return b"".join(
        (
            command_bytes("load", {**rows, "memory": 0, "base": 0x1000}),
            command_bytes("load", {**rows, "memory": 1, "base": 0x4000}),
            command_bytes("execute", execute),
            command_bytes("store", store),
        )
    )


def test_gtas_page_has_what_the_driver_writes() -> None:
    memory = memory_lines(page_of_memory("gta.md"))
    assert b"".join(memory[address] for address in range(0, 256, 16)) == commands_of_gta()


@pytest.mark.parametrize(
    ("name", "dense", "pairs", "entries"),
    [
        ("matraptor.md", [[0, 3, 0, 7], [8, 0, 2, 0], [5, 0, 0, 1], [2, 0, 0, 0]], 0, 0x1000),
        (
            "c2sr.md",
            [
                [1, 0, 0, 2, 0, 3],
                [0, 4, 0, 0, 0, 0],
                [0, 0, 0, 0, 0, 0],
                [5, 0, 6, 0, 7, 0],
                [0, 0, 8, 9, 0, 0],
            ],
            0x4000,
            0x5000,
        ),
    ],
    ids=["matraptor", "c2sr_converter"],
)
def test_the_page_has_what_the_encoders_write(
    name: str, dense: list[list[int]], pairs: int, entries: int
) -> None:
    matrix = from_csr(csr_array(np.array(dense, np.float32)), LAYOUT)
    blocks = [*image(matrix, pairs_base=pairs, entries_base=entries)]
    if name == "c2sr.md":
        blocks += csr_image(matrix, pointers_base=0, entries_base=0x1000)
    memory = memory_lines(page_of_memory(name))
    seen = 0
    for block in blocks:
        for offset in range(0, len(block.data), 8):
            address, word = block.address + offset, bytes(block.data[offset : offset + 8])
            if address in memory:
                assert memory[address] == word
                seen += 1
            else:
                assert not any(word)
    assert seen == sum(address < 0x8000 for address in memory)
