"""Table of the properties of vector functions, by format."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import FORMATS_OF_GTA, GtaConfig, element_bytes, is_float, limbs
from ...spec.jobs.gta_vector import (
    OCTET,
    VECTOR_FUNCTIONS,
    functions_of,
    octet_cycles,
    operand_memories,
    vector_result_bytes,
)

__all__ = ["FunctionTable", "properties", "properties_layout"]

_SHIFTS = ("sll", "srl", "sra")
_RIGHT = ("srl", "sra")
_UPPER = ("mulh", *_RIGHT)
_PRODUCTS = ("mul", "mulh", "fma", "dot", *_SHIFTS)
_FLOAT_SUMS = ("add", "sub", "sum")
_C_OF_PRODUCTS = ("fma", "dot")


def properties_layout(config: GtaConfig) -> data.StructLayout:
    """Properties of a function on a format.

    ``square``: all limbs of x by all of y; otherwise each one of x by one constant. ``floats``: of
    significands. ``planes``: not products, byte by byte; ``twice``: in two passes.
    ``top``: the highest limb. ``limbs``: their number, a bit set. ``extra``: cycles behind the last
    product, of an octet, of floats of each of its chain: in which carries come, or nothing does.
    ``element``, ``result``: bytes of an element of the operands, a bit set, and of the results less
    one. ``upper``: the result is the upper half of the product; ``right``: shifted left by a bit.
    ``sums``: the result is wider than the operands. ``unsigned``: x is.
    ``y_plane``: y is what is on top; ``y_shift``: a power of two of that; otherwise 1.
    ``c_plane``: results' memory has an operand of the function; ``chains``: only if it is told to.
    """
    longest = max(
        _extra(config, function, format)
        for format in (*config.integers, *config.floats)
        for function in functions_of(format)
    )
    flags = (
        "square", "floats", "planes", "twice", "upper", "right", "sums", "unsigned", "y_plane",
        "y_shift", "c_plane", "chains",
    )  # fmt: skip
    return data.StructLayout(
        {
            **dict.fromkeys(flags, 1),
            "top": range(OCTET),
            "limbs": range(OCTET + 1),
            "extra": range(longest + 1),
            "element": range(OCTET + 1),
            "result": range(OCTET),
        }
    )


def _extra(config: GtaConfig, function: str, format: str) -> int:
    """Cycles of an octet without products, or planes."""
    cycles = octet_cycles(config, function, format)
    if function in _PRODUCTS:
        return cycles - limbs(format) ** 2
    return cycles - limbs(format) if is_float(format) and function in _FLOAT_SUMS else 0


def properties(config: GtaConfig, function: str, format: str) -> dict[str, int]:
    """The fields of :func:`properties_layout`."""
    length, size = limbs(format), element_bytes(format)
    square = function in _PRODUCTS
    sums = is_float(format) and function in _FLOAT_SUMS
    planes = not (square or sums)
    cycles = octet_cycles(config, function, format)
    return {
        "square": square,
        "floats": is_float(format) and not planes,
        "planes": planes,
        "twice": planes and cycles > size,
        "upper": function in _UPPER,
        "right": function in _RIGHT,
        "sums": function == "dot",
        "unsigned": planes or function == "srl",
        "y_plane": square and function not in _SHIFTS,
        "y_shift": function in _SHIFTS,
        "c_plane": function in _C_OF_PRODUCTS or "result" in operand_memories(function, format),
        "chains": function in ("dot", "sum"),
        "top": (size if planes else length) - 1,
        "limbs": length,
        "extra": _extra(config, function, format),
        "element": size,
        "result": vector_result_bytes(function, format) - 1,
    }


class FunctionTable(wiring.Component):
    """Looks up the properties of a function on a format. Combinational.

    A function that the format does not have has arbitrary properties.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    function_number, format: in; their places in ``VECTOR_FUNCTIONS``, and among all formats
    o: out; see :func:`properties_layout`
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "function_number": In(range(len(VECTOR_FUNCTIONS))),
                "format": In(range(len(FORMATS_OF_GTA))),
                "o": Out(properties_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout = properties_layout(self.config)
        functions = list(VECTOR_FUNCTIONS)
        with m.Switch(self.format):
            for name in (*self.config.integers, *self.config.floats):
                with m.Case(FORMATS_OF_GTA.index(name)), m.Switch(self.function_number):
                    for function in functions_of(name):
                        row = layout.const(properties(self.config, function, name))
                        with m.Case(functions.index(function)):
                            m.d.comb += self.o.eq(row)
        return m
