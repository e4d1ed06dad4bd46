"""Runs a job with sparse operands: decodes their images, and computes the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import numpy.typing as npt

from ....hw.spec.t2s.arithmetic import pad_pattern
from ....hw.spec.t2s.config import T2sConfig
from ....hw.spec.t2s.design import Design
from ....hw.spec.t2s.sparse_parts import EntriesPart, SparsePlan
from ....hw.spec.t2s.timing import entry_timing
from ..job import Job, JobFailure
from ..sizes import walked_indices
from .decoding import Decoded, decoded
from .entries import Entries
from .image import SparseImage, laid_out_entries, row_places, tile_steps


@dataclass(frozen=True, kw_only=True, eq=False)
class SparseOperands:
    """Images and places of all sparse operands of a job.

    Parameters
    ----------
    images: by tensor
    places: where each row lies, of them and of the result; none of a design without them
    bounds: of indices, that of rows up to a whole tile: rows may lie anywhere there
    """

    images: Mapping[str, SparseImage]
    places: npt.NDArray[np.int64]
    bounds: Mapping[str, int]

    @property
    def steps(self) -> dict[str, int]:
        """Vectors of tokens, by tensor."""
        return {name: image.steps for name, image in self.images.items()}

    def put_back(self, design: Design, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """The result, of what elements make of all rows up to a whole tile."""
        plan, program = design.sparse, design.program
        if plan is None:
            return words
        axis = walked_indices(program.tensor(program.result).dimensions).index(plan.rows.index)
        found: npt.NDArray[np.uint64] = np.take(words, self.places, axis=axis)
        return found


def missing_word(design: Design, tensor: str) -> int:
    """The pattern of a sparse tensor's words where it has no entry."""
    return pad_pattern((), design.program.tensor(tensor).pad, design.word_format(tensor))


def laid_out_operands(
    design: Design,
    bounds: Mapping[str, int],
    entries: Mapping[str, Entries],
    beat_bytes: int,
) -> SparseOperands:
    """The images of tensors. Of a design without sparse operands there are none, and rows stay.

    Parameters
    ----------
    bounds: of all indices
    entries: of all sparse tensors, dimensions as the tensors have them
    """
    plan = design.sparse
    if plan is None:
        return SparseOperands(images={}, places=np.zeros(0, np.int64), bounds=bounds)
    levels, turned = list(tile_steps(plan)), {}
    for name, one in entries.items():
        indices = walked_indices(design.program.tensor(name).dimensions)
        turned[name] = one.transposed(tuple(indices.index(level) for level in levels))
    rows = plan.rows
    places = row_places(plan, bounds, [turned[part.tensor] for part in plan.entries])
    apart = entry_timing(plan.element).again
    images = {
        part.tensor: laid_out_entries(
            plan, part, bounds, turned[part.tensor], places, beat_bytes=beat_bytes, apart=apart
        )
        for part in plan.entries
    }
    whole = -(-bounds[rows.index] // rows.tile) * rows.tile
    return SparseOperands(images=images, places=places, bounds={**bounds, rows.index: whole})


Ints = npt.NDArray[np.int64]


def merged(plan: SparsePlan, images: tuple[Decoded, ...], pad: int) -> Decoded:
    """Merges the entries of an element's tensors. One tensor keeps its entries; two are merged at
    the places where both have one ("intersection"), or any ("union"), with a word of each.

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


Bytes = npt.NDArray[np.uint8]


def times_again(job: Job, part: EntriesPart) -> int:
    """Number of times that an image is read."""
    return prod(one.extent or job.trips[one.name] for one in part.again)


def entries_bytes(config: T2sConfig, job: Job, part: EntriesPart) -> int:
    """Bytes of an image, whole beats."""
    beat = config.beat_bytes
    return -(-job.steps[part.tensor] * part.vector_bytes // beat) * beat


def sparse_operations(job: Job, plan: SparsePlan, entries: Decoded) -> int:
    """Operations of the last element."""
    mine = int(np.count_nonzero(entries.elements == plan.rows.element_extent - 1))
    return mine * plan.element.ring_words * times_again(job, plan.entries[0])


def fetched_entries(config: T2sConfig, plan: SparsePlan, job: Job, memory: Bytes) -> Decoded:
    """The entries of all images, as elements have them: patterns, merged.

    Raises JobFailure with "bus_read" and the address of the first beat that lies behind the
    memory's end, and ValueError for images that no tensors have, or that are of other bounds than
    the job's.
    """
    images = {}
    for part in plan.entries:
        base, size = job.base[part.tensor], entries_bytes(config, job, part)
        if base + size > len(memory):
            behind = len(memory) // config.beat_bytes * config.beat_bytes
            raise JobFailure("bus_read", max(base, behind))
        images[part.tensor] = memory[base : base + size].tobytes()
    return entries_of_images(config.plan, images, job.steps, job.trips)


def entries_of_images(
    design: Design,
    images: Mapping[str, bytes],
    steps: Mapping[str, int],
    trips: Mapping[str, int] | None = None,
) -> Decoded:
    """The entries of all images, as elements have them: patterns, merged.

    Parameters
    ----------
    images: by tensor
    steps: vectors of each
    trips: trip counts of indices, which images must have, where they are given

    Raises ValueError as :func:`fetched_entries`.
    """
    plan = design.sparse
    assert plan is not None
    found = []
    for part in plan.entries:
        content = np.frombuffer(images[part.tensor], np.uint8)
        found.append(decoded(part, content[: steps[part.tensor] * part.vector_bytes]))
        _check_trips(plan, trips or {}, part.tensor, found[-1].trips)
    fmt = plan.element.element.arithmetic.element
    shift = fmt.container_bits - fmt.bits
    pad = missing_word(design, plan.entries[0].tensor) << shift
    entries = merged(plan, tuple(found), pad)
    entries.words[:] >>= np.uint64(shift)
    return entries


def _check_trips(
    plan: SparsePlan, trips: Mapping[str, int], tensor: str, found: Mapping[str, int]
) -> None:
    for name in tile_steps(plan):
        if trips.get(name, found[name]) != found[name]:
            raise ValueError(
                f"image of {tensor} must have {trips[name]} tiles along {name}, as the "
                f"register says, not {found[name]}"
            )
