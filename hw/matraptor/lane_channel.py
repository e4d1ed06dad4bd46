"""Which channel the rows of a lane are in, and which of the lanes there it is."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Array, Const, Value

from ..spec.matraptor import MatRaptorConfig

__all__ = ["lane_channel", "lane_share"]


def _of_lane(config: MatRaptorConfig, lane: Value, width: int, rule: Callable[[int], int]) -> Value:
    """A number that depends on the lane."""
    if config.lanes == 1:
        return Const(rule(0), width)
    return Array(Const(rule(number), width) for number in range(config.lanes))[lane]


def lane_channel(config: MatRaptorConfig, lane: Value, row: Value) -> Value:
    """The channel of a row of the lane, as in ``row_layout``."""
    if config.lane_channels > 1:
        return lane + config.lanes * row.slot
    return _of_lane(config, lane, config.layout.channel_bits, lambda n: n % config.channels)


def lane_share(config: MatRaptorConfig, lane: Value) -> Value:
    """The lane's number among those whose rows share its channel, from 0."""
    width = max(1, (config.channel_lanes - 1).bit_length())
    return _of_lane(config, lane, width, lambda n: n // config.channels)
