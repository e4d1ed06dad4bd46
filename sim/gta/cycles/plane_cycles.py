"""When a vector operation reads and writes its planes in the memory of results, and when it ends.

Cycles are those of column 0; each other column's are one behind the one before.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ....hw.spec.gta import GtaConfig, element_bytes, is_float, limbs
from ....hw.spec.jobs.gta_vector import (
    OCTET,
    octet_cycles,
    operand_memories,
    vector_result_bytes,
)

__all__ = ["MOST_PLANES", "OctetCycles", "octet", "results_of"]

MOST_PLANES = 16
"""That an octet reads, or writes."""

_SHIFTS = ("sll", "srl", "sra")
_UPPER = ("mulh", "srl", "sra")
_CHAINS = ("dot", "sum")
_FLOAT_SUMS = ("add", "sub", "sum")
_OF_FLOATS = ("mul", "fma", "dot", *_FLOAT_SUMS)


class OctetCycles(NamedTuple):
    """Of an octet of results.

    ``cycles``: to the next one; ``reads``, ``writes``: in which planes are read, and written
    ``late`` cycles later than those of integers; ``last``: cycles to that of the last products;
    ``behind``: from there on to the end of a command, more than integers take.
    """

    cycles: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    late: int
    last: int
    behind: int


@cache
def octet(config: GtaConfig, function: str, format: str, chain: int, use_c: bool) -> OctetCycles:
    """Of a command's fields, by name. Raises ValueError for a function that there is not."""
    cycles = octet_cycles(config, function, format, chain)
    if is_float(format) and function in _OF_FLOATS:
        return _floats(config, function, format, chain, use_c)
    reads, writes = _bytes(function, format, chain, cycles)
    adds = function in ("fma", "dot") or "result" in operand_memories(function, format)
    return OctetCycles(cycles, reads if adds else (), writes, 0, cycles, 0)


def results_of(function: str, format: str, use_c: bool) -> tuple[bool, int]:
    """Whether a command begins with what is in the memory of results, and the bytes of an octet of
    its own results there."""
    memories = operand_memories(function, format)
    reads = use_c if function in _CHAINS else "result" in memories
    return reads, OCTET * vector_result_bytes(function, format)


def _floats(config: GtaConfig, function: str, format: str, chain: int, use_c: bool) -> OctetCycles:
    """Rounded whole: words are read with the first product's last limbs, of fp64 a half a cycle
    sooner, and written with the last product's, of fp64 a half a cycle later."""
    cycles, length = octet_cycles(config, function, format, chain), limbs(format)
    first = length if function in _FLOAT_SUMS else length**2
    last = cycles - cycles // chain + first
    wide = format == "fp64"
    adds = use_c if function in _CHAINS else "result" in operand_memories(function, format)
    return OctetCycles(
        cycles=cycles,
        reads=tuple(range(first - 1 - wide, first)) if adds else (),
        writes=tuple(range(last - 1 - wide, last)),
        late=config.adder_stages + wide,
        last=last,
        behind=config.adder_stages + wide,
    )


def _bytes(
    function: str, format: str, chain: int, cycles: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Products of integers give a plane at the end of each diagonal of limbs, and one in each cycle
    behind the last; other functions one a cycle, those of two passes in the second."""
    length, size = limbs(format), element_bytes(format)
    if function not in ("mul", "mulh", "fma", "dot", *_SHIFTS):
        there = tuple(range(cycles))
        return there, there[cycles - size :]
    ends, at = [], 0
    for diagonal in range(2 * length - 1):
        at += chain * (min(diagonal, length - 1) - max(0, diagonal - length + 1) + 1)
        ends.append(at - 1)
    ends += range(at, cycles)
    first = length if function in _UPPER else 0
    width = vector_result_bytes(function, format)
    written = tuple(ends[first : first + width])
    # A shift to the right needs the top bit of the plane below.
    return (tuple(ends[first - 1 : first + width]) if function in _SHIFTS[1:] else written), written
