"""Passes over sparse matrices on SIDA, from its page and its sidecar alone."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from bench.device import Device, JobError  # noqa: E402
from bench.show import show  # noqa: E402

Floats = npt.NDArray[np.float32]
Program = list[tuple[str, ...]]
"""Instructions: a name, then operands r0 to r15 (y is r0), s0 to s31, v0 to v15."""

OPCODES = (
    "end", "move", "load", "store", "out", "add", "sub", "mul", "fma", "div", "sqrt", "min", "max",
    "abs", "neg", "relu", "equal", "less", "atmost", "and", "or", "not", "select", "dot", "rsum",
    "rmin", "rmax", "ror",
)  # fmt: skip
"""The operations by opcode, from 0."""

MMA, ORAND = 0, 7

COLUMN_POINTERS, ROW_NUMBERS, COLUMN_VALUES = 0x0000, 0x0400, 0x0800
ROW_POINTERS, COLUMN_NUMBERS, ROW_VALUES = 0x0C00, 0x1000, 0x1400
X, SCALARS, PROGRAM, VECTORS = 0x1800, 0x1C00, 0x2000, (0x2400, 0x2800)


def word(instruction: tuple[str, ...]) -> int:
    """Return an instruction's word."""
    name, *operands = instruction
    numbers = [int(operand[1:]) + 32 * (operand[0] == "s") for operand in operands]
    lows = [6, 12, 18, 24]  # of d, a, b, c
    if name in ("rsum", "rmin", "rmax", "ror"):
        numbers[0] -= 32  # a reduction is a scalar's number alone, at d
    elif name == "load":
        lows = [6, 24]  # d, v
    elif name == "store":
        lows = [24, 12]  # v, a
    elif name == "out":
        lows = [12]  # a
    found = OPCODES.index(name)
    for number, low in zip(numbers, lows, strict=False):
        found |= number << low
    return found


def matrix_arrays(matrix: Floats) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], Floats]:
    """Return ends, numbers and values of a matrix by rows; elements of a row ascend."""
    rows, columns = np.nonzero(matrix)  # in this order
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(matrix)))])
    return ends.astype("<u4"), columns.astype("<u4"), matrix[rows, columns]


class Sida:
    """Jobs of a unit for fp32.

    Parameters
    ----------
    device: the unit with its memory
    """

    def __init__(self, device: Device) -> None:
        self.device, self.memory = device, device.memory
        assert device.sidecar["config"]["value"] == "fp32"

    def put(self, address: int, words: npt.NDArray[np.generic]) -> None:
        """Write words of 32 bits into memory."""
        content = np.frombuffer(words.tobytes(), np.uint8)
        self.memory[address : address + len(content)] = content

    def get(self, address: int, count: int) -> Floats:
        """Return elements of memory."""
        return self.memory[address : address + 4 * count].view("<f4").copy()

    def run(
        self, matrix: Floats, x: Floats, e1: Program, e2: Program, scalars: list[float],
        vectors: tuple[Floats, Floats], **registers: int,
    ) -> int:  # fmt: skip
        """Put a job into memory, and run it. Return its cycles."""
        self.memory[:] = 0
        places = (COLUMN_POINTERS, ROW_NUMBERS, COLUMN_VALUES)
        for address, array in zip(places, matrix_arrays(matrix.T), strict=True):
            self.put(address, array)
        places = (ROW_POINTERS, COLUMN_NUMBERS, ROW_VALUES)
        for address, array in zip(places, matrix_arrays(matrix), strict=True):
            self.put(address, array)
        self.put(X, x.astype("<f4"))
        self.put(SCALARS, np.array(scalars + [0] * (32 - len(scalars)), "<f4"))
        words = [word(one) for one in (*e1, ("end",), *e2, ("end",))]
        self.put(PROGRAM, np.array(words, "<u4"))
        for address, vector in zip(VECTORS, vectors, strict=True):
            self.put(address, vector.astype("<f4"))
        job = {
            "ROWS": len(matrix), "PASSES": 1, "FIRST": MMA, "SECOND": MMA, "SECOND_PRODUCT": 1,
            "WORDS": len(words), "ENTRY": len(e1) + 1, "COLUMN_POINTERS": COLUMN_POINTERS,
            "ROW_NUMBERS": ROW_NUMBERS, "COLUMN_VALUES": COLUMN_VALUES,
            "ROW_POINTERS": ROW_POINTERS, "COLUMN_NUMBERS": COLUMN_NUMBERS,
            "ROW_VALUES": ROW_VALUES, "X": X, "SCALARS": SCALARS, "PROGRAM_BASE": PROGRAM,
            "VECTOR_0": VECTORS[0], "VECTOR_1": VECTORS[1],
        }  # fmt: skip
        for name in self.device.sidecar["jobs"]["registers"]:
            self.device.write(name, (job | registers).get(name, 0))
        return self.device.run()


def agree(what: str, found: Floats, wanted: Floats, cycles: int) -> bool:
    """Print how a result compares. The numbers are small integers: sums are exact."""
    wrong = int((found != wanted).sum())
    print(f"{what}: {found.size} elements, {wrong} wrong; {cycles} cycles")
    return wrong == 0


AFFINE: tuple[Program, Program] = (
    [
        ("fma", "r1", "r0", "s0", "s1"),  # z = y * s0 + s1
        ("store", "v0", "r1"),
        ("out", "r1"),
    ],
    [
        ("rsum", "s2", "r0"),  # the sum of w
        ("store", "v1", "r0"),
        ("out", "r0"),
    ],
)
"""E1 and E2 of the page's job."""


