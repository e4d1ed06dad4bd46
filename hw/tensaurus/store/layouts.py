"""What travels through the store side."""

from __future__ import annotations

from amaranth.hdl import ShapeLike
from amaranth.lib import data

from ...spec.tensaurus import TensaurusConfig

__all__ = ["addend_layout", "slot_read_layout", "unit_number_bits", "walk_layout"]


def unit_number_bits(config: TensaurusConfig) -> int:
    """Width of the number of a unit in an output."""
    return (config.slice_numbers * config.olen - 1).bit_length()


def addend_layout(config: TensaurusConfig) -> data.StructLayout:
    """What a column adds, and tells the next one a cycle later.

    ``valid``; the unit's ``address``; ``single``: a ``value`` alone, to lane ``place`` of this
    column, or of a later one if it has not so many; else the column's own vector. Of a job that
    adds in memory the vector is kept at the address, which is its slot.
    """
    fields: dict[str, ShapeLike] = {
        "valid": 1,
        "address": range(config.out_units),
        "single": 1,
        "place": range(max(2, config.unit_values)),
        "value": config.sum_format.bits,
    }
    return data.StructLayout(fields)


def walk_layout(config: TensaurusConfig) -> data.StructLayout:
    """Where the side that is not added to is read, and set to the identity; ``both``: the other
    side is set, too."""
    address = range(config.out_units)
    return data.StructLayout(
        {"read": 1, "read_address": address, "clear": 1, "clear_address": address, "both": 1}
    )


def slot_read_layout(config: TensaurusConfig) -> data.StructLayout:
    """Which ``slot`` is read, if one is (``valid``): of the vectors that rows gave, or of sums."""
    return data.StructLayout({"valid": 1, "slot": range(config.memory_slots)})
