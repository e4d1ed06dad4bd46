"""``docs/gta-job.md``: products whose commands have what the page's table says, on the model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csr_array
from tilewright.hw.spec.c2sr import C2srLayout
from tilewright.hw.spec.gta import FORMATS_OF_GTA, GtaConfig, element_bytes, is_float, limbs
from tilewright.hw.spec.jobs.gta import job_spec
from tilewright.hw.spec.jobs.gta_commands import (
    OPERATIONS,
    command_bytes,
    deal_of_limbs,
    deal_of_results,
    lane_words,
    widths_of_results,
)
from tilewright.sim.device.driver import JobRegisters
from tilewright.sim.gta.model import GtaModel
from tilewright.sim.sparse.c2sr import from_csr
from tilewright.sim.sparse.csr_image import csr_image
from tilewright.sim.sparse.image import image
from tilewright.verif.examples.readme import Stranger, memory_lines, page_of_memory
from tilewright.verif.kit.pages import page
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but

Numbers = npt.NDArray[Any]

TABLE = page("gta-job.md").read_text().partition("### Commands of a product\n")[2]
COLUMNS = {"ws": 1, "os": 2, "float": 3}
LIST, A, B, C, D = 0x0, 0x10000, 0x40000, 0x80000, 0xC0000
BEAT = 16
CONFIG = GtaConfig()


class Up(int):
    """A number in a formula of the page, whose quotients are rounded up."""

    def __mul__(self, other: int) -> Up:
        return Up(int(self) * int(other))

    __rmul__ = __mul__

    def __truediv__(self, other: int) -> Up:  # type: ignore[override]
        return Up(-(-int(self) // int(other)))


class Region(NamedTuple):
    """Lanes that work as one: how many stand beside each other in all, and a rectangle of them."""

    across: int
    first: int
    down: int
    wide: int

    def lanes(self) -> list[int]:
        return [
            self.first + r * self.across + c for r in range(self.down) for c in range(self.wide)
        ]


REGIONS = (
    Region(4, 0, 1, 4), Region(2, 0, 2, 2), Region(1, 0, 4, 1), Region(2, 1, 2, 1),
    Region(2, 2, 1, 2), Region(4, 1, 1, 2), Region(4, 3, 1, 1),
)  # fmt: skip


def formula(row: str, column: str, values: dict[str, int]) -> int:
    """Evaluates a formula of the table."""
    (line,) = (line for line in TABLE.splitlines() if line.startswith(f"| {row}"))
    cell = line.split("|")[1 + COLUMNS[column]].strip().replace("`", "")
    text, _, even = cell.partition(", made ")
    number = eval(
        re.sub(r"(?<=[\w)]) (?=[\w(])", "*", text),
        {"__builtins__": {}},
        {name: Up(value) for name, value in values.items()},
    )
    return int(number) + (number % 2 if even else 0)


def pack(number: float, name: str, width: int) -> bytes:
    """An element in memory; integers modulo their bits."""
    if name == "bf16":
        return np.float32(number).tobytes()[2:]
    if is_float(name):
        return np.array(number, f"<f{width}").tobytes()
    return (int(number) % (1 << 8 * width)).to_bytes(width, "little")


class Product:
    """A product, and the commands that the page's table asks for.

    Parameters
    ----------
    column: of the table
    width: bytes of a result, W
    """

    def __init__(
        self, model: GtaModel, name: str, column: str, region: Region, width: int, sizes: list[int]
    ) -> None:
        self.model, self.name, self.column, self.region = model, name, column, region
        self.m, self.k, self.n = sizes
        self.values = {
            "M": self.m, "K": self.k, "N": self.n, "S": element_bytes(name), "W": width,
            "L": 1 if is_float(name) else limbs(name), "R": 8 * region.down, "C": 8 * region.wide,
        }  # fmt: skip
        self.values["row_folds"] = self.of("`row_folds`")
        self.width, self.stride = width, -(-self.m * width // BEAT) * BEAT
        self.commands: list[bytes] = []

    def of(self, row: str) -> int:
        return formula(row, self.column, self.values)

    def load(self, memory: int, base: int, rows: Numbers, letter: str, **lanes: int) -> None:
        """A LOAD of A or B, whose rows are put into memory."""
        size = element_bytes(self.name)
        content = [b"".join(pack(x, self.name, size) for x in row) for row in rows.tolist()]
        stride = -(-len(content[0]) // BEAT) * BEAT
        for number, row in enumerate(content):
            self.model.write_memory(base + number * stride, row)
        limbs_deal = 0 if is_float(self.name) else deal_of_limbs(self.name)
        cell = self.cell(f"{letter}: `deal`")
        fields = {
            "memory": memory, "deal": limbs_deal if cell == "of limbs" else int(cell),
            "rows": len(content), "row_bytes": len(content[0]), "base": base, "stride": stride,
            "words": self.of(f"{letter}: `words`"), **lanes,
        }  # fmt: skip
        self.commands.append(command_bytes("load", fields))

    def cell(self, row: str) -> str:
        (line,) = (line for line in TABLE.splitlines() if line.startswith(f"| {row}"))
        return line.split("|")[1 + COLUMNS[self.column]].strip()

    def moves(self, kind: str, base: int, wait: dict[str, int]) -> int:
        """LOADs of C, or STOREs of D; how many. Columns are `stride` apart."""
        region, width = self.region, self.width
        common = {
            **wait, "deal": deal_of_results(self.name, width), "rows": self.n,
            "words": self.of("C, D: `words`"), "step": 1, "lanes": region.wide,
            **({"memory": 2} if kind == "load" else {}),
        }  # fmt: skip
        if not is_float(self.name):
            first = region.first + region.across * (region.down - 1)
            fields = {"row_bytes": self.m * width, "base": base, "stride": self.stride}
            self.commands.append(command_bytes(kind, {**common, **fields, "first": first}))
            return 1
        # A row of lanes at a time, in memory of its own: eight results of each fold.
        size = self.values["row_folds"] * 8 * width
        for row in range(region.down):
            fields = {"row_bytes": size, "base": base + row * 0x8000, "stride": size}
            first = region.first + row * region.across
            self.commands.append(command_bytes(kind, {**common, **fields, "first": first}))
        return region.down

    def places(self, base: int) -> npt.NDArray[np.int64]:
        """Addresses of the elements of C or D, M x N."""
        m, n = np.arange(self.m)[:, None], np.arange(self.n)
        if not is_float(self.name):
            return base + n * self.stride + m * self.width
        fold, rest = np.divmod(m, self.values["R"])
        row, i = np.divmod(rest, 8)
        size = self.values["row_folds"] * 8 * self.width
        return base + row * 0x8000 + n * size + (8 * fold + i) * self.width

    def run(self, a: Numbers, b: Numbers, c: Numbers | None) -> None:
        """The job; D must be A B + C."""
        region, result = self.region, self.name
        if is_float(self.name):
            result = "fp64" if self.name == "fp64" else "fp32"
        edge = {"first": region.first, "step": region.across, "lanes": region.down}
        upper = {"first": region.first, "step": 1, "lanes": region.wide}
        self.load(0, A, a.T if self.column == "ws" else a, "A", **edge)
        self.load(1, B, b.T, "B", **upper)
        loads = 2
        if c is not None:
            for address, number in zip(self.places(C).flat, c.flat, strict=True):
                self.model.write_memory(int(address), pack(number, result, self.width))
            loads += self.moves("load", C, {})
        rows = {"ws": self.k, "os": self.m * self.values["L"], "float": self.m}[self.column]
        fields = {
            "loads": loads, "operation": OPERATIONS.index("ws" if self.column == "ws" else "os"),
            "format": FORMATS_OF_GTA.index(self.name), "group": 5, "use_c": int(c is not None),
            "result_size": {4: 0, 8: 1, 16: 2}[self.width], "time": self.of("`time`"),
            "row_folds": self.values["row_folds"], "col_folds": self.of("`col_folds`"),
            "rows_last": rows - self.values["R"] * (self.values["row_folds"] - 1),
            "left_stride": self.of("A: `words`"), "top_stride": self.of("B: `words`"),
            "result_stride": self.of("C, D: `words`"),
        }  # fmt: skip
        self.commands.append(command_bytes("execute", fields))
        self.moves("store", D, {"executes": 1})
        self.model.write_memory(LIST, b"".join(self.commands))
        # Lanes that are not used are regions, too: one each is a rectangle.
        masks = sum((5 if n in region.lanes() else 8 + n) << 8 * n for n in range(4))
        job = {"LIST": LIST, "COMMANDS": len(self.commands), "MASKS_0": masks}
        job["LAYOUT"] = region.across.bit_length() - 1
        JobRegisters(self.model, job_spec(self.model.config)).submit(job).check()
        wanted = a @ b if c is None else a @ b + c
        for address, number in zip(self.places(D).flat, wanted.flat, strict=True):
            found = self.model.read_memory(int(address), self.width)
            assert found == pack(number, result, self.width)


def numbers(rng: np.random.Generator, name: str, *shape: int) -> Numbers:
    """Integers of any size, or small numbers whose sums are exact."""
    if is_float(name):
        return rng.integers(-8, 9, shape) / 4
    bits = 8 * element_bytes(name)
    drawn = rng.integers(-1 << (bits - 1), (1 << (bits - 1)) - 1, shape, endpoint=True)
    return drawn.astype(object)


def test_products_by_the_table() -> None:
    rng = rng_of(1)
    model = GtaModel(CONFIG, 1 << 20)
    done = 0
    for turn in range(by_size(24, 48, 1000)):
        name = FORMATS_OF_GTA[turn % 8]
        column = "float" if is_float(name) else ("ws", "os")[turn // 8 % 2]
        region = REGIONS[int(rng.integers(len(REGIONS)))]
        width = int(rng.choice(widths_of_results(name)))
        sizes = [int(size) for size in rng.integers(1, 15, 3)]
        shapes = (sizes[0], sizes[1]), (sizes[1], sizes[2]), (sizes[0], sizes[2])
        a, b, c = (numbers(rng, name, *shape) for shape in shapes)
        product = Product(model, name, column, region, width, sizes)
        if product.of("C, D: `words`") * product.of("`col_folds`") > lane_words(CONFIG, "result"):
            continue
        product.run(a, b, c if rng.random() < 0.5 else None)
        done += 1
    assert done >= by_size(20, 40, 800)


# ``examples/from_the_page``: dense and sparse products and conversions run without Tilewright;
# their bytes are the pages'.

LAYOUT = C2srLayout(channels=2, interleave=64, value="fp32", index_bits=32)


class Case(NamedTuple):
    """An example, its page, and a mistake: in which file, the text, and what is wrong instead."""

    name: str
    page: str
    file: str
    right: str
    wrong: str


CASES = (
    Case("gta", "gta-job.md", "run.py", "use_c=int(c is not None)", "use_c=0"),
    Case("engine", "engine-job.md", "run.py", "TRANSPOSED_B * transposed_b", "TRANSPOSED_B"),
    Case("matraptor", "matraptor-job.md", "run.py", "min(sums.get(j, math.inf), x + y)", "x + y"),
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
    memory = memory_lines(page_of_memory("gta-job.md"))
    assert b"".join(memory[address] for address in range(0, 256, 16)) == commands_of_gta()


@pytest.mark.parametrize(
    ("name", "dense", "pairs", "entries"),
    [
        ("matraptor-job.md", [[0, 3, 0, 7], [8, 0, 2, 0], [5, 0, 0, 1], [2, 0, 0, 0]], 0, 0x1000),
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
