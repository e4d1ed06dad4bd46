"""Decodes the image of a sparse operand as the elements do."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from ....hw.spec.t2s.sparse_parts import EntriesPart, RowLoops
from .token_bytes import field_of


def tile_ends(trips: tuple[int, ...]) -> npt.NDArray[np.uint64]:
    """Returns the ``ends`` of the token after each tile, whose levels have so many iterations,
    outermost first. Bit n: level n ends, since all levels inside it are in their last iteration."""
    found = np.zeros(prod(trips), np.uint64)
    inside = 1
    for level, count in reversed(list(enumerate(trips))):
        found[inside - 1 :: inside] |= np.uint64(1 << level)
        inside *= count
    return found


Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Decoded:
    """The entries of an image, tile by tile, in each element by element, in their order.

    Parameters
    ----------
    trips: iterations of each level
    tiles: of each entry, its tile's number among all
    elements: on which it is
    slots: its row there
    coordinates: by index, its place within the tile
    words: container words, of each tensor in a row of its own
    there: whether they are, where some may not be
    """

    trips: dict[str, int]
    tiles: Ints
    elements: Ints
    slots: Ints
    coordinates: dict[str, Ints]
    words: Words
    there: Bools | None = None

    def __len__(self) -> int:
        return len(self.tiles)

    def level(self, name: str) -> Ints:
        """Returns the iteration of a level for each entry."""
        numbers = np.unravel_index(self.tiles, tuple(self.trips.values()))
        return numbers[list(self.trips).index(name)].astype(np.int64)

    def rows(self, rows: RowLoops) -> Ints:
        """Returns the row of each entry."""
        inside = self.slots * rows.slot_step + self.elements * rows.element_step
        return self.level(rows.index) * rows.tile + inside

    def numbers(self, index: str, extent: int) -> Ints:
        """Returns the value of an index for each entry; ``extent``: that of its tiles."""
        return self.level(index) * extent + self.coordinates[index]


def decoded(part: EntriesPart, content: Bytes) -> Decoded:
    """The entries of an image's vectors, of their bytes.

    Raises ValueError for vectors that are none of a tensor: ends that elements do not share, none
    behind the last tile, levels that do not go round as often each time, places and rows that there
    are not.
    """
    layout, name = part.layout, part.tensor
    tokens = content.reshape(-1, part.elements, layout.bytes)
    present = field_of(layout, tokens, "present").astype(np.bool_)
    ends = np.where(present, np.uint64(0), field_of(layout, tokens, "ends"))
    _check(name, present, ends)
    closes = ends[:, 0] != 0
    trips = _trips(name, layout.levels, ends[closes, 0])
    tile_of = np.cumsum(closes) - closes
    vectors, elements = np.nonzero(present)
    order = np.lexsort((vectors, elements, tile_of[vectors]))
    vectors, elements = vectors[order], elements[order]
    taken = tokens[vectors, elements]
    slots = field_of(layout, taken, "slot").astype(np.int64)
    if (slots >= layout.slots).any():
        raise ValueError(f"image of {name} must have slots below {layout.slots}, not {slots.max()}")
    coordinates = {}
    for one in layout.coordinates:
        at = field_of(layout, taken, f"at_{one.index}").astype(np.int64)
        if (at >= one.extent).any():
            raise ValueError(
                f"image of {name} must have places of {one.index} below {one.extent}, not "
                f"{at.max()}"
            )
        coordinates[one.index] = at
    return Decoded(
        trips=trips,
        tiles=tile_of[vectors],
        elements=elements,
        slots=slots,
        coordinates=coordinates,
        words=field_of(layout, taken, "value")[np.newaxis],
    )


def _check(name: str, present: npt.NDArray[np.bool_], ends: Words) -> None:
    if (ends != ends[:, :1]).any() or (present.any(axis=1) & (ends != 0).any(axis=1)).any():
        raise ValueError(f"image of {name} must have the same ends for all elements")
    if len(ends) == 0 or not ends[-1, 0]:
        raise ValueError(f"image of {name} must end with the end of a tile")


def _trips(name: str, levels: tuple[str, ...], ends: npt.NDArray[np.uint64]) -> dict[str, int]:
    """Iterations of each level, from which of them end with each tile."""
    counts = [
        int(np.count_nonzero(ends >> np.uint64(number) & np.uint64(1)))
        for number in range(len(levels))
    ]
    trips = [inner // max(1, outer) for outer, inner in zip([1, *counts], counts, strict=False)]
    if prod(trips) != len(ends) or (tile_ends(tuple(trips)) != ends).any():
        raise ValueError(f"image of {name} must have tiles in loops of {', '.join(levels)}")
    return dict(zip(levels, trips, strict=True))
