"""A product of integers whose K is cut into segments that run at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ....hw.spec.gta import FORMATS_OF_GTA, limbs
from ....hw.spec.jobs.gta import beat_bytes
from ....hw.spec.jobs.gta_commands import (
    MEMORIES,
    NARROWINGS,
    OPERATIONS,
    deal_of_limbs,
    deal_of_results,
    lane_words,
)
from .program import CommandList, merged
from .segment_sums import WIDTH, SegmentSums, Slot, Slots, StreamImage, SumsPlace, bank_words
from .tiled_product import TiledProduct
from .tiling import Tiling


class _Memories:
    """The slots in the memories of a region.

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


Words = npt.NDArray[np.uint64]


def segment_sizes(k: int, segments: int) -> tuple[int, ...]:
    """Equal ones, but for the last ones, which have one product less."""
    each, more = divmod(k, segments)
    return tuple(each + (part < more) for part in range(segments))


class SegmentedProduct:
    """The commands of a product, and where its operands lie in memory: as :class:`TiledProduct`,
    on as many regions as there are segments, which their sums leave through memory, to be added up
    by all of them.

    Parameters
    ----------
    tiling: tiles of the longest segment, on the first region
    k: products of a sum in all
    sums: how the segments' sums are added up
    narrow: what happens to sums of sums at last, one of ``NARROWINGS``
    use_c: whether there is a C

    Members
    -------
    images: by name
    """

    def __init__(
        self, tiling: Tiling, k: int, sums: SegmentSums, *, narrow: str, use_c: bool
    ) -> None:
        self._sums = sums
        self._sizes: Sequence[int] = segment_sizes(k, sums.segments)
        self._narrow = narrow
        problem = tiling.problem
        if narrow == "none" and problem.width == 4:
            # A sum of sums has twice the width.
            self._narrow = "truncate"
        self._parts = [
            TiledProduct(
                replace(tiling, problem=replace(problem, k=size), region=region),
                group=number,
                use_c=use_c and not number,
                apart=sums.segments,
            )
            for number, (size, region) in enumerate(zip(self._sizes, sums.regions, strict=True))
        ]
        partial = self._parts[0].images["d"]
        width = problem.width if narrow == "none" else problem.width // 2
        beat = beat_bytes(tiling.config)
        self.images: dict[str, StreamImage] = {}
        for number, part in enumerate(self._parts):
            self.images |= {f"{name}{number}": part.images[name] for name in ("a", "b")}
        if use_c:
            self.images["c"] = self._parts[0].images["c"]
        self.images["sums"] = replace(partial, streams=partial.streams * sums.segments, apart=1)
        self.images["ones"] = sums.ones
        self.images["d"] = StreamImage(
            streams=partial.streams,
            count=partial.count,
            piece=partial.piece,
            element=width,
            beat=beat,
        )

    def contents(self, a: Words, b: Words, c: Words | None) -> dict[str, Words]:
        """Returns the contents of the operands' images; C's elements are as wide as lanes' sums."""
        found, begin = {"ones": self._sums.weights()}, 0
        for number, (part, size) in enumerate(zip(self._parts, self._sizes, strict=True)):
            own = slice(begin, begin + size)
            taken = part.contents(a[:, own], b[own], None if number else c)
            found |= {name if name == "c" else f"{name}{number}": taken[name] for name in taken}
            begin += size
        return found

    def result(self, content: bytes) -> Words:
        """D, of what memory holds of its image."""
        return np.ascontiguousarray(np.swapaxes(self.images["d"].from_bytes(content), 0, 1))

    def steps(self, bases: Mapping[str, int], into: CommandList) -> Iterator[int]:
        """See :class:`TiledProduct`."""
        own = [self._bases(bases, number) for number in range(len(self._parts))]
        yield from merged(
            part.steps(each, into) for part, each in zip(self._parts, own, strict=True)
        )
        added = SegmentSumCommands(
            self._sums, sums=self.images["sums"], results=self.images["d"], narrow=self._narrow
        )
        yield from added.steps(bases, into)

    def _bases(self, bases: Mapping[str, int], number: int) -> dict[str, int]:
        """Returns the bases of a segment's images; its sums lie between those of the others."""
        own = {name: bases[f"{name}{number}"] for name in ("a", "b")}
        if "c" in bases and not number:
            own["c"] = bases["c"]
        own["d"] = bases["sums"] + number * self.images["sums"].stride
        return own
