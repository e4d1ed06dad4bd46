"""Products of sparse matrices on MatRaptor with (min, +), from its page and its sidecar alone."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from bench.device import Device, JobError  # noqa: E402
from bench.show import show  # noqa: E402
from c2sr_converter.c2sr import C2sr, Rows, rows_of  # noqa: E402

A, B, C = (0x0000, 0x1000), (0x4000, 0x5000), (0x8000, 0x9000)
"""Base addresses of the (length, pointer) pairs and of the entries of each matrix."""
UNWRITTEN = 0xEE


class MatRaptor:
    """Jobs of a unit for fp32 and columns of 32 bits.

    Parameters
    ----------
    device: the unit with its memory
    """

    def __init__(self, device: Device) -> None:
        self.device, self.memory = device, device.memory
        config = device.sidecar["config"]
        assert (config["value"], config["index_bits"]) == ("fp32", 32)
        (operation,) = device.sidecar["operations"]
        compute = operation["compute"]
        assert (compute["plus"], compute["times"]) == ("min", "add")
        placements = {one["name"]: one["placement"] for one in operation["operands"]}
        self.a = C2sr(self.memory, placements["a"], *A)
        self.b = C2sr(self.memory, placements["b"], *B)
        self.c = C2sr(self.memory, placements["c"], *C)
        self.room = placements["c"]["room"]
        self.channels = placements["c"]["channels"]

    def run(self, a: Rows, b: Rows, capacity: int) -> int:
        """Write operands and registers, and run the job. Return its cycles."""
        self.memory[:] = UNWRITTEN
        self.a.put(a)
        self.b.put(b)
        for name, value in {
            "ROWS": len(a), "B_ROWS": len(b), "CAPACITY": capacity, "A_PAIRS": A[0],
            "A_ENTRIES": A[1], "B_PAIRS": B[0], "B_ENTRIES": B[1], "C_PAIRS": C[0],
            "C_ENTRIES": C[1],
        }.items():  # fmt: skip
            self.device.write(name, value)
        return self.device.run()

    def capacity(self, a: Rows, b: Rows) -> int:
        """Return enough entries for each lane: as many as its rows have products."""
        lanes = self.room["times"] * self.channels
        products = [sum(len(b[k]) for k, _ in row) for row in a]
        most = max(sum(products[lane::lanes]) for lane in range(lanes))
        step: int = self.room["multiple_of"]
        return math.ceil(max(most, 1) / step) * step


def reference(a: Rows, b: Rows) -> Rows:
    """Return c(i, j) = min over k of a(i, k) + b(k, j); elements that are absent take no part."""
    c = []
    for row in a:
        sums: dict[int, float] = {}
        for k, x in row:
            for j, y in b[k]:
                sums[j] = min(sums.get(j, math.inf), x + y)
        c.append(sorted(sums.items()))
    return c


def agree(unit: MatRaptor, what: str, a: Rows, b: Rows, capacity: int) -> bool:
    """Run a product, and print how the result compares."""
    cycles = unit.run(a, b, capacity)
    found, wanted = unit.c.get(len(a)), reference(a, b)
    wrong = sum(one != other for one, other in zip(found, wanted, strict=True))
    print(f"{what}: {sum(map(len, found))} entries, {wrong} rows wrong; {cycles} cycles")
    # Memory after C's arrays must be unchanged.
    behind = C[1] + 8 * capacity * unit.room["times"] * unit.channels
    assert (unit.memory[behind:] == UNWRITTEN).all(), "more was written than there is room"
    return wrong == 0


def worked_example(unit: MatRaptor) -> bool:
    """Run the job of the page, and show each byte of it."""
    edges = rows_of(np.array([[0, 3, 0, 7], [8, 0, 2, 0], [5, 0, 0, 1], [2, 0, 0, 0]]))
    good = agree(unit, "paths of two edges", edges, edges, 8)
    show(unit.memory, A[0], 16, 8, "a: pairs of channel 0")
    show(unit.memory, A[0] + 0x40, 16, 8, "a: pairs of channel 1")
    show(unit.memory, A[1], 32, 8, "a: entries of channel 0")
    show(unit.memory, A[1] + 0x40, 24, 8, "a: entries of channel 1")
    show(unit.memory, C[0], 16, 8, "c, as the unit wrote it: pairs of channel 0")
    show(unit.memory, C[0] + 0x40, 16, 8, "c: pairs of channel 1")
    show(unit.memory, C[1], 16, 8, "c: entries of channel 0, lane 0")
    show(unit.memory, C[1] + 0x80, 24, 8, "c: entries of channel 0, lane 2")
    show(unit.memory, C[1] + 0x40, 24, 8, "c: entries of channel 1, lane 1")
    show(unit.memory, C[1] + 0xC0, 16, 8, "c: entries of channel 1, lane 3")
    for row, entries in enumerate(unit.c.get(4)):
        print(row, " ".join(f"{column}: {value:g}" for column, value in entries))
    return good


def random_products(unit: MatRaptor, draw: np.random.Generator) -> bool:
    """Multiply matrices that are not square, with empty rows."""
    good = []
    for m, k, n in ((1, 1, 1), (9, 40, 30), (50, 25, 64)):
        a, b = (
            rows_of(draw.integers(1, 100, shape) * (draw.random(shape) < 0.2))
            for shape in ((m, k), (k, n))
        )
        good.append(agree(unit, f"{m} x {k} x {n}", a, b, unit.capacity(a, b)))
    return all(good)


def out_of_range(unit: MatRaptor) -> bool:
    """Multiply a matrix whose row 1 names row 4 of four."""
    b: Rows = [[(0, 1.0)]] * 4
    try:
        unit.run([[(3, 1.0)], [(4, 1.0)]], b, 8)
    except JobError as error:
        print(f"a column of A too many: {error}")
        return (error.name, error.detail) == ("index", 1)
    return False


def main(**memory: Any) -> int:
    """Run all jobs. Return 0 if every result is as wanted."""
    draw = np.random.default_rng(1)
    with Device(
        HERE / "unit.sv", HERE / "unit.json", memory_bytes=1 << 17, build_dir=HERE / "build",
        **{"stall": 20, "reorder": True, "aw_after_w": True, **memory},
    ) as device:  # fmt: skip
        unit = MatRaptor(device)
        good = [worked_example(unit), random_products(unit, draw), out_of_range(unit)]
    print("PASS" if all(good) else "FAIL")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
