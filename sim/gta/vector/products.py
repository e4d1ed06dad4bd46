"""A product of matrices by vectors as a list of commands."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from ....hw.spec.gta import BANKS, COLS, FORMATS_OF_GTA, element_bytes
from ....hw.spec.jobs.gta_commands import MEMORIES, OPERATIONS, lane_words
from ....hw.spec.jobs.gta_vector import OCTET, VECTOR_FUNCTIONS
from ..tiles.command_list import CommandList
from ..tiles.slots import Slot, Slots
from .tiling import PLANE_BYTES, VectorTiling

__all__ = ["VectorProduct"]


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
        lanes, (m, n, k) = tiling.config.lanes, tiling.sizes
        slots = {name: Slots(lane_words(tiling.config, name), tiling.slots) for name in MEMORIES}
        down, across = range(-(-m // OCTET)), range(0, n, COLS * lanes)
        places = product(down, across) if tiling.lateral else ((x, y) for y in across for x in down)
        needs: dict[str, int] = {}
        for row, col in places:
            columns = min(COLS * lanes, n - col)
            result = slots["result"].take((row, col))[0]
            needs = dict(result.used) | ({} if tiling.overlap else needs)
            tile = (row, col, columns)
            if tiling.use_c:
                rows = self._rows("c", bases, col, row, result, columns)
                needs |= {"load": self._load("result", rows, result, into)}
            for part in range(-(-k // tiling.k)):
                done = self._execute(tile, part, slots, needs, bases, into)
                # A part of the sums goes on from those before it.
                needs = {"execute": done}
            rows = self._rows("d", bases, col, row, result, columns)
            result.used = {"store": into.add("store", rows, behind=needs)}

    def _execute(
        self,
        tile: tuple[int, int, int],
        part: int,
        slots: Mapping[str, Slots],
        needs: Mapping[str, int],
        bases: Mapping[str, int],
        into: CommandList,
    ) -> int:
        """A part of the sums of a tile: an octet of each bank."""
        tiling, (row, col, columns) = self._tiling, tile
        depth = min(tiling.k, tiling.sizes[2] - part * tiling.k)
        left, fill_left = slots["left"].take((row, part))
        top, fill_top = slots["top"].take((col, part))
        planes = depth * element_bytes(tiling.format)
        if fill_left:
            # All banks have the same.
            rows = self._rows("a", bases, row, part, left, tiling.n, planes) | {"stride": 0}
            left.filled = {"load": self._load("left", rows, left, into)}
        if fill_top:
            rows = self._rows("b", bases, col, part, top, columns, planes)
            top.filled = {"load": self._load("top", rows, top, into)}
        loads = [x["load"] for x in (left.filled, top.filled, needs) if "load" in x]
        fields = {
            "operation": OPERATIONS.index("simd"),
            "format": FORMATS_OF_GTA.index(tiling.format),
            "function": tuple(VECTOR_FUNCTIONS).index("dot"),
            "time": 1,
            "chain": depth,
            "use_c": int(tiling.use_c or part > 0),
            "left_base": left.word,
            "top_base": top.word,
            "result_base": slots["result"].take((row, col))[0].word,
        }
        done = into.add("execute", fields, behind={**needs, "load": max(loads)})
        left.used = top.used = {"execute": done}
        return done

    def _rows(
        self,
        name: str,
        bases: Mapping[str, int],
        stream: int,
        piece: int,
        slot: Slot,
        rows: int,
        planes: int | None = None,
    ) -> dict[str, int]:
        """Pieces of streams, one to each bank."""
        image = self.images[name]
        return {
            "rows": rows,
            "row_bytes": (image.piece if planes is None else planes) * PLANE_BYTES,
            "base": bases[name] + image.offset(stream, piece),
            "stride": image.stride,
            "step": int(self._tiling.config.lanes > 1),
            "lanes": -(-rows // BANKS),
            "word": slot.word,
        }

    @staticmethod
    def _load(memory: str, rows: Mapping[str, int], slot: Slot, into: CommandList) -> int:
        fields = {**rows, "memory": MEMORIES.index(memory)}
        return into.add("load", fields, behind=slot.used)
