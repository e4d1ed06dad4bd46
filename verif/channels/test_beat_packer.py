"""Words that become beats, and beats that are requested: every byte, no other, in whole runs."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from tilewright.hw.channels.beat_packer import BeatPacker
from tilewright.hw.spec.c2sr import C2srLayout
from tilewright.hw.spec.channels import ChannelGeometry, LaneMap, Striping
from tilewright.verif.channels.placed_words import (
    EVERY,
    GEOMETRIES,
    base_of,
    draw_words,
    placed,
    word_sizes,
)
from tilewright.verif.channels.streams import StreamRun
from tilewright.verif.kit.sampling import by_size

pytestmark = pytest.mark.quick

STEPS = by_size((1, 3), (1, 3, 16), (1, 2, 3, 4, 8, 16))
COUNT = 60
Word = dict[str, int]


def run(geometry: ChannelGeometry, word_bytes: int, words: list[Word], **how: Any) -> StreamRun:
    part = BeatPacker(geometry, word_bytes=word_bytes)
    how = {"cycles": 400, "last": ["flush"], **how}
    return StreamRun(part, {"i": words}, ["request", "o"], watched=["empty"], **how)


def written(geometry: ChannelGeometry, found: StreamRun) -> dict[int, int]:
    """Returns the bytes written, by address; every request lies in one block, and has all its
    beats."""
    beats, memory = iter(found.payloads("o")), {}
    for request in found.payloads("request"):
        begins = request["address"] % geometry.interleave
        assert begins % geometry.beat_bytes == 0
        assert begins + request["beats"] * geometry.beat_bytes <= geometry.interleave
        for number in range(request["beats"]):
            beat = next(beats)
            for byte in range(geometry.beat_bytes):
                if beat["strobe"] >> byte & 1:
                    address = request["address"] + number * geometry.beat_bytes + byte
                    assert address not in memory, f"byte {address:#x} is written twice"
                    memory[address] = beat["data"] >> 8 * byte & 0xFF
    assert next(beats, None) is None, "beats that nothing asks for"
    return memory


@pytest.mark.parametrize(("gap", "stall"), [(0.0, 0.0), (0.3, 0.4)])
@pytest.mark.parametrize("name", EVERY)
def test_every_byte_once(name: str, gap: float, stall: float) -> None:
    geometry, rng = GEOMETRIES[name], random.Random(f"pack {name} {gap}")
    for word_bytes in word_sizes(geometry):
        for step in STEPS:
            base = base_of(rng, geometry)
            words = draw_words(rng, geometry, word_bytes, step, COUNT)
            how = {"word_bytes": word_bytes, "step": step}
            places = [placed(geometry, base, word, **how) for word in words]
            found = run(geometry, word_bytes, places, gap=gap, stall=stall, seed=step)
            assert found.ports == {"empty": 1}
            expected = {
                geometry.flat(base, word["channel"], word["number"] * word_bytes + byte): (
                    word["word"] >> 8 * byte & 0xFF
                )
                for word in words
                for byte in range(word_bytes)
            }
            assert written(geometry, found) == expected
            if not gap:
                assert found.sent["i"] == list(range(COUNT))


@pytest.mark.parametrize("name", EVERY)
def test_consecutive_words_are_asked_for_by_blocks(name: str) -> None:
    """Requests four blocks and a word, from the start of a block, block by block."""
    geometry, rng = GEOMETRIES[name], random.Random(f"blocks {name}")
    count = 4 * geometry.interleave // 8 + 1
    words = [
        {**word, "number": number}
        for number, word in enumerate(draw_words(rng, geometry, 8, 1, count))
    ]
    places = [placed(geometry, 0, word, word_bytes=8, step=1) for word in words]
    found = run(geometry, 8, places)
    channel = words[0]["channel"]
    assert found.payloads("request") == [
        {
            "address": geometry.flat(0, channel, block * geometry.interleave),
            "beats": geometry.block_beats if block < 4 else 1,
        }
        for block in range(5)
    ]


@pytest.mark.parametrize("clear_at", [0, 1, 2, 3, 5, 8, 13])
def test_clear_forgets_all(clear_at: int) -> None:
    geometry, rng = GEOMETRIES["eight channels, long blocks"], random.Random(9)
    words = draw_words(rng, geometry, 8, 1, COUNT)
    places = [placed(geometry, 0, word, word_bytes=8, step=1) for word in words]
    found = run(geometry, 8, places, clear_at=clear_at, cycles=40, stall=0.3, last=[])
    assert all(cycle < clear_at for name in found.found for cycle, _ in found.found[name])
    assert found.ports == {"empty": 1}


# The words for memory that is striped over channels.

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
