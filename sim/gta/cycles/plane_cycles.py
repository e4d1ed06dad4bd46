"""When a vector operation reads and writes its planes in the memory of results."""

from __future__ import annotations

from functools import cache

from ....hw.spec.gta import element_bytes, is_float, limbs
from ....hw.spec.jobs.gta_vector import operand_memories, vector_result_bytes

__all__ = ["MOST_PLANES", "plane_cycles"]

MOST_PLANES = 16
"""That an octet reads, or writes."""

_SHIFTS = ("sll", "srl", "sra")
_UPPER = ("mulh", "srl", "sra")
_OF_FLOATS = ("mul", "fma", "dot", "add", "sub", "sum")


@cache
def plane_cycles(
    function: str, format: str, chain: int, cycles: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Cycles of an octet, of so many, whose planes are read, and written.

    Products of integers give a plane at the end of each diagonal of limbs, and one in each cycle
    behind the last; other functions one a cycle, those of two passes in the second. Floats that are
    multiplied or added are rounded whole: their words are read with the first product, and written
    with the last.
    """
    length, size = limbs(format), element_bytes(format)
    adds = function in ("fma", "dot") or "result" in operand_memories(function, format)
    if is_float(format) and function in _OF_FLOATS:
        return (0,) if adds else (), (cycles - 1,)
    if function in ("mul", "mulh", "fma", "dot", *_SHIFTS):
        ends, at = [], 0
        for diagonal in range(2 * length - 1):
            at += chain * (min(diagonal, length - 1) - max(0, diagonal - length + 1) + 1)
            ends.append(at - 1)
        ends += range(at, cycles)
        if function == "dot":
            there = written = ends[: vector_result_bytes(function, format)]
        elif function in _UPPER:
            written = ends[length : 2 * length]
            there = written if function == "mulh" else ends[length - 1 : 2 * length]
        else:
            there = written = ends[:length]
    else:
        there = list(range(cycles))
        written = there[cycles - size :]
    return tuple(there) if adds else (), tuple(written)
