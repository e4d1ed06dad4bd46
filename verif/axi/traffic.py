"""Random requests for readers and writers, and what they must do to a bus and to a memory."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..bench.axi_memory import Storage

__all__ = ["Request", "Traffic", "content", "draw", "split"]

_ODD = 0x9E3779B97F4A7C15F39CC0605CEDC8341082276BF3A27251F86C6A11D0C18E95


@dataclass(frozen=True)
class Request:
    """``beats`` beats from ``address`` on."""

    address: int
    beats: int


@dataclass
class Traffic:
    """What one reader or writer is asked for.

    Parameters
    ----------
    requests: in order
    data: for a writer, (value, strobe) of every beat
    """

    requests: list[Request]
    data: list[tuple[int, int]] = field(default_factory=list)

    def addresses(self, width: int) -> Iterator[tuple[int, bool]]:
        """Of every beat, and whether it is the last of its request."""
        for request in self.requests:
            for index in range(request.beats):
                yield request.address + index * width, index == request.beats - 1

    def apply(self, storage: Storage) -> None:
        """Write all the data."""
        places = self.addresses(storage.bytes)
        for (address, _), (value, strobe) in zip(places, self.data, strict=True):
            storage.put(address, value, strobe)


def content(address: int) -> int:
    """What the beat at an address holds before anything is written; different everywhere."""
    return (address + 1) * _ODD & (1 << 256) - 1


def split(request: Request, width: int, burst_beats: int) -> Iterator[Request]:
    """The bursts of a request: cut at the multiples of ``burst_beats`` beats."""
    address, left = request.address, request.beats
    while left:
        beats = min(left, burst_beats - address // width % burst_beats)
        yield Request(address, beats)
        address, left = address + beats * width, left - beats


def draw(
    generator: random.Random, *, count: int, base: int, size: int, width: int, longest: int
) -> list[Request]:
    """Requests in ``size`` bytes from ``base`` on: short ones, long ones, and such as end or start
    at a multiple of 4 KiB."""
    requests = []
    for _ in range(count):
        beats = generator.choice([1, 2, generator.randint(1, 8), generator.randint(1, longest)])
        place = generator.randrange(size // width)
        if generator.random() < 0.3:
            place = place // (4096 // width) * (4096 // width) - generator.choice([0, 1, beats])
        place = max(0, min(place, size // width - beats))
        requests.append(Request(base + place * width, beats))
    return requests


def draw_data(generator: random.Random, beats: int, width: int) -> list[tuple[int, int]]:
    """Values and strobes of beats to write: all bytes, some, or none."""
    full = (1 << width) - 1
    return [
        (
            generator.getrandbits(8 * width),
            generator.choice([full, full, generator.getrandbits(width)]),
        )
        for _ in range(beats)
    ]
