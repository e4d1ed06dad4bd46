"""Products of matrices and vectors on GTA, from its page and its sidecar alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from bench.device import Device, JobError  # noqa: E402
from bench.show import show  # noqa: E402
from gta.commands import Array, Job, put_rows, up  # noqa: E402

LIST, A, B, C, D = 0x0000, 0x1000, 0x4000, 0x8000, 0xC000
AS_IT_IS, LIMBS_OF_INT16, SUMS_OF_INT16, WHOLE_SUMS_OF_INT16 = 0, 2, 5, 6
"""Deals of the page."""
UNWRITTEN = 0xEE
WORD = 16
"""Bytes of a word in the lanes' memories."""


class Gta:
    """Jobs of a unit with two lanes.

    Parameters
    ----------
    device: the unit with its memory
    """

    def __init__(self, device: Device) -> None:
        self.device, self.memory = device, device.memory
        config = device.sidecar["config"]
        assert (config["lanes"], config["formats"]) == (2, ["int16", "fp16"])
        (operation,) = device.sidecar["operations"]
        self.commands = operation["commands"]
        self.beat = self.commands["row_align"]

    def job(self) -> Job:
        """Return an empty list of commands."""
        return Job(self.commands)

    def put(self, base: int, rows: Array) -> int:
        return put_rows(self.memory, base, rows, self.beat)

    def clear(self) -> None:
        """Fill memory with bytes that are nothing, to see what is written."""
        self.memory[:] = UNWRITTEN

    def run(self, job: Job, layout: int, masks: tuple[int, int]) -> int:
        """Write list and registers, and run the job. Return its cycles."""
        self.memory[LIST : LIST + len(job.content)] = job.content
        self.device.write(self.commands["base"], LIST)
        self.device.write(self.commands["count"], len(job.commands))
        self.device.write("LAYOUT", layout)
        self.device.write("MASKS_0", masks[0] | masks[1] << 8)
        return self.device.run()

    def rows(self, base: int, count: int, columns: int, dtype: Any) -> Array:
        """Return rows as a STORE wrote them."""
        size = columns * np.dtype(dtype).itemsize
        stride = up(size, self.beat)
        rows = [self.memory[base + row * stride :][:size] for row in range(count)]
        assert all((self.memory[base + stride * n + size :][: stride - size] == UNWRITTEN).all()
                   for n in range(count)), "bytes behind a row were written"  # fmt: skip
        return np.array(rows).view(dtype)


def agree(what: str, found: Array, wanted: Array, cycles: int) -> bool:
    """Print how a result compares."""
    wrong = int((found != wanted).sum())
    print(f"{what}: {found.size} elements, {wrong} wrong; {cycles} cycles")
    return wrong == 0


