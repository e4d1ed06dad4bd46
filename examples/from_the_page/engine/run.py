"""Products of dense matrices on a tile engine, from its page and its sidecar alone."""

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

Array = npt.NDArray[Any]

TYPES = {"fp16": "<f2", "fp32": "<f4", "fp32c": "<c8"}
"""NumPy's names; its complex numbers have the real part first, too."""
BASES = {"a": 0x0000, "b": 0x2000, "c": 0x4000, "d": 0x6000}
TRANSPOSED_B, USE_C = 1, 2
UNWRITTEN = 0xEE


class Matrix:
    """A matrix in memory by rows.

    Parameters
    ----------
    base, stride: address of row 0, and bytes from a row to the next
    """

    def __init__(
        self, memory: Array, base: int, stride: int, shape: tuple[int, ...], dtype: str
    ) -> None:
        self.memory, self.base, self.stride, self.dtype = memory, base, stride, np.dtype(dtype)
        self.rows, self.bytes = shape[0], shape[1] * self.dtype.itemsize

    def put(self, numbers: Array) -> None:
        content = np.ascontiguousarray(numbers, self.dtype).view(np.uint8)
        for r in range(self.rows):
            self.memory[self.base + r * self.stride :][: self.bytes] = content[r]

    def get(self) -> Array:
        """Return the elements."""
        lines = [self.memory[self.base + r * self.stride :][: self.bytes] for r in range(self.rows)]
        return np.array(lines).view(self.dtype)


class Engine:
    """Jobs of an engine.

    Parameters
    ----------
    device: the unit with its memory
    """

    def __init__(self, device: Device) -> None:
        self.device, self.memory = device, device.memory
        self.operations = {one["name"]: one for one in device.sidecar["operations"]}

    def product(
        self, operation: str, a: Array, b: Array, c: Array | None = None, *, gap: int = 0,
        transposed_b: bool = False, in_place: bool = False,
    ) -> tuple[Array, int]:  # fmt: skip
        """Return D, and the cycles of the job.

        `gap` is a number of beats between rows. With `in_place` D is where C is.
        """
        described = self.operations[operation]
        arrays = {"a": a, "b": b.T if transposed_b else b}
        if c is not None:
            arrays["c"] = c
        self.memory[:] = UNWRITTEN
        registers = dict.fromkeys(self.device.sidecar["jobs"]["registers"], 0)
        for setting in described["select"]:
            registers[setting["register"]] = setting["value"]
        registers |= {"M": len(a), "N": b.shape[1], "K": len(b)}
        registers["FLAGS"] = TRANSPOSED_B * transposed_b | USE_C * (c is not None)
        for operand in described["operands"]:
            name, place = operand["name"], operand["placement"]
            shape = arrays[name].shape if name in arrays else (len(a), b.shape[1])
            dtype = TYPES[operand["format"]]
            beats = -(-shape[1] * np.dtype(dtype).itemsize // place["align"])
            stride = (beats + gap) * place["align"]
            base = BASES["c" if name == "d" and in_place else name]
            matrix = Matrix(self.memory, base, stride, shape, dtype)
            if name in arrays:
                matrix.put(arrays[name])
            registers |= {place["base"]: base, place["stride"]: stride}
        before = np.array(self.memory)
        for register, value in registers.items():
            self.device.write(register, value)
        cycles = self.device.run()
        d = matrix.get()  # the last operand
        after = np.array(self.memory)
        Matrix(before, matrix.base, stride, shape, dtype).put(d)
        assert (before == after).all(), "something beside D was written"
        return d, cycles


def reference(operation: str, a: Array, b: Array, c: Array | None) -> Array:
    """Return D. Sums of the numbers here are exact in any order."""
    if operation == "minplus":
        d = (a[:, :, None] + b).min(axis=1)
        return d if c is None else np.minimum(c, d)
    return a @ b if c is None else a @ b + c


def agree(what: str, found: Array, wanted: Array, cycles: int) -> bool:
    """Print how a result compares."""
    wrong = int((found != wanted).sum())
    print(f"{what}: {found.size} elements, {wrong} wrong; {cycles} cycles")
    return wrong == 0


def worked_example(unit: Engine) -> bool:
    """Run the job of the page, and show each byte of it."""
    a = np.array([[1, 2, 3, 4, 5], [-1, 0.5, 0, 2, 1]])
    b = np.array([[1, 0, 2], [0, 1, 2], [1, 1, 2], [0, 0, 2], [2, 0, 2]])
    c = np.array([[100, 200, 300], [400, 500, 600]])
    operation = "mma" if "mma" in unit.operations else "fp16"
    d, cycles = unit.product(operation, a, b, c)
    show(unit.memory, BASES["a"], 32, 16, "a: a row a line, 10 bytes of 16")
    show(unit.memory, BASES["b"], 40, 8, "b: a row a line, 6 bytes of 8")
    show(unit.memory, BASES["c"], 32, 16, "c: a row a line, 12 bytes of 16")
    show(unit.memory, BASES["d"], 32, 16, "d, as the unit wrote it: a row a line")
    print(d.tolist())
    return agree(operation, d, reference(operation, a, b, c), cycles)


def quarters(draw: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Return multiples of 1/4: fp16 has them, and fp32 their sums of products."""
    return draw.integers(-50, 50, shape) / 4


def complex_numbers(draw: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Return numbers whose parts are multiples of 1/4."""
    return quarters(draw, shape) + 1j * quarters(draw, shape)


def random_products(unit: Engine, draw: np.random.Generator) -> bool:
    """Run products of every operation, in all forms."""
    good = []
    for operation, described in unit.operations.items():
        numbers = complex_numbers if described["operands"][0]["format"] == "fp32c" else quarters
        for form in range(6):
            m, n, k = (int(size) for size in draw.integers(1, 20, 3))
            a, b, c = (numbers(draw, shape) for shape in ((m, k), (k, n), (m, n)))
            addend = c if form % 2 else None
            d, cycles = unit.product(
                operation, a, b, addend, gap=form % 3, transposed_b=form >= 3, in_place=form == 5
            )
            wanted = reference(operation, a, b, addend)
            good.append(agree(f"{operation}, {m} x {n} x {k}, form {form}", d, wanted, cycles))
    return all(good)


def misaligned(unit: Engine) -> bool:
    """Run a job whose A begins within a beat."""
    unit.device.write("A_BASE", 4)
    try:
        unit.device.run()
    except JobError as error:
        print(f"a base of 4: {error}")
        registers = {one["name"]: one["offset"] for one in unit.device.sidecar["registers"]}
        return (error.name, error.detail) == ("misaligned_base", registers["A_BASE"])
    return False


def main(**memory: Any) -> int:
    """Run all jobs on each unit that was generated. Return 0 if every result is as wanted."""
    good = []
    for verilog in sorted([*HERE.glob("*.sv"), *HERE.glob("*.v")]):
        print(f"{verilog.name}:")
        with Device(
            verilog, verilog.with_suffix(".json"), memory_bytes=1 << 15,
            build_dir=HERE / "build" / verilog.stem,
            **{"stall": 20, "reorder": True, "aw_after_w": True, **memory},
        ) as device:  # fmt: skip
            unit = Engine(device)
            draw = np.random.default_rng(1)
            good += [worked_example(unit), random_products(unit, draw), misaligned(unit)]
    print("PASS" if good and all(good) else "FAIL")
    return 0 if good and all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
