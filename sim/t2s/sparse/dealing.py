"""Assigns the rows of a sparse operand to elements, and to their slots and tiles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ....hw.spec.t2s.sparse_parts import RowLoops

__all__ = ["dealt", "row_digits"]

Ints = npt.NDArray[np.int64]


def row_digits(rows: RowLoops, places: Ints) -> tuple[Ints, Ints, Ints]:
    """Tile, slot and element of the rows at these places."""
    tile, inside = np.divmod(places, rows.tile)
    slot = inside // rows.slot_step % rows.slot_extent
    return tile, slot, inside // rows.element_step % rows.element_extent


def dealt(rows: RowLoops, counts: Ints) -> Ints:
    """The place of each row so that elements have as many entries as each other, as far as may be:
    steps of all tiles, each as long as its longest element, are few.

    Rows of like counts share a tile, or rows stay in their tiles, whichever takes fewer steps; in
    a tile the longest row goes first, to the element on which it makes the tiles' steps the fewest,
    of such to that with the fewest entries, that has a slot left. Rows that already lie as well
    stay where they are.

    Parameters
    ----------
    counts: entries of each row, (rows, tiles of the other indices)
    """
    stays = np.arange(len(counts))
    if rows.element_extent == 1:
        return stays
    longest_first = np.argsort(-counts.sum(axis=1), kind="stable")
    in_tiles = longest_first[np.argsort(longest_first // rows.tile, kind="stable")]
    choices = [stays, _in_order(rows, counts, in_tiles), _in_order(rows, counts, longest_first)]
    return min(choices, key=lambda places: _steps(rows, counts, places))


def _in_order(rows: RowLoops, counts: Ints, order: Ints) -> Ints:
    """Places of rows that come in an order, as many as a tile has to one tile after the other."""
    tiles, (_, parts) = -(-len(order) // rows.tile), counts.shape
    behind = tiles * rows.tile - len(order)
    lengths = np.pad(counts[order], [(0, behind), (0, 0)]).reshape(tiles, rows.tile, parts)
    load = np.zeros((tiles, rows.element_extent, parts), np.int64)
    total = np.zeros((tiles, rows.element_extent), np.int64)
    used = np.zeros_like(total)
    places = np.empty((tiles, rows.tile), np.int64)
    all_tiles = np.arange(tiles)
    # Steps are more than entries: what is compared is steps first, then entries, in one number.
    scale, full = int(lengths.sum()) + 1, np.iinfo(np.int64).max
    for number in range(rows.tile):
        # A row of each tile.
        then = load + lengths[:, number, np.newaxis]
        more = np.maximum(then - load.max(axis=1, keepdims=True), 0).sum(axis=2)
        cost = np.where(used < rows.slot_extent, more * scale + total, full)
        element = cost.argmin(axis=1)
        places[:, number] = used[all_tiles, element] * rows.slot_step + element * rows.element_step
        load[all_tiles, element] = then[all_tiles, element]
        total[all_tiles, element] += lengths[:, number].sum(axis=1)
        used[all_tiles, element] += 1
    places += all_tiles[:, np.newaxis] * rows.tile
    found = np.empty(len(order), np.int64)
    found[order] = places.ravel()[: len(order)]
    return found


def _steps(rows: RowLoops, counts: Ints, places: Ints) -> int:
    """Steps of all tiles."""
    tile, _, element = row_digits(rows, places)
    tiles = -(-len(counts) // rows.tile)
    load = np.zeros((tiles, rows.element_extent, counts.shape[1]), np.int64)
    np.add.at(load, (tile, element), counts)
    return int(load.max(axis=1).sum())
