"""Placement of the elements of x and z on chip where the vectors are in memory."""

from __future__ import annotations

from amaranth.hdl import Value, unsigned
from amaranth.lib import data

from ...spec.sida import SidaConfig
from ..elementwise.layouts import values_layout
from ..layouts import count_bits

__all__ = [
    "OPERAND",
    "STORED_KINDS",
    "SUMS",
    "bank_bits",
    "bank_lines",
    "block_bits",
    "blocks",
    "fetch_layout",
    "kept_sums_layout",
    "line_layout",
    "place_of_line",
    "report_layout",
    "tag_bits",
    "tag_layout",
    "tag_write_layout",
    "window_rows",
]

OPERAND, SUMS = 1, 2
"""Kinds of lines written beside those that the program stores: x or z, and w."""

STORED_KINDS = 3


def bank_bits(config: SidaConfig) -> int:
    """Returns how many bits of a row's number select the bank."""
    return (config.gather_banks - 1).bit_length()


def bank_lines(config: SidaConfig) -> int:
    """Elements of a vector that a bank has."""
    return config.vector_words // config.gather_banks


def blocks(config: SidaConfig) -> int:
    """Places for blocks of ``config.window_elements`` elements, on chip."""
    return config.vector_words // config.window_elements


def window_rows(config: SidaConfig) -> int:
    """Rows of ``pes`` elements of a block."""
    return config.window_elements // config.pes


def block_bits(config: SidaConfig) -> int:
    """Width of the number of a block of a vector."""
    return max(1, (config.most_rows // config.window_elements - 1).bit_length())


def tag_bits(config: SidaConfig) -> int:
    """Returns how many bits of a block's number are above its place: its tag."""
    return (config.most_rows // config.vector_words - 1).bit_length()


def place_of_line(config: SidaConfig, line: Value) -> tuple[Value, Value]:
    """A line's block, and of that the place."""
    within = (config.window_elements // config.gather_banks - 1).bit_length()
    places = (blocks(config) - 1).bit_length()
    return line[within:], line[within : within + places]


def tag_layout(config: SidaConfig) -> data.StructLayout:
    """Tag of a place: whether x of the block ``tag`` is ``present``, and whether its ``z`` is."""
    return data.StructLayout({"present": 1, "z": 1, "tag": unsigned(tag_bits(config))})


def tag_write_layout(config: SidaConfig) -> data.StructLayout:
    """Write of a place's tag, if ``valid``; it is readable from the next cycle on."""
    place = range(max(2, blocks(config)))
    return data.StructLayout({"valid": 1, "place": place, "tag": tag_layout(config)})


def report_layout(config: SidaConfig) -> data.StructLayout:
    """Outcome of a bank's read in the cycle before, of an element of ``block``.

    ``served``: a lane got it. ``missed``: a lane did not, as ``x`` of the block, or ``z``, is not
    present.
    """
    return data.StructLayout(
        {"block": block_bits(config), "served": 1, "missed": 1, "x": 1, "z": 1}
    )


def fetch_layout(config: SidaConfig) -> data.StructLayout:
    """So many ``rows`` of ``pes`` elements, at least one, of x, or of ``z``, from element ``base``
    on, a multiple of ``config.window_elements``."""
    return data.StructLayout(
        {"z": 1, "base": count_bits(config), "rows": range(window_rows(config) + 1)}
    )


def kept_sums_layout(config: SidaConfig) -> data.StructLayout:
    """``values`` of w, ``pes`` of them: which ``row``."""
    row = range(max(2, config.most_rows // config.pes))
    return data.StructLayout({"row": row, "values": values_layout(config)})


def line_layout(config: SidaConfig) -> data.StructLayout:
    """A line that goes to memory: of what ``kind``; which ``channels`` get a block of it; whether
    it is the ``last`` one of what was stored at once."""
    return data.StructLayout({"kind": range(STORED_KINDS), "channels": config.channels, "last": 1})
