"""The words for memory that is striped over channels."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from tilewright.hw.spec.c2sr import C2srLayout
from tilewright.hw.spec.channels import ChannelGeometry, LaneMap, Striping
from tilewright.verif.channels.geometries import GEOMETRIES

pytestmark = pytest.mark.quick

POWER = "must be a power of two in"
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no channel": (
        lambda: Striping(channels=0),
        "`channels` must be an integer in 1..16, not 0",
    ),
    "interleave": (lambda: Striping(interleave=96), f"`interleave` {POWER} 64..2048, not 96"),
    "beat": (lambda: ChannelGeometry(data_bits=1024), f"`data_bits` {POWER} 64..512, not 1024"),
    "address": (
        lambda: ChannelGeometry(addr_bits=31),
        "`addr_bits` must be an integer in 32..64, not 31",
    ),
    "lanes": (
        lambda: LaneMap(lanes=6, channels=4),
        "`channels` must divide `lanes` or be a multiple of it, 6, not 4",
    ),
    "value": (
        lambda: C2srLayout(value="fp8"),
        "`value` must be one of fp16, bf16, fp32, fp64, int32, not 'fp8'",
    ),
    "entry": (
        lambda: C2srLayout(value="fp64").check_beat(64),
        "`data_bits` must be at least 128 for entries of fp64, not 64",
    ),
}


@pytest.mark.parametrize("channels", range(1, 17))
@pytest.mark.parametrize("interleave", [64, 256, 2048])
def test_arrays_of_all_channels_fill_memory(channels: int, interleave: int) -> None:
    """Block by block, one channel after the other; within a block byte by byte."""
    striping = Striping(channels=channels, interleave=interleave)
    base = 5 * striping.stripe_bytes
    blocks = [
        [striping.flat(base, channel, block * interleave + x) for x in (0, 1, interleave - 1)]
        for block in range(4)
        for channel in range(channels)
    ]
    starts = range(base, base + 4 * channels * interleave, interleave)
    assert blocks == [[start, start + 1, start + interleave - 1] for start in starts]
    assert all(start // interleave % channels == n % channels for n, start in enumerate(starts))


@pytest.mark.parametrize("name", GEOMETRIES)
def test_widths_hold_what_they_must(name: str) -> None:
    geometry = GEOMETRIES[name]
    assert geometry.beat_bytes * 8 == geometry.data_bits
    assert geometry.block_beats * geometry.beat_bytes == geometry.interleave
    assert 1 << geometry.beat_shift == geometry.beat_bytes
    assert 1 << geometry.block_shift == geometry.interleave
    assert 1 << geometry.block_beat_bits == geometry.block_beats
    assert geometry.channels <= 1 << geometry.channel_bits < max(3, 2 * geometry.channels)


@pytest.mark.parametrize("lanes", range(1, 17))
def test_lanes_and_channels(lanes: int) -> None:
    """Counts row by row how many lanes share a channel, and channels a lane."""
    for channels in range(1, 17):
        if lanes % channels and channels % lanes:
            with pytest.raises(ValueError, match=f"multiple of it, {lanes}, not {channels}$"):
                LaneMap(lanes=lanes, channels=channels)
        else:
            check_lanes(lanes, channels)


def check_lanes(lanes: int, channels: int) -> None:
    lane_map = LaneMap(lanes=lanes, channels=channels)
    shared = {(row % lanes, row % channels) for row in range(lanes * channels)}
    for lane in range(lanes):
        assert sum(mine == lane for mine, _ in shared) == lane_map.lane_channels
    for channel in range(channels):
        assert sum(its == channel for _, its in shared) == lane_map.channel_lanes
    assert lanes <= 1 << lane_map.lane_bits < max(3, 2 * lanes)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    build, said = REFUSED[name]
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        build()


def test_types() -> None:
    said = "`channels` must be an integer in 1..16, not 2.0"
    with pytest.raises(TypeError, match=f"^{re.escape(said)}$"):
        ChannelGeometry(channels=2.0)  # type: ignore[arg-type]
