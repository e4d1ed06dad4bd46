"""A job with sparse operands: what elements find in memory, and what they make of it."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
import numpy.typing as npt

from ....hw.spec.t2s.config import T2sConfig
from ....hw.spec.t2s.design import Design
from ....hw.spec.t2s.sparse_parts import EntriesPart, SparsePlan
from ..job import Job, JobFailure
from .decoding import Decoded, decoded
from .image import tile_steps
from .merging import merged
from .operands import missing_word

__all__ = [
    "entries_bytes",
    "entries_of_images",
    "fetched_entries",
    "sparse_operations",
    "times_again",
]

Bytes = npt.NDArray[np.uint8]


def times_again(job: Job, part: EntriesPart) -> int:
    """How often an image is read."""
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
