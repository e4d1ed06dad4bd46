"""What travels through the store side."""

from __future__ import annotations

from amaranth.hdl import ShapeLike
from amaranth.lib import data

from ...spec.tensaurus import TensaurusConfig

__all__ = ["addend_layout", "walk_layout"]


def addend_layout(config: TensaurusConfig) -> data.StructLayout:
    """What a column adds, and tells the next one a cycle later.

    ``valid``; the unit's ``address``; ``single``: a ``value`` alone, to lane ``place`` of this
    column, or of a later one if it has not so many; else the column's own vector.
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
