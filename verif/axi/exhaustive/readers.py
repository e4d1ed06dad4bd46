"""A small ``ReadManager``, short traffic for it, and the cases that it is run under."""

from __future__ import annotations

from collections.abc import Iterable
from ctypes import c_uint64, c_void_p
from functools import cache
from typing import Any

import numpy as np
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

__all__ = ["MODES", "cases", "library"]

_PARTS, _OUTSTANDING = 2, 2
_SIZES = {"addr_bits": 16, "data_bits": 16, "count_bits": 4, "burst_beats": 4, "buffer_beats": 8}

_LISTS = (
    # Over a boundary, a beat alone, two of them side by side, a whole burst.
    [[(2, 5), (9, 1), (10, 1), (12, 4)], [(7, 2), (16, 4), (23, 1)]],
    [[(102, 3), (107, 1)], [(108, 1), (110, 13)]],
)
"""By traffic and part, requests of (first beat, beats), in a region of the part's own."""

MODES = [(a, b) for a in (0, 1) for b in (0, 1)]
"""``one_read``, ``ready_after_valid``."""


@cache
def library(*, spoilt: bool = False) -> Library:
    """The library, with its traffic; ``spoilt``: of a ``SpoiltReader``."""
    part = ReadManager(_PARTS, id_bits=1, outstanding=_OUTSTANDING, **_SIZES)
    constants = {
        "kParts": _PARTS, "kAddrBits": 16, "kDataBits": 16, "kIdBits": 1, "kBurstBeats": 4,
        "kOutstanding": _OUTSTANDING,
    }  # fmt: skip
    top: Any = SpoiltReader(Arrays(part)) if spoilt else Arrays(part)
    found = Library(emit_component(top, name="readers"), "readers", constants)
    for number, lists in enumerate(_LISTS):
        for index, requests in enumerate(lists):
            at = [(BASES[index] + 2 * first, beats) for first, beats in requests]
            content, size = payloads([address | beats << 16 for address, beats in at])
            places = [
                (address + 2 * beat, beat == beats - 1)
                for address, beats in at
                for beat in range(beats)
            ]
            addresses = np.array([address for address, _ in places], np.uint32)
            found.call(
                "words",
                number,
                index,
                content,
                c_uint64(size),
                c_uint64(len(at)),
                c_void_p(addresses.ctypes.data),
                bytes(last for _, last in places),
                c_uint64(len(places)),
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
