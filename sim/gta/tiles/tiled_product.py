"""A product of any size as a list of commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from ....hw.spec.gta import FORMATS_OF_GTA, ROWS, GtaConfig
from ....hw.spec.jobs.gta_commands import (
    MEMORIES,
    NARROWINGS,
    OPERATIONS,
    deal_of_limbs,
    deal_of_results,
    lane_words,
)
from .command_list import CommandList
from .slots import Slot, Slots
from .tile_parts import Part, TileParts
from .tiling import Tiling

__all__ = ["TiledProduct"]

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
        """What the images of operands hold; of C elements as wide as the lanes' sums."""
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
        """What an EXECUTE says."""
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
        """What LOADs and STOREs say alike."""
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
