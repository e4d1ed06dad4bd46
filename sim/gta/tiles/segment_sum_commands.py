"""The commands that add up the sums of segments of K."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ....hw.spec.gta import FORMATS_OF_GTA, limbs
from ....hw.spec.jobs.gta_commands import (
    MEMORIES,
    NARROWINGS,
    OPERATIONS,
    deal_of_limbs,
    deal_of_results,
    lane_words,
)
from .command_list import CommandList
from .images import StreamImage
from .segment_sums import WIDTH, SegmentSums, SumsPlace
from .slots import Slot, Slots, bank_words

__all__ = ["SegmentSumCommands"]


class _Memories:
    """Of a region: what is where.

    Parameters
    ----------
    begin: what has to be complete before they are written
    """

    def __init__(self, plan: SegmentSums, begin: dict[str, int]) -> None:
        self.begin = begin
        self.left = Slots(lane_words(plan.config, "left"), plan.slots)
        self.result = Slots(lane_words(plan.config, "result") // 2 * 2, plan.slots)
        self.top = Slot(0)


class SegmentSumCommands:
    """The commands of a plan, region after region in turn.

    Parameters
    ----------
    plan: how partial sums are added up
    sums: all of them, those of a column of D behind each other; as many a piece as of ``results``
    results: D, by columns
    narrow: one of ``NARROWINGS``, of the results
    """

    def __init__(
        self, plan: SegmentSums, *, sums: StreamImage, results: StreamImage, narrow: str
    ) -> None:
        self._plan, self._sums, self._results, self._narrow = plan, sums, results, narrow

    def steps(self, bases: Mapping[str, int], into: CommandList) -> Iterator[int]:
        """Add them to a list; they begin when all that was stored so far is in memory. Yields about
        the cycles of each EXECUTE.

        Parameters
        ----------
        bases: addresses of "sums", "ones" and "d"
        """
        plan, stored = self._plan, {"store": into.count["store"]}
        made = [_Memories(plan, stored) for _ in plan.regions]
        for turn, place in enumerate(plan.places(self._results)):
            number = turn % len(plan.regions)
            memories = made[number]
            top = memories.top
            if not top.filled:
                fields = self._ones(number, top, bases["ones"])
                top.filled = {"load": into.add("load", fields, behind=memories.begin)}
            left, result = memories.left.take(place)[0], memories.result.take(place)[0]
            fields = self._operands(number, place, left, bases["sums"])
            loaded = into.add("load", fields, behind=left.used or memories.begin)
            behind = {"load": max(loaded, top.filled["load"]), **result.used}
            folds = self._folds(number, place, left, top, result)
            done = into.add("execute", folds, behind=behind)
            left.used = {"execute": done}
            fields = self._stored(number, place, result, bases["d"])
            result.used = {"store": into.add("store", fields, behind={"execute": done})}
            yield folds["row_folds"] * place.count * limbs(plan.format)

    def _ones(self, number: int, top: Slot, base: int) -> dict[str, int]:
        """A LOAD of the weights, before a region's first EXECUTE."""
        plan, region, ones = self._plan, self._plan.regions[number], self._plan.ones
        return {
            "memory": MEMORIES.index("top"),
            "deal": deal_of_limbs(plan.format),
            "rows": plan.cols,
            "row_bytes": ones.count * plan.element,
            "base": base,
            "stride": ones.stride,
            **_lanes(region.first, 1, region.cols),
            "word": top.word,
            "words": bank_words(ones.count),
        }

    def _operands(self, number: int, place: SumsPlace, left: Slot, base: int) -> dict[str, int]:
        """A LOAD of partial sums."""
        plan, region, sums = self._plan, self._plan.regions[number], self._sums
        behind = sums.offset(place.first * plan.segments, place.piece) + place.begin * plan.element
        return {
            "memory": MEMORIES.index("left"),
            "deal": 0,
            "rows": place.cols * plan.segments,
            "row_bytes": place.count * plan.element,
            "base": base + behind,
            "stride": sums.stride,
            **_lanes(region.first, region.across, region.rows),
            "word": left.word,
            "words": bank_words(place.count * plan.element),
        }

    def _folds(
        self, number: int, place: SumsPlace, left: Slot, top: Slot, result: Slot
    ) -> dict[str, int]:
        """An EXECUTE; rows of elements behind the last column's are zeros."""
        plan, rows = self._plan, self._plan.regions[number].array[0]
        row_folds = -(-place.cols * plan.segments // rows)
        return {
            "operation": OPERATIONS.index("ws"),
            "format": FORMATS_OF_GTA.index(plan.format),
            "group": number,
            "lateral": 1,
            "overlap": 1,
            "result_size": WIDTH.bit_length() - 3,
            "rows_last": place.cols * plan.segments - (row_folds - 1) * rows,
            "row_folds": row_folds,
            "col_folds": 1,
            "time": place.count,
            "left_base": left.word,
            "left_stride": bank_words(place.count * plan.element) if row_folds > 1 else 0,
            "top_base": top.word,
            "result_base": result.word,
        }

    def _stored(self, number: int, place: SumsPlace, result: Slot, base: int) -> dict[str, int]:
        """A STORE of results."""
        plan, region, results = self._plan, self._plan.regions[number], self._results
        return {
            "deal": deal_of_results(plan.format, WIDTH),
            "narrow": NARROWINGS.index(self._narrow),
            "rows": place.cols,
            "row_bytes": place.count * WIDTH,
            "base": base + results.offset(place.first, place.piece) + place.begin * results.element,
            "stride": results.stride,
            **_lanes(region.lane(region.rows - 1, 0), 1, region.cols),
            "word": result.word,
            "words": plan.result_words(place.count),
        }


def _lanes(first: int, step: int, count: int) -> dict[str, int]:
    return {"first": first, "step": step, "lanes": count}
