"""Sums of segments of K, added up by the array: each is multiplied by one.

The partial sums of a result, one a segment, are in memory. They come back as operands of the format
that is as wide as they are, in WS: along the rows the segments of some columns of D, along the
columns these columns of D, and the weights are ones where both are of the same column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ....hw.spec.gta import FORMATS_OF_GTA, LEFT_WORD_BYTES, GtaConfig, is_float, limbs
from ....hw.spec.jobs.gta import beat_bytes
from ....hw.spec.jobs.gta_commands import (
    MEMORIES,
    NARROWINGS,
    OPERATIONS,
    deal_of_limbs,
    deal_of_results,
    lane_words,
)
from ..regions import Region
from .command_list import CommandList
from .images import StreamImage
from .slots import Slot, Slots

__all__ = ["SegmentSums", "format_of_sums", "segment_sums"]

_WIDTH = 8
"""Bytes of a sum of sums in the lanes."""


def format_of_sums(config: GtaConfig, width: int) -> str | None:
    """The format as which sums of so many bytes are operands; None if there is none."""
    name = {4: "int32", 8: "int64"}.get(width)
    return name if name in config.integers else None


@dataclass(frozen=True, kw_only=True)
class SegmentSums:
    """How partial sums are added up.

    Parameters
    ----------
    config: see :class:`GtaConfig`
    segments: partial sums of a result
    format: of them
    regions: where; the mask of each is its number
    cols: columns of D that are added up by an EXECUTE
    most: results of a column that an EXECUTE adds up at most
    slots: parts of the memories that operands and results take turns in
    """

    config: GtaConfig
    segments: int
    format: str
    regions: tuple[Region, ...]
    cols: int
    most: int
    slots: int

    @property
    def rows(self) -> int:
        """Rows that the array needs."""
        return self.cols * self.segments

    @property
    def row_folds(self) -> int:
        """Folds of rows of an EXECUTE."""
        return -(-self.rows // self.regions[0].array[0])

    @property
    def ones(self) -> StreamImage:
        """Of the weights, by columns."""
        depth = self.row_folds * self.regions[0].array[0]
        element = _element(self.format)
        beat = beat_bytes(self.config)
        return StreamImage(streams=self.cols, count=depth, piece=depth, element=element, beat=beat)

    def weights(self) -> npt.NDArray[np.uint64]:
        """What ``ones`` holds."""
        found = np.zeros((self.cols, self.ones.count), np.uint64)
        for col in range(self.cols):
            found[col, col * self.segments : (col + 1) * self.segments] = 1
        return found

    def cycles(self, rows: int, cols: int) -> int:
        """About how many cycles it takes to add up the results of ``rows`` x ``cols``: of the array
        or of the bus, and of the way to memory and back."""
        beat = beat_bytes(self.config)
        count = -(-cols // self.cols) * -(-rows // self.most)
        each = max(min(rows, self.most) * limbs(self.format), 2 * self.regions[0].array[0])
        worked = -(-count // len(self.regions)) * self.row_folds * each
        moved = (self.segments + 1) * cols * -(-rows * _element(self.format) // beat)
        return max(worked, moved) + _RETURN

    def steps(
        self,
        sums: StreamImage,
        results: StreamImage,
        narrow: str,
        bases: Mapping[str, int],
        into: CommandList,
    ) -> Iterator[int]:
        """Add the commands, region after region in turn; they begin when all that was stored so far
        is in memory. Yields about the cycles of each.

        Parameters
        ----------
        sums: all partial sums, those of a column of D behind each other; as many a piece as of
            ``results``
        results: D, by columns
        narrow: one of ``NARROWINGS``, of the results
        bases: addresses of "sums", "ones" and "d"
        """
        stored = {"store": into.count["store"]}
        made = [_Memories(self.config, self.slots, stored) for _ in self.regions]
        for turn, place in enumerate(self._places(results)):
            number = turn % len(self.regions)
            yield self._add(number, made[number], place, (sums, results), narrow, bases, into)

    def _places(self, results: StreamImage) -> Iterator[tuple[int, int, int, int]]:
        """First column, piece, first result in it, and how many."""
        for first in range(0, results.streams, self.cols):
            for piece in range(results.pieces):
                size = min(results.piece, results.count - piece * results.piece)
                for begin in range(0, size, self.most):
                    yield first, piece, begin, min(self.most, size - begin)

    def _add(
        self,
        number: int,
        memories: _Memories,
        place: tuple[int, int, int, int],
        images: tuple[StreamImage, StreamImage],
        narrow: str,
        bases: Mapping[str, int],
        into: CommandList,
    ) -> int:
        """A LOAD, an EXECUTE and a STORE, behind a LOAD of the ones before the first."""
        first, piece, begin, count = place
        sums, results = images
        region, ones, element = self.regions[number], self.ones, _element(self.format)
        cols = min(self.cols, results.streams - first)
        left, result = memories.left.take(place)[0], memories.result.take(place)[0]
        top = memories.top
        if not top.filled:
            fields = {
                "memory": MEMORIES.index("top"),
                "deal": deal_of_limbs(self.format),
                "rows": self.cols,
                "row_bytes": ones.count * element,
                "base": bases["ones"],
                "stride": ones.stride,
                **_lanes(region.first, 1, region.cols),
                "word": top.word,
                "words": _words(ones.count),
            }
            top.filled = {"load": into.add("load", fields, behind=memories.begin)}
        fields = {
            "memory": MEMORIES.index("left"),
            "deal": 0,
            "rows": cols * self.segments,
            "row_bytes": count * element,
            "base": bases["sums"] + sums.offset(first * self.segments, piece) + begin * element,
            "stride": sums.stride,
            **_lanes(region.first, region.across, region.rows),
            "word": left.word,
            "words": _words(count * element),
        }
        loaded = into.add("load", fields, behind=left.used or memories.begin)
        # Rows of elements behind the last column's are zeros.
        row_folds = -(-cols * self.segments // region.array[0])
        fields = {
            "operation": OPERATIONS.index("ws"),
            "format": FORMATS_OF_GTA.index(self.format),
            "group": number,
            "lateral": 1,
            "overlap": 1,
            "result_size": _WIDTH.bit_length() - 3,
            "rows_last": cols * self.segments - (row_folds - 1) * region.array[0],
            "row_folds": row_folds,
            "col_folds": 1,
            "time": count,
            "left_base": left.word,
            "left_stride": _words(count * element) if row_folds > 1 else 0,
            "top_base": top.word,
            "result_base": result.word,
        }
        behind = {"load": max(loaded, top.filled["load"]), **result.used}
        done = into.add("execute", fields, behind=behind)
        left.used = {"execute": done}
        fields = {
            "deal": deal_of_results(self.format, _WIDTH),
            "narrow": NARROWINGS.index(narrow),
            "rows": cols,
            "row_bytes": count * _WIDTH,
            "base": bases["d"] + results.offset(first, piece) + begin * results.element,
            "stride": results.stride,
            **_lanes(region.lane(region.rows - 1, 0), 1, region.cols),
            "word": result.word,
            "words": _result_words(count, self.format),
        }
        result.used = {"store": into.add("store", fields, behind={"execute": done})}
        return row_folds * count * limbs(self.format)


_RETURN = 100
"""Cycles from the end of the last partial sum to the first result, about."""


class _Memories:
    """Of a region: what is where.

    Parameters
    ----------
    begin: what has to be complete before they are written
    """

    def __init__(self, config: GtaConfig, slots: int, begin: dict[str, int]) -> None:
        self.begin = begin
        self.left = Slots(lane_words(config, "left"), slots)
        self.result = Slots(lane_words(config, "result") // 2 * 2, slots)
        self.top = Slot(0)


def segment_sums(
    config: GtaConfig, segments: int, width: int, regions: Sequence[Region]
) -> SegmentSums | None:
    """How partial sums of so many bytes are added up; None if the device has no format for them,
    or memories too small."""
    name = format_of_sums(config, width)
    if name is None:
        return None
    rows, cols = regions[0].array
    element, beat = _element(name), beat_bytes(config)
    for slots in (2, 1):
        left, result = (lane_words(config, side) // slots for side in ("left", "result"))
        # A part of a column begins with a beat, also of results of 4 bytes.
        step = beat // 4
        made = SegmentSums(
            config=config,
            segments=segments,
            format=name,
            regions=tuple(regions),
            cols=min(max(1, rows // segments), cols // limbs(name)),
            most=step,
            slots=slots,
        )
        if made.ones.count // LEFT_WORD_BYTES > lane_words(config, "top"):
            return None
        most = 0
        while (
            made.row_folds * _words((most + step) * element) <= left
            and _result_words(most + step, name) <= result // 2 * 2
        ):
            most += step
        if most:
            return SegmentSums(**{**vars(made), "most": most})
    return None


def _element(name: str) -> int:
    assert not is_float(name)
    return limbs(name)


def _lanes(first: int, step: int, count: int) -> dict[str, int]:
    return {"first": first, "step": step, "lanes": count}


def _words(count: int) -> int:
    return -(-count // LEFT_WORD_BYTES)


def _result_words(count: int, name: str) -> int:
    """Words of a bank with so many results of a column, an even number."""
    return -(-_words(-(-count // limbs(name)) * _WIDTH) // 2) * 2
