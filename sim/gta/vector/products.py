"""A product of matrices by vectors as a list of commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple

from ....hw.spec.gta import BANKS, FORMATS_OF_GTA, element_bytes
from ....hw.spec.jobs.gta_commands import MEMORIES, OPERATIONS, lane_words
from ....hw.spec.jobs.gta_vector import VECTOR_FUNCTIONS
from ..tiles.program import CommandList
from ..tiles.segment_sums import Slot, Slots
from .tiling import PLANE_BYTES, VectorTiling

__all__ = ["VectorProduct"]


class _Tile(NamedTuple):
    """A tile of D: its place, its groups of octets of rows (one for each row of lanes or each
    bank), and its columns."""

    row: int
    col: int
    groups: range
    columns: range


class VectorProduct:
    """The commands of a product; what a memory holds already is not loaded again.

    Parameters
    ----------
    tiling: its tiles

    Members
    -------
    images: the tiling's
    """

    def __init__(self, tiling: VectorTiling) -> None:
        self._tiling = tiling
        self.images = tiling.images

    def commands(self, bases: Mapping[str, int], into: CommandList) -> None:
        """Add all commands to a list; ``bases``: addresses of the images, by name."""
        tiling = self._tiling
        slots = {name: Slots(lane_words(tiling.config, name), tiling.slots) for name in MEMORIES}
        needs: dict[str, int] = {}
        for tile in self._tiles():
            result = slots["result"].take((tile.row, tile.col))[0]
            needs = dict(result.used) | ({} if tiling.overlap else needs)
            if tiling.use_c:
                for rows in self._results("c", tile, result, bases):
                    needs |= {"load": self._load("result", rows, result, into)}
            for part in range(tiling.counts[2]):
                done = self._execute(tile, part, slots, needs, bases, into)
                # A part of the sums goes on from those before it.
                needs = {"execute": done}
            for rows in self._results("d", tile, result, bases):
                result.used = {"store": into.add("store", rows, behind=needs)}

    def _tiles(self) -> Iterator[_Tile]:
        tiling = self._tiling
        down, across, _ = tiling.counts
        along_rows = product(range(down), range(across))
        along_cols = ((row, col) for col, row in product(range(across), range(down)))
        for row, col in along_rows if tiling.lateral else along_cols:
            spots, wide = tiling.spots, tiling.wide
            groups = range(row * spots, min((row + 1) * spots, tiling.groups))
            columns = range(col * wide, min((col + 1) * wide, tiling.sizes[1]))
            yield _Tile(row, col, groups, columns)

    def _execute(
        self,
        tile: _Tile,
        part: int,
        slots: Mapping[str, Slots],
        needs: Mapping[str, int],
        bases: Mapping[str, int],
        into: CommandList,
    ) -> int:
        """A part of the sums of a tile: a group of octets of each bank."""
        tiling = self._tiling
        depth = min(tiling.k, tiling.sizes[2] - part * tiling.k)
        left, fill_left = slots["left"].take((tile.row, part))
        top, fill_top = slots["top"].take((tile.col, part))
        planes = tiling.together * depth * element_bytes(tiling.format)
        images = self.images
        for lane, group, count in self._lanes(tile):
            if fill_left:
                base = bases["a"] + images["a"].offset(group, part)
                # All banks of a row of lanes have the same octets, or each has its own.
                stride = images["a"].stride if tiling.along else 0
                rows = self._rows(base, stride, planes, lane, count, left)
                left.filled = {"load": self._load("left", rows, left, into)}
            if fill_top:
                base = bases["b"] + images["b"].offset(tile.columns.start, part)
                stride = 0 if tiling.along else images["b"].stride
                rows = self._rows(base, stride, planes, lane, count, top)
                top.filled = {"load": self._load("top", rows, top, into)}
        loads = [x["load"] for x in (left.filled, top.filled, needs) if "load" in x]
        fields = {
            "operation": OPERATIONS.index("simd"),
            "format": FORMATS_OF_GTA.index(tiling.format),
            "function": tuple(VECTOR_FUNCTIONS).index("dot"),
            "time": tiling.together,
            "chain": depth,
            "use_c": int(tiling.use_c or part > 0),
            "left_base": left.word,
            "top_base": top.word,
            "result_base": slots["result"].take((tile.row, tile.col))[0].word,
        }
        done = into.add("execute", fields, behind={**needs, "load": max(loads)})
        left.used = top.used = {"execute": done}
        return done

    def _lanes(self, tile: _Tile) -> Iterator[tuple[int, int, int]]:
        """Rows of lanes, or all of them: the first lane, its first group of octets of rows, and how
        many banks have work."""
        if self._tiling.along:
            yield 0, tile.groups.start, len(tile.groups)
            return
        for row, group in enumerate(tile.groups):
            yield row * self._tiling.cols, group, len(tile.columns)

    def _results(
        self, name: str, tile: _Tile, slot: Slot, bases: Mapping[str, int]
    ) -> Iterator[dict[str, int]]:
        """Yields the rows of C or D of a tile that LOADs or STOREs transfer."""
        image = self.images[name]
        stride = image.piece_bytes if self._tiling.along else image.stride
        for lane, group, count in self._lanes(tile):
            base = bases[name] + image.offset(tile.columns.start, group)
            yield self._rows(base, stride, image.piece, lane, count, slot)

    def _rows(
        self, base: int, stride: int, planes: int, lane: int, count: int, slot: Slot
    ) -> dict[str, int]:
        """Octets, a group to each bank from a lane on."""
        return {
            "rows": count,
            "row_bytes": planes * PLANE_BYTES,
            "base": base,
            "stride": stride,
            "first": lane,
            "step": int(self._tiling.config.lanes > 1),
            "lanes": -(-count // BANKS),
            "word": slot.word,
        }

    @staticmethod
    def _load(memory: str, rows: Mapping[str, int], slot: Slot, into: CommandList) -> int:
        fields = {**rows, "memory": MEMORIES.index(memory)}
        return into.add("load", fields, behind=slot.used)
