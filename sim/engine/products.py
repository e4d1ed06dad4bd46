"""A product of any size as jobs of the engine, and where its matrices lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...hw.spec.engine import SIZE_BITS, EngineConfig
from ..timing.memories import FLAT, MemoryModel
from .job import Job
from .matrices import Matrix, container_bits, formats_of

__all__ = ["LONGEST", "ProductPlan", "plan_product"]

LONGEST = (1 << SIZE_BITS) - 1
"""Rows, columns and depth of the largest job."""

_STEP = 128
"""Elements that parts of columns and depth are multiples of: whole beats, whole tiles, of any
engine."""


@dataclass(frozen=True, kw_only=True)
class ProductPlan:
    """The jobs of ``D = C (+) A (x) B``, in order, and the matrices they work on.

    Parameters
    ----------
    matrices: a, b and d by name; c, if there is one, is in d's place
    jobs: parts of rows, columns and depth; a part of depth takes up the sums of the one before
    end: the address behind the last matrix
    """

    matrices: dict[str, Matrix]
    jobs: tuple[Job, ...]
    end: int


def plan_product(
    config: EngineConfig,
    operation: str,
    shape: tuple[int, int, int],
    *,
    use_c: bool,
    memory: MemoryModel = FLAT,
    longest: int = LONGEST,
) -> ProductPlan:
    """Place a product's matrices one behind the other from address 0 on, and cut it into jobs.

    Parameters
    ----------
    operation: one of the unit's
    shape: rows of A, depth, columns of B
    use_c: whether there is a C
    memory: in a flat one matrices begin at multiples of the longest burst, and rows follow each
        other at whole beats; in a DRAM at whole accesses, and those of a page or more a page
        farther apart, so that rows beneath each other do not meet in a bank
    longest: rows, columns and depth of the largest job, at least 128

    Raises ValueError if the engine does not have the operation, a size is 0, or the matrices lie
    beyond its addresses.
    """
    rows, depth, cols = shape
    if min(shape) < 1:
        raise ValueError(f"`shape` must be of sizes of at least 1, not {shape}")
    element, result = formats_of(config, operation)
    matrices: dict[str, Matrix] = {}
    end = 0
    for name, down, across, format in (
        ("a", rows, depth, element),
        ("b", depth, cols, element),
        ("d", rows, cols, result),
    ):
        if memory.flat:
            # Bursts are cut at multiples of the longest one's bytes: rows that lie across are two.
            burst = config.burst_beats * config.beat_bytes
            end = -(-end // burst) * burst
        step = config.beat_bytes if memory.flat else max(config.beat_bytes, memory.access_bytes)
        stride = -(-across * container_bits(format) // (8 * step)) * step
        if not memory.flat and stride >= memory.page_bytes:
            stride += memory.page_bytes
        matrices[name] = Matrix(rows=down, cols=across, format=format, address=end, stride=stride)
        end += down * stride
    if end > 1 << config.addr_bits:
        raise ValueError(
            f"the matrices take {end:,} bytes; addresses of {config.addr_bits} bits reach "
            f"{1 << config.addr_bits:,}"
        )
    jobs = _jobs(config.opcodes[operation], matrices, use_c, longest)
    return ProductPlan(matrices=matrices, jobs=tuple(jobs), end=end)


def _jobs(op: int, matrices: dict[str, Matrix], use_c: bool, longest: int) -> Iterator[Job]:
    a, b, d = (matrices[name] for name in "abd")
    for row, m in _parts(d.rows, longest, 1):
        for col, n in _parts(d.cols, longest, _STEP):
            for deep, k in _parts(a.cols, longest, _STEP):
                at_d = _address(d, row, col)
                yield Job(
                    op=op,
                    m=m,
                    n=n,
                    k=k,
                    base={
                        "a": _address(a, row, deep),
                        "b": _address(b, deep, col),
                        "c": at_d,
                        "d": at_d,
                    },
                    stride={"a": a.stride, "b": b.stride, "c": d.stride, "d": d.stride},
                    use_c=use_c or deep > 0,
                )


def _address(matrix: Matrix, row: int, col: int) -> int:
    return matrix.address + row * matrix.stride + col * matrix.bits // 8


def _parts(size: int, longest: int, step: int) -> Iterator[tuple[int, int]]:
    """Beginnings and sizes of parts of about the same size, multiples of ``step`` but the last."""
    most = longest if size <= longest else longest // step * step
    count = -(-size // most)
    each = size if count == 1 else -(-size // (count * step)) * step
    for start in range(0, size, each):
        yield start, min(each, size - start)
