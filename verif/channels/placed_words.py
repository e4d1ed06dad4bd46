"""Words of an array in a channel, placed in memory, computed from their byte addresses."""

from __future__ import annotations

import random

from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.kit.sampling import slow_but

GEOMETRIES = {
    "one channel": ChannelGeometry(channels=1, interleave=64, data_bits=64, addr_bits=32),
    "one channel, wide": ChannelGeometry(channels=1, interleave=256, data_bits=512),
    "three channels": ChannelGeometry(channels=3, interleave=64, data_bits=128),
    "three channels, long blocks": ChannelGeometry(
        channels=3, interleave=256, data_bits=64, addr_bits=64
    ),
    "eight channels": ChannelGeometry(channels=8, interleave=64),
    "eight channels, long blocks": ChannelGeometry(channels=8, interleave=256, data_bits=128),
    "a beat a block": ChannelGeometry(channels=3, interleave=64, data_bits=512),
}
"""Geometries by description: one channel, three and eight; short and long blocks; beats from an
eighth of a block to a whole one."""

EVERY = slow_but(
    ["one channel", "three channels, long blocks", "eight channels"], GEOMETRIES, ["a beat a block"]
)
"""Their names, as parameters of a test."""


WORD_BYTES = (4, 8, 16)
Word = dict[str, int]


def word_sizes(geometry: ChannelGeometry) -> list[int]:
    """Returns the word sizes that fit into a beat."""
    return [size for size in WORD_BYTES if size <= geometry.beat_bytes]


def base_of(rng: random.Random, geometry: ChannelGeometry) -> int:
    """A multiple of a stripe, in the upper half of memory, before room for 2**16 blocks."""
    stripes = (1 << geometry.addr_bits) // geometry.stripe_bytes
    return rng.randrange(stripes // 2, stripes - (1 << 16)) * geometry.stripe_bytes


def draw_words(
    rng: random.Random, geometry: ChannelGeometry, word_bytes: int, step: int, count: int
) -> list[Word]:
    """Words of one array in one channel, every ``step``-th from anywhere on."""
    channel, first = rng.randrange(geometry.channels), rng.randrange(1 << 12)
    return [
        {
            "word": rng.getrandbits(8 * word_bytes),
            "number": first + step * n,
            "channel": channel,
        }
        for n in range(count)
    ]


def placed(geometry: ChannelGeometry, base: int, word: Word, *, word_bytes: int, step: int) -> Word:
    """Returns a word's beat, its position in the beat, and what follows if the next word is
    ``step`` further."""
    offset = word["number"] * word_bytes
    address = geometry.flat(base, word["channel"], offset)
    beat = address // geometry.beat_bytes
    following = geometry.flat(base, word["channel"], offset + step * word_bytes)
    next_beat = following // geometry.beat_bytes
    apart = next_beat != beat + 1 or following % geometry.interleave < geometry.beat_bytes
    return {
        "word": word["word"],
        "places": 1 << address % geometry.beat_bytes // word_bytes,
        "address": beat * geometry.beat_bytes,
        "beat_last": int(next_beat != beat),
        "run_last": int(next_beat != beat and apart),
    }
