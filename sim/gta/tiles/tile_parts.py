"""Of which streams in memory the tiles of a product consist, and to which lanes they go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....hw.spec.gta import ROWS
from ....hw.spec.jobs.gta import beat_bytes
from .images import StreamImage
from .tiling import Tiling

__all__ = ["Part", "TileParts"]


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
        """Of the first of them, where the image lies at ``base``."""
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
        """Of A: to the lanes at the left edge."""
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
        """Of B: to the lanes at the upper edge; of WS zeros fill the last fold up."""
        tiling, region = self.tiling, self.tiling.region
        depth = self.size(2, k)
        if tiling.problem.operation == "ws":
            depth = -(-depth // region.array[0]) * region.array[0]
        first, count = tile * tiling.n, self.size(1, tile)
        return Part(self.images["b"], first, count, k, depth, region.first, 1, region.cols)

    def results(self, place: tuple[int, int], name: str) -> Iterator[Part]:
        """Of C or D: of the lanes at the lower edge, or of floats in each row of lanes."""
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
        """Of floats, of each row of lanes that has some: the first row of A, and how many."""
        tiling = self.tiling
        each, m = tiling.row_folds * ROWS, self.size(0, tile)
        for row in range(tiling.region.rows):
            if row * each < m:
                yield row, tile * tiling.m + row * each, min(each, m - row * each)
