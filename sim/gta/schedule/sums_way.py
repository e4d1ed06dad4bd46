"""About how long the sums of segments take to memory, back, and to be added up."""

from __future__ import annotations

from ....hw.spec.gta import GtaConfig
from ....hw.spec.jobs.gta import beat_bytes
from ...timing.memories import FLAT
from ..tiles.images import StreamImage
from ..tiles.segment_sums import SegmentSums

__all__ = ["added_cycles", "last_tile"]

_WAY, _TURN, _LISTED = 57, 22, 12
"""Cycles there and back of a sum alone, of a memory that answers after 20; those of a turn of all
regions beside its operands and its work; those of the commands of an EXECUTE."""

_STORED, _LOADED, _WORKED, _WHOLE = 28, 18, 25, 32
"""What counts, of 32, of cycles that the last tiles are stored in, that operands are loaded in, and
that the array works: some of each lie beside others. Fitted, with those above, to jobs on the model
of cycles that equals the RTL."""


def added_cycles(
    config: GtaConfig,
    sums: SegmentSums,
    sizes: tuple[int, int],
    piece: int,
    last: tuple[int, int],
    worked: int,
) -> int:
    """Cycles from the end of the last EXECUTE of segments to the last one that adds up.

    Parameters
    ----------
    sizes: rows and columns of D
    piece: rows of it that lie together in memory
    last: rows and columns of the last tile of each segment, which nothing hides the STORE of
    worked: cycles of the array, operands on chip
    """
    m, n = sizes
    beat, count = beat_bytes(config), len(sums.regions)
    results = StreamImage(streams=n, count=m, piece=piece, element=sums.element, beat=beat)
    # A row is a burst, of which so many may be under way.
    least = (FLAT.latency + 8) / config.outstanding

    def moved(rows: int, elements: int) -> float:
        return rows * max(-(-elements * sums.element // beat), least)

    stored = sums.segments * moved(last[1], last[0])
    places = list(sums.places(results))
    loaded = sum(moved(place.cols * sums.segments, place.count) for place in places)
    loaded += min(count, len(places)) * moved(sums.cols, sums.ones.count)
    loaded += _LISTED * len(places)
    part = (_STORED * stored + _LOADED * loaded + _WORKED * worked) / _WHOLE
    return _WAY + int(part) + _TURN * -(-len(places) // count)


def last_tile(sizes: tuple[int, int], tile: tuple[int, int], *, lateral: bool) -> tuple[int, int]:
    """Rows and columns of the last of D's tiles, which go to and fro, rows first or columns."""
    down, across = (-(-size // each) for size, each in zip(sizes, tile, strict=True))
    # The last row of tiles ends where it began if there is an even number of them.
    if lateral:
        place = down - 1, across - 1 if down % 2 else 0
    else:
        place = down - 1 if across % 2 else 0, across - 1
    m, n = (min(each, size - at * each) for size, each, at in zip(sizes, tile, place, strict=True))
    return m, n
