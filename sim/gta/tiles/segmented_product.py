"""A product of integers whose K is cut into segments that run at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ....hw.spec.jobs.gta import beat_bytes
from .command_list import CommandList
from .images import StreamImage
from .merged import merged
from .segment_sum_commands import SegmentSumCommands
from .segment_sums import SegmentSums
from .tiled_product import TiledProduct
from .tiling import Tiling

__all__ = ["SegmentedProduct", "segment_sizes"]

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
        """What the images of operands hold; of C elements as wide as the lanes' sums."""
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
        """Of a segment's images; its columns of sums lie between those of the others."""
        own = {name: bases[f"{name}{number}"] for name in ("a", "b")}
        if "c" in bases and not number:
            own["c"] = bases["c"]
        own["d"] = bases["sums"] + number * self.images["sums"].stride
        return own
