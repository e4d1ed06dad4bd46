"""A product of any size as a list of commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ....hw.spec.gta import FORMATS_OF_GTA, ROWS, GtaConfig
from ....hw.spec.jobs.gta import beat_bytes
from ....hw.spec.jobs.gta_commands import (
    MEMORIES,
    NARROWINGS,
    OPERATIONS,
    deal_of_limbs,
    deal_of_results,
    lane_words,
)
from .program import CommandList
from .segment_sums import Slot, Slots, StreamImage
from .tiling import Tiling


@dataclass(frozen=True)
class Part:
    """Rows of a command: streams of an image, from one on, of one piece each, to lanes."""

    image: StreamImage
    stream: int
    streams: int
    piece: int
    elements: int
    first: int
    step: int
    lanes: int

    def address(self, base: int) -> int:
        """Returns the address of the first stream, where the image lies at ``base``."""
        return base + self.image.offset(self.stream, self.piece)


class TileParts:
    """The operands and results of a product's tiles, in memory and in the lanes.

    Parameters
    ----------
    tiling: its tiles
    width: bytes of a result in memory
    use_c: whether there is a C
    apart: so far apart lie streams of d, see :class:`StreamImage`

    Members
    -------
    images: of a (of WS by columns, else by rows), b (by columns), d and, if there is one, c (by
        columns)
    """

    def __init__(self, tiling: Tiling, *, width: int, use_c: bool, apart: int) -> None:
        self.tiling = tiling
        problem = tiling.problem
        beat = beat_bytes(tiling.config)
        element = problem.element
        ws = problem.operation == "ws"
        sizes = {"element": element, "beat": beat}
        piece = tiling.row_folds * ROWS if problem.floats else tiling.m
        self.images = {
            "a": StreamImage(streams=problem.k, count=problem.m, piece=tiling.m, **sizes)
            if ws
            else StreamImage(streams=problem.m, count=problem.k, piece=tiling.k, **sizes),
            "b": StreamImage(streams=problem.n, count=problem.k, piece=tiling.k, **sizes),
            "d": StreamImage(
                streams=problem.n,
                count=problem.m,
                piece=piece,
                element=width,
                beat=beat,
                apart=apart,
            ),
        }
        if use_c:
            self.images["c"] = StreamImage(
                streams=problem.n, count=problem.m, piece=piece, element=problem.width, beat=beat
            )

    def size(self, axis: int, tile: int) -> int:
        """Elements of a tile along M (0), N (1) or K (2)."""
        problem, tiling = self.tiling.problem, self.tiling
        whole = (problem.m, problem.n, problem.k)[axis]
        each = (tiling.m, tiling.n, tiling.k)[axis]
        return min(each, whole - tile * each)

    def left(self, tile: int, k: int) -> Iterator[Part]:
        """Yields the parts of A for the lanes at the left edge."""
        tiling, problem, region = self.tiling, self.tiling.problem, self.tiling.region
        image, across = self.images["a"], region.across
        m, depth = self.size(0, tile), self.size(2, k)
        if problem.operation == "ws":
            yield Part(image, k * tiling.k, depth, tile, m, region.first, across, region.rows)
        elif not problem.floats:
            yield Part(image, tile * tiling.m, m, k, depth, region.first, across, region.rows)
        else:
            for row, begin, count in self._rows_of_lanes(tile):
                yield Part(image, begin, count, k, depth, region.lane(row, 0), 1, 1)

    def top(self, tile: int, k: int) -> Part:
        """Returns the part of B for the lanes at the upper edge; in WS zeros fill the last fold."""
        tiling, region = self.tiling, self.tiling.region
        depth = self.size(2, k)
        if tiling.problem.operation == "ws":
            depth = -(-depth // region.array[0]) * region.array[0]
        first, count = tile * tiling.n, self.size(1, tile)
        return Part(self.images["b"], first, count, k, depth, region.first, 1, region.cols)

    def results(self, place: tuple[int, int], name: str) -> Iterator[Part]:
        """Yields the parts of C or D, at the lower edge or, of floats, in each row of lanes."""
        tiling, region, image = self.tiling, self.tiling.region, self.images[name]
        first, count = place[1] * tiling.n, self.size(1, place[1])
        if not tiling.problem.floats:
            lane = region.lane(region.rows - 1, 0)
            m = self.size(0, place[0])
            yield Part(image, first, count, place[0], m, lane, 1, region.cols)
            return
        for row, begin, m in self._rows_of_lanes(place[0]):
            piece = begin // image.piece
            yield Part(image, first, count, piece, m, region.lane(row, 0), 1, region.cols)

    def _rows_of_lanes(self, tile: int) -> Iterator[tuple[int, int, int]]:
        """Yields number, first row of A and row count of each row of lanes with rows of floats."""
        tiling = self.tiling
        each, m = tiling.row_folds * ROWS, self.size(0, tile)
        for row in range(tiling.region.rows):
            if row * each < m:
                yield row, tile * tiling.m + row * each, min(each, m - row * each)


Words = npt.NDArray[np.uint64]


class TiledProduct:
    """The commands of a product, and where its operands lie in memory.

    Tiles of D are done one after the other, their parts along K in ascending order. What a memory
    holds already is not loaded again.

    Parameters
    ----------
    tiling: its tiles
    group: the mask of its region's lanes
    narrow: one of ``NARROWINGS``
    use_c: whether there is a C
    apart: so far apart lie streams of d, see :class:`StreamImage`

    Members
    -------
    images: of a (of WS by columns, else by rows), b (by columns), d and, if there is one, c (by
        columns)
    """

    def __init__(
        self,
        tiling: Tiling,
        *,
        group: int = 0,
        narrow: str = "none",
        use_c: bool,
        apart: int = 1,
    ) -> None:
        self._tiling, self._group, self._narrow, self._use_c = tiling, group, narrow, use_c
        width = tiling.problem.width // (1 if narrow == "none" else 2)
        self._parts = TileParts(tiling, width=width, use_c=use_c, apart=apart)
        self.images = self._parts.images

    def contents(self, a: Words, b: Words, c: Words | None) -> dict[str, Words]:
        """Returns the contents of the operands' images; C's elements are as wide as lanes' sums."""
        ws = self._tiling.problem.operation == "ws"
        found = {"a": a.T if ws else a, "b": b.T}
        return found if c is None else {**found, "c": np.swapaxes(c, 0, 1)}

    def result(self, content: bytes) -> Words:
        """D, of what memory holds of its image."""
        return np.ascontiguousarray(np.swapaxes(self.images["d"].from_bytes(content), 0, 1))

    def steps(self, bases: Mapping[str, int], into: CommandList) -> Iterator[int]:
        """Add all commands to a list, some at a time: after each EXECUTE, and what goes before and
        behind it, about the cycles that it takes. Commands of others may come between steps.

        Parameters
        ----------
        bases: addresses of the images, by name
        """
        config: GtaConfig = self._tiling.config
        slots = {name: Slots(lane_words(config, name), self._tiling.slots) for name in MEMORIES}
        down, across, deep = self._tiling.counts
        for place in _places(down, across, lateral=self._tiling.problem.lateral):
            result = slots["result"].take(place)[0]
            self._begin(place, result, bases, into)
            for k in range(deep):
                done = self._execute(place, k, slots, bases, into)
                if k == deep - 1:
                    self._end(place, result, bases, into, done)
                yield max(self._tiling.execute_cycles, self._tiling.load_beats)

    def _begin(
        self, place: tuple[int, int], result: Slot, bases: Mapping[str, int], into: CommandList
    ) -> None:
        """C to where the sums will be, if there is one."""
        result.filled = {}
        if self._use_c:
            for part in self._parts.results(place, "c"):
                fields = {"memory": MEMORIES.index("result"), **self._result_rows(part, result)}
                fields |= {"base": part.address(bases["c"])}
                result.filled = {"load": into.add("load", fields, behind=result.used)}
        elif result.used:
            result.filled = dict(result.used)

    def _execute(
        self,
        place: tuple[int, int],
        k: int,
        slots: Mapping[str, Slots],
        bases: Mapping[str, int],
        into: CommandList,
    ) -> int:
        """One part of the sums of a tile; returns how many EXECUTEs have to be complete for it."""
        tiling = self._tiling
        result = slots["result"].take(place)[0]
        left, load_left = slots["left"].take((place[0], k))
        top, load_top = slots["top"].take((place[1], k))
        if load_left:
            rows = self._parts.left(place[0], k)
            self._load("left", rows, left, tiling.left_words, bases["a"], into)
        if load_top:
            cols = [self._parts.top(place[1], k)]
            self._load("top", cols, top, tiling.top_words, bases["b"], into)
        needs: dict[str, int] = {}
        for slot in (left, top, result):
            for kind, count in slot.filled.items():
                needs[kind] = max(count, needs.get(kind, 0))
        done = into.add("execute", self._folds(place, k, left, top, result), behind=needs)
        left.used, top.used, result.filled = {"execute": done}, {"execute": done}, {}
        return done

    def _folds(
        self, place: tuple[int, int], k: int, left: Slot, top: Slot, result: Slot
    ) -> dict[str, int]:
        """Returns the fields of an EXECUTE."""
        tiling, problem = self._tiling, self._tiling.problem
        rows, cols = tiling.region.array
        ws = problem.operation == "ws"
        m, n, depth = (self._parts.size(*each) for each in ((0, place[0]), (1, place[1]), (2, k)))
        if ws:
            row_folds = -(-depth // rows)
            last = depth - (row_folds - 1) * rows
        elif problem.floats:
            # Each row of lanes has rows of its own, the first ones the most.
            row_folds, last = -(-min(m, tiling.row_folds * ROWS) // ROWS), rows
        else:
            row_folds = -(-m * problem.limbs // rows)
            last = m * problem.limbs - (row_folds - 1) * rows
        col_folds = -(-n * problem.limbs // cols)
        return {
            "operation": OPERATIONS.index(problem.operation),
            "format": FORMATS_OF_GTA.index(problem.format),
            "group": self._group,
            "use_c": int(k > 0 or self._use_c),
            "lateral": int(problem.lateral),
            "overlap": int(problem.overlap),
            "result_size": problem.width.bit_length() - 3,
            "rows_last": last,
            "row_folds": row_folds,
            "col_folds": col_folds,
            "time": m if ws else depth,
            "left_base": left.word,
            "left_stride": tiling.left_words if row_folds > 1 else 0,
            "top_base": top.word,
            "top_stride": tiling.top_words if col_folds > 1 else 0,
            "result_base": result.word,
            "result_stride": tiling.result_words if col_folds > 1 else 0,
        }

    def _end(
        self,
        place: tuple[int, int],
        result: Slot,
        bases: Mapping[str, int],
        into: CommandList,
        done: int,
    ) -> None:
        """The results of a tile to memory, when its last EXECUTE is complete."""
        behind = {"execute": done}
        for part in self._parts.results(place, "d"):
            fields = self._result_rows(part, result)
            fields |= {
                "base": part.address(bases["d"]),
                "narrow": NARROWINGS.index(self._narrow),
            }
            result.used = {"store": into.add("store", fields, behind=behind)}
        result.tile = None

    def _rows(self, part: Part, slot: Slot, words: int) -> dict[str, int]:
        """Returns the fields that LOADs and STOREs share."""
        return {
            "rows": part.streams,
            "stride": part.image.stride,
            "first": part.first,
            "step": part.step,
            "lanes": part.lanes,
            "word": slot.word,
            "words": words,
        }

    def _result_rows(self, part: Part, slot: Slot) -> dict[str, int]:
        problem = self._tiling.problem
        return {
            **self._rows(part, slot, self._tiling.result_words),
            "deal": deal_of_results(problem.format, problem.width),
            "row_bytes": part.elements * problem.width,
        }

    def _load(
        self,
        memory: str,
        parts: Iterable[Part],
        slot: Slot,
        words: int,
        base: int,
        into: CommandList,
    ) -> None:
        """Fill a slot of a memory that feeds the array."""
        problem = self._tiling.problem
        whole = problem.floats or (memory == "left" and problem.operation == "ws")
        for part in parts:
            fields = {
                **self._rows(part, slot, words),
                "memory": MEMORIES.index(memory),
                "deal": 0 if whole else deal_of_limbs(problem.format),
                "row_bytes": part.elements * problem.element,
                "base": part.address(base),
            }
            slot.filled = {"load": into.add("load", fields, behind=slot.used)}


def _places(down: int, across: int, *, lateral: bool) -> Iterator[tuple[int, int]]:
    """Tiles of D, along its rows first or along its columns; each turns back at its end."""
    outer, inner = (down, across) if lateral else (across, down)
    for one in range(outer):
        for other in range(inner):
            back = inner - 1 - other if one % 2 else other
            yield (one, back) if lateral else (back, one)
