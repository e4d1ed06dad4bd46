"""Vector operations of GTA: the functions of an EXECUTE in SIMD, and the places of its operands.

A vector is cut into *octets* of 8 elements, and an octet lies by *planes*: first the lowest byte
of each of its 8 elements, then the next one, and so on, 8 bytes a plane. Each bank of a lane has
octets of its own, one behind the other, and the element in row r and column c of the lane works on
element r of the octets of bank c. Source: GTA, section 3.2; the table of functions is ours.
"""

from __future__ import annotations

from typing import NamedTuple

from ..gta import COLS, GtaConfig, element_bytes, is_float, limbs, result_bytes
from ..host.words import not_one_of

__all__ = [
    "OCTET",
    "VECTOR_FUNCTIONS",
    "VectorFunction",
    "functions_of",
    "octet_cycles",
    "operand_memories",
    "vector_result_bytes",
]

OCTET = 8
"""Elements that lie together, of the rows of a column."""

_LEFT_TOP = ("left", "top")
_LEFT_RESULT = ("left", "result")
_ALL = ("left", "top", "result")


class VectorFunction(NamedTuple):
    """The memory of each operand, in the operands' order; None: there are no such operands."""

    integers: tuple[str, ...] | None
    floats: tuple[str, ...] | None


VECTOR_FUNCTIONS: dict[str, VectorFunction] = {
    "mul": VectorFunction(_LEFT_TOP, _LEFT_TOP),
    "mulh": VectorFunction(_LEFT_TOP, None),
    "fma": VectorFunction(_ALL, _ALL),
    "dot": VectorFunction(_LEFT_TOP, _LEFT_TOP),
    "sll": VectorFunction(_LEFT_TOP, None),
    "srl": VectorFunction(_LEFT_TOP, None),
    "sra": VectorFunction(_LEFT_TOP, None),
    "add": VectorFunction(_LEFT_TOP, _LEFT_RESULT),
    "sub": VectorFunction(_LEFT_TOP, _LEFT_RESULT),
    "min": VectorFunction(_LEFT_TOP, _LEFT_TOP),
    "max": VectorFunction(_LEFT_TOP, _LEFT_TOP),
    "eq": VectorFunction(_LEFT_TOP, _LEFT_TOP),
    "ne": VectorFunction(_LEFT_TOP, _LEFT_TOP),
    "lt": VectorFunction(_LEFT_TOP, _LEFT_TOP),
    "le": VectorFunction(_LEFT_TOP, _LEFT_TOP),
    "select": VectorFunction(("result", "left", "top"), ("result", "left", "top")),
    "slide": VectorFunction(_LEFT_TOP, _LEFT_TOP),
    "sum": VectorFunction(None, ("left",)),
}
"""Functions by number. Results are written to the memory of results, over an operand that was
there.

dot: the sum of products of ``chain`` octets of both operands, as an element of a product of
    matrices has it, in that one's width; with ``use_c`` it begins with what is there
sum: the sum of ``chain`` octets, in ascending order, each rounded to the format; it begins with +0,
    or with ``use_c`` with what is there
slide: element ``amount`` + r, 0..7, of an octet on the left with the one on top behind it
others: see ``sim/gta/golden``
"""

_CHAINS = ("dot", "sum")

_COMPARED = ("min", "max", "eq", "ne", "lt", "le", "select")
"""Need all planes of an octet before the first one of the result."""

_UPPER = ("mulh", "srl", "sra")
"""Functions that need the upper half of a product, whose last plane arrives a cycle after its last
products."""


def functions_of(format: str) -> tuple[str, ...]:
    """Functions that are available on a format."""
    return tuple(
        name
        for name, function in VECTOR_FUNCTIONS.items()
        if (function.floats if is_float(format) else function.integers) is not None
    )


def operand_memories(function: str, format: str) -> tuple[str, ...]:
    """The memory of each operand, in the operands' order.

    Raises ValueError for a function that there is not on the format.
    """
    allowed = functions_of(format)
    if function not in allowed:
        raise ValueError(not_one_of(f"`function` on {format}", allowed, function))
    found = VECTOR_FUNCTIONS[function]
    memories = found.floats if is_float(format) else found.integers
    assert memories is not None
    return memories


def vector_result_bytes(function: str, format: str) -> int:
    """Bytes of an element of the result."""
    return result_bytes(format) if function == "dot" else element_bytes(format)


def octet_cycles(config: GtaConfig, function: str, format: str, chain: int = 1) -> int:
    """Cycles that each octet of results takes, with ``chain`` octets of operands.

    Products of L limbs take L x L cycles, those of a float with one L; a lane's adders for floats
    take a column of each row in turn, and in chains, where a sum waits for the last one, as long as
    they have stages. Other functions take a plane of bytes a cycle, once or twice.

    Raises ValueError for a function that there is not on the format.
    """
    operand_memories(function, format)
    length, size = limbs(format), element_bytes(format)
    if is_float(format) and function in ("mul", "fma", "dot", "add", "sub", "sum"):
        products = length if function in ("add", "sub", "sum") else length**2
        columns = COLS if format == "fp64" else COLS // config.row_adders
        stages = config.adder_stages if function in _CHAINS else 1
        return chain * max(products, columns, stages)
    if function == "dot":
        planes = vector_result_bytes(function, format)
        return chain * length**2 + max(0, planes - (2 * length - 1))
    if function in ("mul", "fma", "sll"):
        return length**2
    if function in _UPPER:
        return length**2 + 1
    return size * (2 if function in _COMPARED else 1)
