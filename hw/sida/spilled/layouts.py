"""Rows of w, and what the parts that move them hand to each other."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Value, unsigned
from amaranth.lib import data

from ...spec.sida import SidaConfig
from ..elementwise.layouts import values_layout
from ..held.layouts import place_bits, slot_bits

__all__ = [
    "EXCHANGES",
    "entry_layout",
    "exchange_layout",
    "row_values_layout",
    "slot_of",
    "tag_bits",
    "tag_layout",
    "tag_of",
    "tag_write_layout",
    "used_layout",
    "wanted_layout",
]

EXCHANGES = 16
"""Rows that may be on their way to the chip, or from it, at a time; a power of two."""


def tag_bits(config: SidaConfig) -> int:
    """Width of what tells rows of a slot apart, at least 1."""
    return max(1, place_bits(config) - slot_bits(config))


def slot_of(config: SidaConfig, place: Value) -> Value:
    """Where a row of w is, if it is on chip."""
    return place[: slot_bits(config)]


def tag_of(config: SidaConfig, place: Value) -> Value:
    """Which row of its slot it is."""
    tag = place[slot_bits(config) :]
    return tag if len(tag) else Cat(Const(0, 1))


def tag_layout(config: SidaConfig) -> data.StructLayout:
    """What a slot has: a row if ``present``, and which one."""
    return data.StructLayout({"present": 1, "tag": tag_bits(config)})


def tag_write_layout(config: SidaConfig) -> data.StructLayout:
    """What a slot has from the next cycle on, if ``valid``."""
    return data.StructLayout({"valid": 1, "slot": slot_bits(config), "has": tag_layout(config)})


def wanted_layout(config: SidaConfig) -> data.StructLayout:
    """A row that an element waits for, if ``valid``."""
    return data.StructLayout({"valid": 1, "place": place_bits(config)})


def used_layout(config: SidaConfig) -> data.StructLayout:
    """A slot whose row an element is about to be added to, if ``valid``."""
    return data.StructLayout({"valid": 1, "slot": slot_bits(config)})


def row_values_layout(config: SidaConfig) -> data.StructLayout:
    """A row of w, with its number, ``place``."""
    return data.StructLayout({"place": place_bits(config), "values": values_layout(config)})


def entry_layout() -> data.StructLayout:
    """The number of an exchange, if ``valid``."""
    return data.StructLayout({"valid": 1, "entry": unsigned((EXCHANGES - 1).bit_length())})


def exchange_layout(config: SidaConfig) -> data.StructLayout:
    """An exchange that begins, if ``valid``: its number, ``entry``; the ``row`` of w that it is
    for, or any row of its slot; whether that is ``missing``; whether a row ``leaves``, and the
    ``tag`` of that one."""
    return data.StructLayout(
        {
            "valid": 1,
            "entry": entry_layout()["entry"].shape,
            "row": place_bits(config),
            "missing": 1,
            "leaves": 1,
            "tag": tag_bits(config),
        }
    )