def worked_example(unit: Sida) -> bool:
    """Run the job of the page, and show each byte of it."""
    matrix = np.zeros((5, 5), np.float32)
    for row, column, value in ((1, 0, 2), (3, 0, 1), (0, 1, 3), (2, 2, 1), (4, 3, 5), (1, 4, 4)):
        matrix[row, column] = value
    x = np.array([1, 2, 3, 4, 5], np.float32)
    nothing = np.zeros(5, np.float32)
    cycles = unit.run(matrix, x, *AFFINE, [2.0, 1.0], (nothing, nothing))
    memory = unit.memory
    show(memory, COLUMN_POINTERS, 24, 24, "columns' ends, from 0")
    show(memory, ROW_NUMBERS, 24, 24, "rows, by columns")
    show(memory, COLUMN_VALUES, 24, 24, "values, by columns")
    show(memory, ROW_POINTERS, 24, 24, "rows' ends, from 0")
    show(memory, COLUMN_NUMBERS, 24, 24, "columns, by rows")
    show(memory, ROW_VALUES, 24, 24, "values, by rows")
    show(memory, X, 20, 20, "x")
    show(memory, SCALARS, 12, 4, "scalars s0, s1, s2; s2 as the unit wrote it")
    show(memory, PROGRAM, 32, 4, "the program")
    show(memory, VECTORS[0], 20, 20, "vector 0, as the unit wrote it: z")
    show(memory, VECTORS[1], 20, 20, "vector 1, as the unit wrote it: w")
    z = (x @ matrix) * 2 + 1
    w = z @ matrix
    found = np.concatenate([unit.get(VECTORS[0], 5), unit.get(VECTORS[1], 5)])
    total = unit.get(SCALARS, 3)
    print(f"z, w: {found.astype(int).tolist()}, sum of w: {int(total[2])}")
    wanted = np.concatenate([z, w, np.array([2, 1, w.sum()], np.float32)])
    return agree("two products", np.concatenate([found, total]), wanted, cycles)


def transposed(unit: Sida, draw: np.random.Generator) -> bool:
    """Run three passes whose second product is with the transpose."""
    matrix = ((draw.random((24, 24)) < 0.15) * draw.integers(-2, 3, (24, 24))).astype(np.float32)
    x = draw.integers(-2, 3, 24).astype(np.float32)
    nothing = np.zeros(24, np.float32)
    cycles = unit.run(
        matrix, x, [("out", "r0")], AFFINE[1], [], (nothing, nothing), PASSES=3, TRANSPOSED=1
    )
    for _ in range(3):
        x = matrix @ (x @ matrix)  # w[i] = sum over j of z[j] L[i, j]
    return agree("transposed", unit.get(VECTORS[1], 24), x, cycles)


def reached(unit: Sida, draw: np.random.Generator) -> bool:
    """Search a graph from vertex 0: passes end when a product finds nothing new."""
    edges = (draw.random((40, 40)) < 0.06).astype(np.float32)

    def step(reduction: str) -> Program:
        return [
            ("load", "r1", "v0"),  # 1 where vertices were reached before
            ("not", "r2", "r1"),
            ("and", "r3", "r0", "r2"),  # new ones
            ("or", "r4", "r1", "r3"),
            ("store", "v0", "r4"),
            ("ror", reduction, "r3"),
            ("out", "r3"),
        ]

    start = np.eye(1, 40, dtype=np.float32)[0]
    cycles = unit.run(
        edges, start, step("s0"), step("s1"), [0, 0, 0.5], (start, start * 0), PASSES=40,
        FIRST=ORAND, SECOND=ORAND, STOPS=1, STOP_1=0, STOP_2=1, LIMIT=2,
    )  # fmt: skip
    found, frontier, steps = start > 0, start > 0, 0
    while frontier.any():
        frontier = (frontier @ (edges > 0)) & ~found
        found, steps = found | frontier, steps + 1
    passes, ended = unit.device.read("PASSES_DONE"), unit.device.read("ENDED")
    print(f"search: {int(found.sum())} of 40 reached; {passes} passes, ended by product {ended}")
    good = steps == 2 * passes - (ended == 1)
    return agree("search", unit.get(VECTORS[0], 40), found.astype(np.float32), cycles) and good


def no_instruction(unit: Sida) -> bool:
    """Run a program whose word 1 is `dot`, which the unit does not have."""
    one = np.ones((1, 1), np.float32)
    try:
        unit.run(one, one[0], [("abs", "r1", "r0"), ("dot",), ("out", "r1")], [("out", "r0")], [],
                 (one[0], one[0]))  # fmt: skip
    except JobError as error:
        print(f"no instruction: {error}")
        return (error.name, error.detail) == ("program", 1)
    return False


def main() -> int:
    """Run all jobs. Return 0 if every result agrees with NumPy."""
    with Device(
        HERE / "unit.sv", HERE / "unit.json", memory_bytes=1 << 16, build_dir=HERE / "build",
        stall=20, reorder=True, aw_after_w=True,
    ) as device:  # fmt: skip
        unit = Sida(device)
        draw = np.random.default_rng(1)
        good = [
            worked_example(unit),
            transposed(unit, draw),
            reached(unit, draw),
            no_instruction(unit),
        ]
    print("PASS" if all(good) else "FAIL")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
