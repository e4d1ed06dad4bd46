"""Conversions of sparse matrices by ``c2sr_converter``, from its page and its sidecar alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from bench.device import Device, JobError  # noqa: E402
from bench.show import show  # noqa: E402
from c2sr_converter.c2sr import C2sr, Csr, Rows, rows_of  # noqa: E402

POINTERS, ENTRIES, PAIRS, C2SR_ENTRIES = 0x0000, 0x1000, 0x4000, 0x5000
TO_C2SR, TO_CSR = 0, 1
UNWRITTEN = 0xEE


class Converter:
    """Jobs of a unit for fp32 and columns of 32 bits.

    Parameters
    ----------
    device: the unit with its memory
    """

    def __init__(self, device: Device) -> None:
        self.device, self.memory = device, device.memory
        config = device.sidecar["config"]
        assert (config["value"], config["index_bits"]) == ("fp32", 32)
        self.channels: int = config["channels"]
        operations = {one["name"]: one for one in device.sidecar["operations"]}
        placements = {
            one["name"]: one["placement"] for one in operations["csr_to_c2sr"]["operands"]
        }
        self.csr = Csr(self.memory, POINTERS, ENTRIES)
        self.c2sr = C2sr(self.memory, placements["target"], PAIRS, C2SR_ENTRIES)

    def run(self, mode: int, rows: int, capacity: int) -> int:
        """Write the registers, and run the job. Return its cycles."""
        for name, value in {
            "MODE": mode, "ROWS": rows, "CAPACITY": capacity, "CSR_POINTERS": POINTERS,
            "CSR_ENTRIES": ENTRIES, "C2SR_PAIRS": PAIRS, "C2SR_ENTRIES": C2SR_ENTRIES,
        }.items():  # fmt: skip
            self.device.write(name, value)
        return self.device.run()

    def capacity(self, rows: Rows) -> int:
        """Return the most entries that a channel has."""
        return max(
            sum(map(len, rows[channel :: self.channels])) for channel in range(self.channels)
        )


def agree(what: str, found: Rows, wanted: Rows, cycles: int) -> bool:
    """Print how a result compares."""
    wrong = sum(one != other for one, other in zip(found, wanted, strict=True))
    print(f"{what}: {len(found)} rows, {wrong} wrong; {cycles} cycles")
    return wrong == 0


def there_and_back(unit: Converter, rows: Rows, what: str) -> bool:
    """Convert a matrix to C2SR, and then that to CSR; look at every byte of memory."""
    unit.memory[:] = UNWRITTEN
    unit.csr.put(rows)
    before = np.array(unit.memory)
    cycles = unit.run(TO_C2SR, len(rows), unit.capacity(rows))
    good = agree(f"{what}, to C2SR", unit.c2sr.get(len(rows)), rows, cycles)
    after = np.array(unit.memory)
    written = int((after != before).sum())
    assert written <= 8 * len(rows) + 8 * sum(map(len, rows)), "more was written than there is"
    unit.memory[POINTERS:PAIRS] = UNWRITTEN
    cycles = unit.run(TO_CSR, len(rows), sum(map(len, rows)))
    good &= agree(f"{what}, to CSR", unit.csr.get(len(rows)), rows, cycles)
    return good and bool((unit.memory == after).all())


def worked_example(unit: Converter) -> bool:
    """Run the job of the page, and show each byte of it."""
    dense = np.array(
        [
            [1, 0, 0, 2, 0, 3],
            [0, 4, 0, 0, 0, 0],
            [0, 0, 0, 0, 0, 0],
            [5, 0, 6, 0, 7, 0],
            [0, 0, 8, 9, 0, 0],
        ]
    )
    good = there_and_back(unit, rows_of(dense), "the page's matrix")
    show(unit.memory, POINTERS, 24, 8, "row pointers: two a line")
    show(unit.memory, ENTRIES, 72, 8, "entries: one a line")
    show(unit.memory, PAIRS, 24, 8, "pairs of channel 0")
    show(unit.memory, PAIRS + 0x40, 16, 8, "pairs of channel 1")
    show(unit.memory, C2SR_ENTRIES, 40, 8, "entries of channel 0")
    show(unit.memory, C2SR_ENTRIES + 0x40, 32, 8, "entries of channel 1")
    return good


def random_matrices(unit: Converter, draw: np.random.Generator) -> bool:
    """Convert matrices of many blocks, with empty rows."""
    good = []
    for rows, columns in ((1, 1), (17, 300), (150, 20)):
        dense: npt.NDArray[Any] = draw.integers(1, 100, (rows, columns))
        dense = dense * (draw.random((rows, columns)) < 0.15) * (draw.random((rows, 1)) < 0.8)
        dense[0, 0] = 1
        good.append(there_and_back(unit, rows_of(dense), f"{rows} x {columns}"))
    return all(good)


def too_small(unit: Converter) -> bool:
    """Convert a matrix whose row 2 has no place left in channel 0."""
    unit.csr.put([[(0, 1.0)]] * 4)
    try:
        unit.run(TO_C2SR, rows=4, capacity=1)
    except JobError as error:
        print(f"a capacity of 1: {error}")
        return (error.name, error.detail) == ("region", 2)
    return False


def main(**memory: Any) -> int:
    """Run all jobs. Return 0 if every result is as wanted."""
    draw = np.random.default_rng(1)
    with Device(
        HERE / "unit.sv", HERE / "unit.json", memory_bytes=1 << 15, build_dir=HERE / "build",
        **{"stall": 20, "reorder": True, "aw_after_w": True, **memory},
    ) as device:  # fmt: skip
        unit = Converter(device)
        good = [worked_example(unit), random_matrices(unit, draw), too_small(unit)]
    print("PASS" if all(good) else "FAIL")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
