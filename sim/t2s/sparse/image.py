"""Images of sparse operands: tokens as the host lays them out for a design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from ....hw.spec.t2s.sparse_parts import EntriesPart, SparsePlan
from .dealing import dealt, row_digits
from .decoding import tile_ends
from .entries import Entries
from .interleaving import interleaved
from .token_bytes import put_field, put_fields

__all__ = [
    "SparseImage",
    "laid_out_entries",
    "most_bytes",
    "row_places",
    "tile_count",
    "tile_steps",
]

Ints = npt.NDArray[np.int64]

_MOST_PARTS = 1 << 25
"""Entries of rows are told by tiles of the other indices if these are not more, times rows and
elements: they take time and memory."""


@dataclass(frozen=True, kw_only=True)
class SparseImage:
    """An operand as it lies in memory.

    Parameters
    ----------
    content: its bytes, whole beats
    steps: vectors of it
    """

    content: bytes
    steps: int


def row_places(plan: SparsePlan, bounds: Mapping[str, int], tensors: Sequence[Entries]) -> Ints:
    """Places each row: in loop order, or, for one tensor in "ciss", as assigned to the elements.

    Parameters
    ----------
    tensors: of the plan; dimensions are the levels' indices, in their order
    """
    if len(tensors) > 1 or plan.entries[0].style == "csr":
        return np.arange(bounds[plan.rows.index])
    (tensor,), part = tensors, np.zeros(len(tensors[0]), np.int64)
    parts = 1
    for column, (name, step) in zip(tensor.places.T, tile_steps(plan).items(), strict=True):
        if name == plan.rows.index:
            rows = column
        else:
            trips = -(-bounds[name] // step)
            part, parts = part * trips + column // step, parts * trips
    count = bounds[plan.rows.index]
    if count * plan.rows.element_extent * parts > _MOST_PARTS:
        part, parts = np.zeros_like(part), 1
    counts = np.bincount(rows * parts + part, minlength=count * parts)
    return dealt(plan.rows, counts.reshape(count, parts))


def tile_steps(plan: SparsePlan) -> dict[str, int]:
    """Returns the step of the index in an iteration of each level, in the order of levels."""
    layout = plan.entries[0].layout
    extents = {one.index: one.extent for one in layout.coordinates}
    return {name: extents.get(name, plan.rows.tile) for name in layout.levels}


def tile_count(plan: SparsePlan, bounds: Mapping[str, int]) -> int:
    """Tiles of a tensor."""
    return prod(-(-bounds[name] // step) for name, step in tile_steps(plan).items())


def most_bytes(
    plan: SparsePlan, part: EntriesPart, bounds: Mapping[str, int], entries: int, beat_bytes: int
) -> int:
    """Bytes of an image of so many entries at most: if one element has all of them."""
    return (tile_count(plan, bounds) + entries) * part.vector_bytes + beat_bytes


def laid_out_entries(
    plan: SparsePlan,
    part: EntriesPart,
    bounds: Mapping[str, int],
    entries: Entries,
    places: Ints,
    *,
    beat_bytes: int,
    apart: int = 1,
) -> SparseImage:
    """The image of an operand.

    Parameters
    ----------
    part: its loader
    bounds: of the indices
    entries: dimensions are the levels' indices, in their order
    places: of its rows, see :func:`row_places`
    apart: of "ciss" of one tensor: operations of an element from one with a sum to the next one
        with the same, at least, as far as there are other rows' to do
    """
    layout, rows, steps = part.layout, plan.rows, tile_steps(plan)
    trips = {name: -(-bounds[name] // step) for name, step in steps.items()}
    columns = dict(zip(steps, entries.places.T, strict=True))
    columns[rows.index] = places[columns[rows.index]]
    tile, slot, element = row_digits(rows, columns[rows.index])
    fields = {"slot": slot}
    digits = {rows.index: tile}
    for one in layout.coordinates:
        digits[one.index], fields[f"at_{one.index}"] = np.divmod(columns[one.index], one.extent)
    tiles = np.zeros(len(entries), np.int64)
    for name in steps:
        tiles = tiles * trips[name] + digits[name]
    deals = part.style == "ciss" and len(plan.entries) == 1
    order = np.lexsort([*_keys(plan, fields, by_rows=deals)[::-1], element, tiles])
    group = tiles * part.elements + element
    if not deals:
        apart = 1
    between = -(-apart // plan.element.ring_words)
    run_of_tiles = tiles // prod([trips[name] for name in list(steps)[1:]])
    # Tiles of one iteration of the outermost level follow each other on an element.
    if between > 1:
        order = order[np.lexsort((tiles[order], element[order], run_of_tiles[order]))]
    runs = run_of_tiles * part.elements + element
    at = interleaved(group[order], slot[order], runs[order], between)
    lengths = np.zeros((prod(trips.values()), part.elements), np.int64)
    np.add.at(lengths, (tiles, element), 1)
    last = np.cumsum(lengths.max(axis=1) + 1) - 1
    first = np.concatenate([[0], last[:-1] + 1])
    vectors = int(last[-1]) + 1
    size = -(-vectors * part.vector_bytes // beat_bytes) * beat_bytes
    content = np.zeros(size, np.uint8)
    tokens = content[: vectors * part.vector_bytes].reshape(-1, layout.bytes)
    where = (first[tiles[order]] + at) * part.elements + element[order]
    numbers = {name: values[order] for name, values in fields.items()}
    put_fields(layout, tokens, numbers, where, entries.words[order])
    ends = np.repeat(tile_ends(tuple(trips.values())), part.elements)
    behind = (last[:, np.newaxis] * part.elements + np.arange(part.elements)).ravel()
    put_field(layout, tokens, "ends", behind, ends)
    return SparseImage(content=content.tobytes(), steps=vectors)


def _keys(plan: SparsePlan, fields: Mapping[str, Ints], *, by_rows: bool) -> list[Ints]:
    """Returns the sort keys of a tile's entries, slowest first: in loop order, or row by row."""
    names = {one.loop: f"at_{one.index}" for one in plan.entries[0].layout.coordinates}
    order = [names.get(loop, "slot") for loop in plan.order]
    if by_rows:
        order = ["slot", *(one for one in order if one != "slot")]
    return [fields[name] for name in order]
