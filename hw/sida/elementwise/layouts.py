"""Rows of elements, what programs load and store of them, and the fields of an instruction."""

from __future__ import annotations

from amaranth.hdl import Cat, Value
from amaranth.lib import data

from ...spec.elementwise.instructions import INSTRUCTIONS, REDUCTIONS, VECTORS
from ...spec.formats import FloatFormat
from ...spec.sida import SidaConfig
from ..layouts import count_bits

__all__ = [
    "KINDS",
    "block_rows",
    "instruction_layout",
    "is_instruction",
    "opcode",
    "place_layout",
    "request_layout",
    "row_layout",
    "stored_layout",
    "values_layout",
]

_MOST_ROWS = 8
"""Most rows of a block: more than an instruction's latency."""

KINDS = tuple(REDUCTIONS)
"""Reductions, in the order of their numbers in hardware."""


def opcode(name: str) -> int:
    """Returns the opcode of an instruction, given its name."""
    return INSTRUCTIONS[name].opcode


def is_instruction(config: SidaConfig, number: Value) -> Value:
    """Tells whether a number is the opcode of an instruction that the lanes have."""
    floats = isinstance(config.format, FloatFormat)
    known = [
        one.opcode
        for one in INSTRUCTIONS.values()
        if one.name != "dot" and (floats or not one.floats)
    ]
    return Cat(number == opcode for opcode in known).any()


def block_rows(config: SidaConfig) -> int:
    """Rows that an instruction is done on before the next one: at most those of a step."""
    return min(_MOST_ROWS, config.subtensor // config.pes)


def instruction_layout() -> data.StructLayout:
    """A word of a program. ``d``: register that is written, or reduction; ``a``, ``b``, ``c``:
    registers, or scalars where the top bit is set; ``c`` a vector where there is one."""
    return data.StructLayout({"opcode": 6, "d": 6, "a": 6, "b": 6, "c": 6, "spare": 2})


def place_layout(config: SidaConfig) -> data.StructLayout:
    """Location of a value in a lane.

    ``row``: of the block. ``number``: of the register, or of the vector whose stored value is kept
    (``stored``).
    """
    return data.StructLayout({"row": range(max(2, block_rows(config))), "number": 4, "stored": 1})


def values_layout(config: SidaConfig) -> data.ArrayLayout:
    """The values of a row: of ``pes`` elements that follow each other."""
    return data.ArrayLayout(config.format.bits, config.pes)


def row_layout(config: SidaConfig) -> data.StructLayout:
    """A row: elements ``base`` to ``base + pes - 1``, of which there are those in ``mask``, all but
    in the last row. ``base`` is a multiple of ``pes``."""
    return data.StructLayout(
        {"base": count_bits(config), "mask": config.pes, "values": values_layout(config)}
    )


def stored_layout(config: SidaConfig) -> data.StructLayout:
    """A row that goes to a vector in memory."""
    return data.StructLayout({"vector": range(VECTORS), "row": row_layout(config)})


def request_layout(config: SidaConfig) -> data.StructLayout:
    """So many rows of a vector in memory, from element ``base`` on; at least one."""
    rows = block_rows(config)
    if config.windowed:
        rows = max(rows, config.window_elements // config.pes)
    return data.StructLayout(
        {
            "vector": range(VECTORS),
            "base": count_bits(config),
            "rows": range(rows + 1),
        }
    )
