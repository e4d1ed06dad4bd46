"""Sizes of a bank of buffered elements, and layouts of the signals between its parts."""

from __future__ import annotations

from amaranth.hdl import ShapeLike, unsigned
from amaranth.lib import data

from ...spec.sida import CHUNK, SidaConfig
from ..layouts import count_bits

__all__ = [
    "bank_words",
    "chunk_bits",
    "chunks",
    "counts_layout",
    "held_layout",
    "late_layout",
    "line_rows",
    "lists",
    "panel_bits",
    "panels",
    "place_bits",
    "reload_layout",
    "reload_request_layout",
    "row_bits",
    "sided_layout",
    "slot_bits",
    "slotted_layout",
]


def panels(config: SidaConfig) -> int:
    """Panels of rows, of ``subtensor`` rows each, at most."""
    return max(1, config.most_rows // config.subtensor)


def panel_bits(config: SidaConfig) -> int:
    """Width of a panel's number."""
    return max(1, (panels(config) - 1).bit_length())


def bank_words(config: SidaConfig) -> int:
    """Elements of a bank."""
    return config.buffer_words // config.pes


def chunks(config: SidaConfig) -> int:
    """Chunks of a bank."""
    return bank_words(config) // CHUNK


def chunk_bits(config: SidaConfig) -> int:
    """Width of a chunk's number."""
    return max(1, (chunks(config) - 1).bit_length())


def lists(config: SidaConfig) -> int:
    """Lists of a panel in a bank."""
    return config.held_lists


def line_rows(config: SidaConfig) -> int:
    """Rows of z that a panel has, of ``pes`` elements."""
    return config.subtensor // config.pes


def row_bits(config: SidaConfig) -> int:
    """Width of a row's place in its panel."""
    return (config.subtensor - 1).bit_length()


def place_bits(config: SidaConfig) -> int:
    """Width of a column's place in its bank of w."""
    return max(1, (config.most_rows // config.pes - 1).bit_length())


def slot_bits(config: SidaConfig) -> int:
    """Width of an element's place in its bank of what is on chip of w: all of it, or a part."""
    return max(1, (config.vector_words // config.pes - 1).bit_length())


def late_layout(config: SidaConfig) -> data.StructLayout:
    """An element whose panel and bank of w are known: ``row``, its place in the panel;
    ``place`` of its column in the bank; ``value``."""
    return data.StructLayout(
        {"row": row_bits(config), "place": place_bits(config), "value": config.format.bits}
    )


def slotted_layout(config: SidaConfig) -> data.StructLayout:
    """The same, ``place`` on chip."""
    return data.StructLayout(
        {"row": row_bits(config), "place": slot_bits(config), "value": config.format.bits}
    )


def sided_layout(late: ShapeLike) -> data.StructLayout:
    """A ``late`` element, and the ``side`` on which its panel of z is."""
    return data.StructLayout({"side": 1, "late": late})


def held_layout(config: SidaConfig) -> data.StructLayout:
    """An element on its way to a list: its ``panel``, and what the list keeps of it."""
    return data.StructLayout({"panel": panel_bits(config), "late": late_layout(config)})


def reload_request_layout(config: SidaConfig) -> data.StructLayout:
    """Rows that are read again: those of ``panel``, elements of columns below ``columns``."""
    return data.StructLayout({"panel": panel_bits(config), "columns": count_bits(config)})


def reload_layout(config: SidaConfig) -> data.StructLayout:
    """Elements that are read again, each ``valid`` one of row ``row + offset``; ``row`` is a
    multiple of ``pes``. Rows, and columns in them, ascend from leaf to leaf. ``last``: nothing of
    this panel follows."""
    element = data.StructLayout(
        {
            "valid": 1,
            "offset": range(config.pes),
            "column": config.place_bits,
            "value": config.format.bits,
        }
    )
    return data.StructLayout(
        {
            "row": config.place_bits,
            "last": 1,
            "elements": data.ArrayLayout(element, config.pes),
        }
    )


def counts_layout(config: SidaConfig) -> data.StructLayout:
    """Counts of a pass.

    Elements ``held`` now and at ``most``; panels ``lost``, that is evicted; cycles in which a set
    ``waited``.
    """
    return data.StructLayout(
        {
            "held": unsigned(config.buffer_words.bit_length()),
            "most": unsigned(config.buffer_words.bit_length()),
            "lost": unsigned(panels(config).bit_length()),
            "waited": unsigned(32),
        }
    )
