"""Small readers, short traffic for them, and the cases that it is run under."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from ctypes import c_uint64, c_void_p
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from tilewright.hw.axi.block_reader import BlockReader
from tilewright.hw.axi.managers import ReadManager
from tilewright.hw.emit.unit import emit_component
from tilewright.verif.axi.exhaustive.arrays import Arrays
from tilewright.verif.axi.exhaustive.libraries import (
    BASES,
    NEVER,
    Library,
    Table,
    payloads,
    table_of,
)
from tilewright.verif.axi.exhaustive.spoilt_reader import SpoiltReader
from tilewright.verif.axi.routed_top import RoutedSizes, SupervisedReaders

__all__ = ["KINDS", "MODES", "ReaderKind", "cases", "library"]

_SIZES = {"addr_bits": 16, "data_bits": 16}
_LISTS = (
    # Over a boundary, a beat alone, two of them side by side, a whole burst.
    [[(2, 5), (9, 1), (10, 1), (12, 4)], [(7, 2), (16, 4), (23, 1)]],
    [[(102, 3), (107, 1), (113, 13)], [(108, 1), (110, 13)]],
)
"""By traffic and part, requests of (first beat, beats), in a region of the part's own."""

_CHANNELS = (
    # A lane's two parts, then the other's: channels that all name, one that none does, turns.
    [
        [(0, 2, 2), (1, 9, 1), (0, 10, 2), (1, 12, 4)],
        [(0, 7, 1), (0, 16, 4), (1, 20, 2), (0, 23, 1)],
        [(1, 1, 1), (1, 4, 2), (0, 8, 2), (1, 11, 1)],
        [(0, 3, 1), (1, 8, 1), (0, 10, 2), (1, 13, 1)],
    ],
    [[(1, 102, 2)], [(0, 106, 1), (1, 111, 1)], [(0, 100, 4), (0, 110, 1)], [(1, 101, 3)]],
)
"""Likewise, of (channel, first beat, beats)."""

_BLOCKS = ([[9, 10, 4, 5, 31, 16, 8]], [[100, 101, 90]])
"""Likewise, blocks of two beats."""

MODES = [(a, b) for a in (0, 1) for b in (0, 1)]
"""``one_read``, ``ready_after_valid``."""


@dataclass(frozen=True)
class ReaderKind:
    """Something that reads.

    Parameters
    ----------
    top: makes it
    constants: of the bench (see readers.cpp), but for those of :data:`_CONSTANTS`
    traffic: by number and part, requests: the payload, and channel and address of each beat
    word: beats of a word of data, and whether a word ends with ``last`` of its request
    """

    top: Callable[[], Any]
    constants: dict[str, int]
    traffic: Sequence[Sequence[Sequence[tuple[int, list[tuple[int, int]]]]]]
    word: tuple[int, bool] = (1, True)


_CONSTANTS = {
    "kParts": 1, "kChannels": 1, "kAddrBits": 16, "kDataBits": 16, "kBurstBeats": 4,
    "kOutstanding": 1, "kOwnerShift": 0, "kAlwaysReady": 1, "kExact": 0, "kErrorAfter": 1,
    "kLanes": 0,
}  # fmt: skip


def _burst(base: int, channel: int, first: int, beats: int) -> tuple[int, list[tuple[int, int]]]:
    """A request of a ``BurstReader``."""
    address = base + 2 * first
    return address | beats << 16, [(channel, address + 2 * beat) for beat in range(beats)]


def _routed(part: int, channel: int, first: int, beats: int) -> tuple[int, list[tuple[int, int]]]:
    """A request of an ``OrderedReader``, for a burst that crosses no boundary."""
    base = BASES[part & 1] & ~7 ^ part << 10
    _, places = _burst(base, channel, first, beats)
    return places[0][1] | beats - 1 << 16 | channel << 24, places


def _block(first: int) -> tuple[int, list[tuple[int, int]]]:
    """A request of a ``BlockReader``."""
    address = (BASES[0] & ~3) + 4 * first
    return address, [(0, address), (0, address + 2)]


def _manager() -> Any:
    sizes = {**_SIZES, "count_bits": 4, "burst_beats": 4, "buffer_beats": 8}
    return Arrays(ReadManager(2, id_bits=1, outstanding=2, **sizes))


KINDS = {
    "manager": ReaderKind(
        top=_manager,
        constants={"kParts": 2, "kIdBits": 1, "kOutstanding": 2, "kExact": 1},
        traffic=[
            [
                [_burst(base, 0, *request) for request in part]
                for base, part in zip(BASES, lists, strict=True)
            ]
            for lists in _LISTS
        ],
    ),
    "crossbar": ReaderKind(
        top=lambda: SupervisedReaders(
            RoutedSizes(lanes=2, channels=2, readers=2, outstanding=3, burst_beats=4, **_SIZES)
        ),
        constants={
            "kParts": 4, "kChannels": 2, "kIdBits": 4, "kOwnerShift": 2, "kAlwaysReady": 0,
            "kErrorAfter": 6, "kLanes": 2,
        },
        traffic=[
            [[_routed(part, *request) for request in found] for part, found in enumerate(lists)]
            for lists in _CHANNELS
        ],
    ),
    "blocks": ReaderKind(
        top=lambda: Arrays(BlockReader(block_beats=2, outstanding=3, **_SIZES)),
        constants={"kIdBits": 2, "kOwnerShift": 2, "kBurstBeats": 2},
        traffic=[[[_block(first) for first in part] for part in lists] for lists in _BLOCKS],
        word=(2, False),
    ),
}  # fmt: skip


@cache
def library(name: str = "manager", *, spoilt: bool = False) -> Library:
    """The library of a kind, with its traffic; ``spoilt``: of a ``SpoiltReader``."""
    kind = KINDS[name]
    top = SpoiltReader(kind.top()) if spoilt else kind.top()
    found = Library(emit_component(top, name="readers"), "readers", _CONSTANTS | kind.constants)
    beats_of_word, marked = kind.word
    for number, lists in enumerate(kind.traffic):
        for index, requests in enumerate(lists):
            content, size = payloads([payload for payload, _ in requests])
            places = [channel << 32 | at for _, beats in requests for channel, at in beats]
            last = [n == len(beats) - 1 for _, beats in requests for n in range(len(beats))]
            found.call(
                "words",
                number,
                index,
                content,
                c_uint64(size),
                c_uint64(len(requests)),
                c_void_p(np.array(places, np.uint64).ctypes.data),
                bytes(last),
                c_uint64(len(places)),
                c_uint64(beats_of_word),
                int(marked),
            )
    return found


def cases(
    *,
    ar: Iterable[Any],
    r: Iterable[Any] = ((1, 1, 1),),
    o: Iterable[Any] = ((1, 1, 1),),
    modes: Iterable[Any] = MODES,
    latency: Iterable[int] = (1,),
    order: Iterable[int] = (-1,),
    stops: Iterable[Any] = (NEVER,),
    bad: Iterable[int] = (-1,),
    patience: int,
) -> Table:
    """All combinations; see ``Case`` in readers.cpp. ``stops``: cycle, for how long, whether the
    second traffic begins with its end."""
    return table_of(ar, r, o, modes, latency, order, stops, bad, [patience])
