"""The entries of two sparse tensors, merged: where both have one, or any."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ....hw.spec.t2s.sparse_parts import SparsePlan
from .decoding import Decoded

__all__ = ["merged"]

Ints = npt.NDArray[np.int64]


def merged(plan: SparsePlan, images: tuple[Decoded, ...], pad: int) -> Decoded:
    """What an element has of its tensors: of one, its entries; of two, those of places where both
    have one ("intersection"), or any ("union"), with a word of each.

    Parameters
    ----------
    pad: the word of a tensor that has no entry in a place

    Raises ValueError for tensors whose tiles are not the same, or whose entries do not ascend.
    """
    if len(images) == 1:
        return images[0]
    a, b = images
    names = " and ".join(part.tensor for part in plan.entries)
    if a.trips != b.trips:
        raise ValueError(f"images of {names} must have the same tiles, not {a.trips} and {b.trips}")
    keys = [_keys(plan, one) for one in images]
    for part, one in zip(plan.entries, keys, strict=True):
        if (one[1:] <= one[:-1]).any():
            raise ValueError(f"image of {part.tensor} must have entries that ascend")
    both = np.intersect1d if plan.merge == "intersection" else np.union1d
    places = both(*keys)
    words = np.full((2, len(places)), pad, np.uint64)
    there = np.zeros((2, len(places)), np.bool_)
    for row, key, image, found in zip(words, keys, images, there, strict=True):
        found[:] = np.isin(places, key, assume_unique=True)
        row[found] = image.words[0, np.searchsorted(key, places[found])]
    only_b = ~there[0]

    def of_either(first: Ints, second: Ints) -> Ints:
        found = np.empty(len(places), np.int64)
        found[there[0]] = first[np.searchsorted(keys[0], places[there[0]])]
        found[only_b] = second[np.searchsorted(keys[1], places[only_b])]
        return found

    return replace(
        a,
        tiles=of_either(a.tiles, b.tiles),
        elements=of_either(a.elements, b.elements),
        slots=of_either(a.slots, b.slots),
        coordinates={
            name: of_either(one, b.coordinates[name]) for name, one in a.coordinates.items()
        },
        words=words,
        there=there if plan.merge == "union" else None,
    )


def _keys(plan: SparsePlan, image: Decoded) -> Ints:
    """A number of each entry, by tile, element, and the loops within."""
    layout = plan.entries[0].layout
    loops = {one.loop: (image.coordinates[one.index], one.extent) for one in layout.coordinates}
    found = image.tiles * plan.rows.element_extent + image.elements
    for loop in plan.order:
        numbers, extent = loops.get(loop, (image.slots, plan.rows.slot_extent))
        found = found * extent + numbers
    return found