def product_int16(
    job: Job, unit: Gta, a: Array, b: Array, c: Array | None, *, result: int, offset: int = 0,
    group: int, lane: int,
) -> None:  # fmt: skip
    """Add the commands of D = A B + C in OS on one lane of 8 x 8 elements.

    A number is two limbs, each in a row or a column of elements. D and C are stored by columns.
    `result` is the number of bytes of a sum; those of 8 bytes are saturated to 4.
    """
    (m, k), n = a.shape, b.shape[1]
    stride = unit.put(A + offset, a.astype("<i2"))
    unit.put(B + offset, b.T.astype("<i2"))
    words = up(k, WORD) // WORD  # a bank has one limb of each of the k
    row_folds, col_folds = -(-2 * m // 8), -(-2 * n // 8)
    # A column's results lie in two banks. An even number of words, with those of unused rows.
    results = up(row_folds * 8 // 2 * result, 2 * WORD) // WORD
    here = {"first": lane, "step": 0, "lanes": 1}
    operand = {**here, "deal": LIMBS_OF_INT16, "row_bytes": 2 * k, "stride": stride, "words": words}
    job.add("load", memory="left", rows=m, base=A + offset, **operand)
    loads = job.add("load", memory="top", rows=n, base=B + offset, **operand)
    sums = {**here, "deal": SUMS_OF_INT16 if result == 4 else WHOLE_SUMS_OF_INT16, "rows": n,
            "row_bytes": result * m, "words": results}  # fmt: skip
    stored = up(4 * m, unit.beat)
    if c is not None:
        unit.put(C + offset, c.T.astype("<i4"))
        loads = job.add("load", memory="result", base=C + offset, stride=stored, **sums)
    executes = job.add(
        "execute", loads=loads, operation="os", format="int16", group=group,
        use_c=int(c is not None), result_size=0 if result == 4 else 1,
        rows_last=2 * m - 8 * (row_folds - 1), row_folds=row_folds, col_folds=col_folds, time=k,
        left_stride=words, top_stride=words, result_stride=results,
    )  # fmt: skip
    narrow = "none" if result == 4 else "saturate"
    job.add("store", executes=executes, base=D + offset, stride=stored, narrow=narrow, **sums)


def product_fp16(
    job: Job, unit: Gta, a: Array, b: Array, *, offset: int, group: int, lane: int
) -> None:
    """Add the commands of D = A B in OS on one lane; results are fp32, stored by columns."""
    (m, k), n = a.shape, b.shape[1]
    stride = unit.put(A + offset, a.astype("<f2"))
    unit.put(B + offset, b.T.astype("<f2"))
    words = up(2 * k, WORD) // WORD
    row_folds, col_folds = -(-m // 8), -(-n // 8)
    results = row_folds * 8 * 4 // WORD
    here = {"deal": AS_IT_IS, "first": lane, "step": 0, "lanes": 1}
    operand = {**here, "row_bytes": 2 * k, "stride": stride, "words": words}
    job.add("load", memory="left", rows=m, base=A + offset, **operand)
    loads = job.add("load", memory="top", rows=n, base=B + offset, **operand)
    executes = job.add(
        "execute", loads=loads, operation="os", format="fp16", group=group,
        rows_last=m - 8 * (row_folds - 1), row_folds=row_folds, col_folds=col_folds, time=k,
        left_stride=words, top_stride=words, result_stride=results,
    )  # fmt: skip
    job.add(
        "store", executes=executes, rows=n, row_bytes=4 * m, base=D + offset,
        stride=up(4 * m, unit.beat), words=results, **here,
    )  # fmt: skip


def worked_example(unit: Gta) -> bool:
    """Run the job of the page, and show each byte of it."""
    a, b = np.array([[1, -2, 300], [4, 5, 6]]), np.array([[7, 10], [8, 11], [-9, 12]])
    unit.clear()
    job = unit.job()
    product_int16(job, unit, a, b, None, result=4, group=1, lane=0)
    cycles = unit.run(job, layout=1, masks=(1, 2))
    show(unit.memory, LIST, 256, 16, "the list: LOAD, LOAD, EXECUTE, STORE")
    show(unit.memory, A, 16, 8, "a: a row a line, 6 bytes of 8")
    show(unit.memory, B, 16, 8, "b: a column a line")
    show(unit.memory, D, 16, 8, "d, as the unit wrote it: a column a line")
    found = unit.rows(D, 2, 2, "<i4").T
    print(found.tolist())
    return agree("int16", found, a @ b, cycles)


def two_at_a_time(unit: Gta, draw: np.random.Generator) -> bool:
    """Run a product on each lane, at the same time: int16 with C, and fp16."""
    unit.clear()
    job = unit.job()
    a, b = draw.integers(-1 << 15, 1 << 15, (11, 21)), draw.integers(-1 << 15, 1 << 15, (21, 6))
    c = draw.integers(-1 << 31, 1 << 31, (11, 6))
    product_int16(job, unit, a, b, c, result=4, group=1, lane=0)
    x, y = draw.integers(-64, 64, (13, 20)) / 8, draw.integers(-64, 64, (20, 9)) / 8
    product_fp16(job, unit, x, y, offset=0x1000, group=2, lane=1)
    cycles = unit.run(job, layout=1, masks=(1, 2))
    found = unit.rows(D, 6, 11, "<i4").T
    # Sums of integers are modulo 2**32; those of these floats are exact.
    first = agree("int16 with C", found, (a @ b + c).astype(np.int32), cycles)
    return agree("fp16", unit.rows(D + 0x1000, 9, 13, "<f4").T, x @ y, cycles) and first


def saturated(unit: Gta, draw: np.random.Generator) -> bool:
    """Run a product whose sums of 8 bytes are exact, and are saturated when they are stored."""
    unit.clear()
    job = unit.job()
    a, b = draw.integers(-1 << 15, 1 << 15, (5, 40)), draw.integers(-1 << 15, 1 << 15, (40, 5))
    a[0] = b[:, 0] = -1 << 15
    product_int16(job, unit, a, b, None, result=8, group=0, lane=1)
    cycles = unit.run(job, layout=1, masks=(1, 0))
    wanted = np.clip(a @ b, -1 << 31, (1 << 31) - 1)
    return agree("int16, saturated", unit.rows(D, 5, 5, "<i4").T, wanted, cycles)


def both_lanes(unit: Gta, draw: np.random.Generator) -> bool:
    """Run a product in WS on both lanes, which are one array of 8 x 16 elements.

    Rows from the left are columns of A, as elements; from above come the limbs of B's columns.
    """
    m, k, n = 9, 20, 10
    a, b = draw.integers(-1 << 15, 1 << 15, (m, k)), draw.integers(-1 << 15, 1 << 15, (k, n))
    unit.clear()
    left = {"row_bytes": 2 * m, "stride": unit.put(A, a.T.astype("<i2"))}
    top = {"row_bytes": 2 * k, "stride": unit.put(B, b.T.astype("<i2"))}
    left_words, top_words = up(2 * m, WORD) // WORD, up(k, WORD) // WORD
    results = up(m * 4, 2 * WORD) // WORD
    row_folds, col_folds = -(-k // 8), -(-2 * n // 16)
    across = {"first": 0, "step": 1, "lanes": 2}
    job = unit.job()
    job.add("load", memory="left", deal=AS_IT_IS, rows=k, base=A, lanes=1, words=left_words, **left)
    loads = job.add(
        "load", memory="top", deal=LIMBS_OF_INT16, rows=n, base=B, words=top_words, **top, **across
    )
    executes = job.add(
        "execute", loads=loads, operation="ws", format="int16", group=3,
        rows_last=k - 8 * (row_folds - 1), row_folds=row_folds, col_folds=col_folds, time=m,
        left_stride=left_words, top_stride=top_words, result_stride=results,
    )  # fmt: skip
    job.add(
        "store", executes=executes, deal=SUMS_OF_INT16, rows=n, row_bytes=4 * m, base=D,
        stride=up(4 * m, unit.beat), words=results, **across,
    )  # fmt: skip
    cycles = unit.run(job, layout=1, masks=(3, 3))
    return agree("int16, WS", unit.rows(D, n, m, "<i4").T, (a @ b).astype(np.int32), cycles)


def planes(vector: Array) -> Array:
    """Return a vector of elements of 2 bytes as rows for 16 banks.

    An octet of 8 elements is its 8 low bytes, then its 8 high ones.
    """
    octets = vector.view(np.uint8).reshape(16, -1, 8, 2)
    return np.ascontiguousarray(octets.transpose(0, 1, 3, 2)).reshape(16, -1)


def elements(rows: Array, dtype: str) -> Array:
    """Return the elements of rows that have them by planes."""
    octets = rows.reshape(16, -1, 2, 8).transpose(0, 1, 3, 2)
    return np.ascontiguousarray(octets).view(dtype).reshape(-1)


def vectors(unit: Gta, draw: np.random.Generator) -> bool:
    """Run functions of vectors of 384 elements: three octets in each bank of both lanes."""
    octets = 3
    count = 16 * octets * 8
    whole = draw.integers(-1 << 15, 1 << 15, (2, count)).astype("<i2")
    real = (draw.integers(-32, 32, (3, count)) / 4).astype("<f2")
    good = []
    for function, format, operands, wanted in (
        ("add", "int16", (("left", whole[0]), ("top", whole[1])), whole[0] + whole[1]),
        ("mul", "int16", (("left", whole[0]), ("top", whole[1])), whole[0] * whole[1]),
        ("max", "fp16", (("left", real[0]), ("top", real[1])), np.maximum(real[0], real[1])),
        ("add", "fp16", (("left", real[0]), ("result", real[1])), real[0] + real[1]),
        ("fma", "fp16", (("left", real[0]), ("top", real[1]), ("result", real[2])),
         real[0] * real[1] + real[2]),
    ):  # fmt: skip
        unit.clear()
        job = unit.job()
        row_bytes = octets * 16
        rows = {"deal": AS_IT_IS, "rows": 16, "row_bytes": row_bytes, "step": 1, "lanes": 2,
                "stride": up(row_bytes, unit.beat)}  # fmt: skip
        for memory, vector in operands:
            base = {"left": A, "top": B, "result": C}[memory]
            unit.put(base, planes(vector))
            loads = job.add("load", memory=memory, base=base, **rows)
        executes = job.add(
            "execute", loads=loads, operation="simd", format=format, time=octets,
            function=function, chain=1,
        )  # fmt: skip
        job.add("store", executes=executes, base=D, **rows)
        cycles = unit.run(job, layout=1, masks=(0, 0))
        found = elements(unit.rows(D, 16, row_bytes, np.uint8), wanted.dtype.str)
        good.append(agree(f"{function} of {wanted.dtype}", found, wanted, cycles))
    return all(good)


def refused(unit: Gta) -> bool:
    """Run a list whose second command is of no kind."""
    job = unit.job()
    job.add("load", rows=1, row_bytes=8, base=A, lanes=1)
    job.commands.append(bytes([9, *[0] * 63]))
    try:
        unit.run(job, layout=1, masks=(0, 0))
    except JobError as error:
        print(f"a command of no kind: {error}")
        return (error.name, error.detail) == ("command", 1)
    return False


def main(**memory: Any) -> int:
    """Run all jobs. Return 0 if every result agrees with NumPy."""
    draw = np.random.default_rng(1)
    with Device(
        HERE / "unit.sv", HERE / "unit.json", memory_bytes=1 << 16, build_dir=HERE / "build",
        **{"stall": 20, "reorder": True, "aw_after_w": True, **memory},
    ) as device:  # fmt: skip
        unit = Gta(device)
        good = [
            worked_example(unit),
            two_at_a_time(unit, draw),
            saturated(unit, draw),
            both_lanes(unit, draw),
            vectors(unit, draw),
            refused(unit),
        ]
    print("PASS" if all(good) else "FAIL")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
