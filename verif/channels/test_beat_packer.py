"""Words that become beats, and beats that are requested: every byte, no other, in whole runs."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tilewright.hw.channels.beat_packer import BeatPacker
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.channels.geometries import EVERY, GEOMETRIES
from tilewright.verif.channels.placed_words import base_of, draw_words, placed, word_sizes
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
