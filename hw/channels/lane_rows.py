"""Rows of lanes: what names one, which channel it is in, and which of the lanes there has it."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Array, Const, ShapeLike, Value
from amaranth.lib import data

from ..spec.channels import LaneMap

__all__ = ["lane_channel", "lane_row_layout", "lane_share"]


def lane_row_layout(lane_map: LaneMap, index_bits: int) -> data.StructLayout:
    """A row within its lane.

    ``index``: its number within its channel, ``i // channels``; ``slot``: which of the lane's
    channels, if it has several. The channel is ``lane + lanes * slot``, or ``lane % channels``.
    """
    fields: dict[str, ShapeLike] = {"index": index_bits}
    if lane_map.lane_channels > 1:
        fields["slot"] = (lane_map.lane_channels - 1).bit_length()
    return data.StructLayout(fields)


def _of_lane(lane_map: LaneMap, lane: Value, width: int, rule: Callable[[int], int]) -> Value:
    """A number that depends on the lane."""
    if lane_map.lanes == 1:
        return Const(rule(0), width)
    return Array(Const(rule(number), width) for number in range(lane_map.lanes))[lane]


def lane_channel(lane_map: LaneMap, lane: Value, row: Value) -> Value:
    """The channel of a row of the lane, see :func:`lane_row_layout`."""
    if lane_map.lane_channels > 1:
        return lane + lane_map.lanes * row.slot
    width = max(1, (lane_map.channels - 1).bit_length())
    return _of_lane(lane_map, lane, width, lambda n: n % lane_map.channels)


def lane_share(lane_map: LaneMap, lane: Value) -> Value:
    """The lane's number among those whose rows share its channel, from 0."""
    width = max(1, (lane_map.channel_lanes - 1).bit_length())
    return _of_lane(lane_map, lane, width, lambda n: n // lane_map.channels)
