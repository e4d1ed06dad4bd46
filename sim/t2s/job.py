"""A job of an array: its registers, and what it does to memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from math import prod

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import FloatFormat
from ...hw.spec.jobs.t2s import (
    base_register,
    entries_parts,
    image_parts,
    memory_parts,
    steps_register,
    stride_register,
    trips_register,
)
from ...hw.spec.t2s.config import T2sConfig
from ...hw.spec.t2s.loops import Loop
from ...hw.spec.t2s.parts import MemoryPart
from ...hw.spec.t2s.periods import walked_loops
from ...hw.spec.t2s.program import Program
from ...hw.spec.t2s.sparse_parts import STEPS_BITS
from .images import Image, image_of
from .sizes import check_padding, trip_count

__all__ = ["Job", "JobFailure", "fetched", "job_at", "outermost", "put", "run_count", "run_places"]

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]


class JobFailure(Exception):
    """A job that cannot end well: ``error``, and ``detail`` for ERROR_DETAIL."""

    def __init__(self, error: str, detail: int) -> None:
        super().__init__(f"{error}, detail {detail:#x}")
        self.error, self.detail = error, detail


@dataclass(frozen=True, kw_only=True)
class Job:
    """The job registers.

    Parameters
    ----------
    trips: trip counts of the indices' outermost loops
    base: addresses of images, by tensor
    strides: of dense ones, by tensor and loop
    steps: of sparse ones, vectors of tokens, by tensor
    """

    trips: Mapping[str, int]
    base: Mapping[str, int]
    strides: Mapping[str, Mapping[str, int]]
    steps: Mapping[str, int] = field(default_factory=dict)

    def registers(self, config: T2sConfig) -> dict[str, int]:
        """Returns the value of each register by name."""
        values = {trips_register(name): count for name, count in self.trips.items()}
        for one in image_parts(config):
            values[base_register(one)] = self.base[one.tensor]
        for entries in entries_parts(config):
            values[steps_register(entries)] = self.steps[entries.tensor]
        for part in memory_parts(config):
            for loop in part.strides:
                values[stride_register(part, loop)] = self.strides[part.tensor][loop]
        return values

    @classmethod
    def of_registers(cls, config: T2sConfig, values: Mapping[str, int]) -> Job:
        """The job that registers hold."""
        parts = memory_parts(config)
        return cls(
            trips={name: values[trips_register(name)] for name in config.plan.indices},
            base={one.tensor: values[base_register(one)] for one in image_parts(config)},
            strides={
                part.tensor: {loop: values[stride_register(part, loop)] for loop in part.strides}
                for part in parts
            },
            steps={one.tensor: values[steps_register(one)] for one in entries_parts(config)},
        )

    def bounds(self, program: Program) -> dict[str, int]:
        """Bounds of the indices with their tiles filled up. An index that only entries have, and no
        register, has the bound of one tile."""
        return {
            name: loop.step * (loop.extent or self.trips.get(name, 1))
            for name, loop in outermost(program).items()
        }


def outermost(program: Program) -> dict[str, Loop]:
    """The outermost loop of each index."""
    nests = (walked_loops(function) for function in program.functions)
    images = (tensor.image for tensor in program.tensors)
    loops = {loop.name: loop for loop in chain(*nests, *images)}
    return {name: loops[name] for name in program.indices}


def job_at(
    config: T2sConfig,
    bounds: Mapping[str, int],
    base: Mapping[str, int],
    steps: Mapping[str, int] | None = None,
) -> Job:
    """The job for bounds, with images that take as little memory as they can at these addresses.

    Parameters
    ----------
    steps: vectors of tokens of sparse operands, by tensor

    Raises ValueError for bounds that need more iterations than registers hold, or that padding does
    not fill up, and for more vectors than registers hold.
    """
    design = config.plan
    words = design.element.arithmetic.element
    if design.sparse is None:
        check_padding(design.program, bounds, infinities=isinstance(words, FloatFormat))
    for tensor, count in (steps or {}).items():
        if count >> STEPS_BITS:
            most = (1 << STEPS_BITS) - 1
            raise ValueError(f"{tensor} must have at most {most} vectors of tokens, not {count}")
    trips = {}
    for name in design.indices:
        loop = outermost(design.program)[name]
        trips[name] = trip_count(loop, bounds)
        if trips[name] >> config.trip_bits:
            most = ((1 << config.trip_bits) - 1) * loop.step
            raise ValueError(f"bound of {name} must be at most {most}, not {bounds[name]}")
    strides = {
        part.tensor: image_of(design, part.tensor, bounds).placement(config.beat_bytes).strides
        for part in memory_parts(config)
    }
    return Job(trips=trips, base=base, strides=strides, steps=steps or {})


def run_places(config: T2sConfig, job: Job, image: Image, memory_bytes: int, error: str) -> Places:
    """Addresses of an image's runs, (around...), modulo the address space.

    Raises JobFailure with this error if a beat of one lies behind the memory's end: with the
    address of the first such beat for a read, of its burst for a write.
    """
    tensor = image.part.tensor
    names = list(image.extents)[: image.steps]
    places = np.full([1] * len(names), job.base[tensor], np.uint64)
    for name in names:
        shape = [image.extents[name] if one == name else 1 for one in names]
        iterations = np.arange(image.extents[name], dtype=np.uint64).reshape(shape)
        places = places + np.uint64(job.strides[tensor][name]) * iterations
    places &= np.uint64((1 << config.addr_bits) - 1)
    beat = config.beat_bytes
    last = memory_bytes - image.part.run_beats(beat) * beat
    beyond = places > np.uint64(max(0, last)) if last >= 0 else np.ones_like(places, np.bool_)
    if beyond.any():
        run = int(places[beyond].flat[0])
        unit = beat if error == "bus_read" else config.burst_beats * beat
        first = max(run, memory_bytes // beat * beat)
        raise JobFailure(error, max(run, first // unit * unit))
    return places.astype(np.int64)


def fetched(config: T2sConfig, memory: Bytes, places: Places, image: Image) -> Bytes:
    """The bytes of an image's runs, (around..., bytes of a run)."""
    found = _beats(config, memory)[_numbers(config, places, image)]
    return found.reshape(*places.shape, -1)[..., : image.part.run_bytes]


def put(config: T2sConfig, memory: Bytes, places: Places, image: Image, rows: Bytes) -> None:
    """Write the bytes of an image's runs; the rest of a run's last beat is not changed."""
    beats, numbers = _beats(config, memory), _numbers(config, places, image)
    size, beat = image.part.run_bytes, config.beat_bytes
    whole, rest = divmod(size, beat)
    beats[numbers[..., :whole]] = rows[..., : size - rest].reshape(*places.shape, whole, beat)
    if rest:
        beats[numbers[..., whole], :rest] = rows[..., size - rest :]


def run_count(job: Job, part: MemoryPart) -> int:
    """Runs of a job, those that come again too."""
    return prod(step.count.extent or job.trips[step.count.name] for step in part.steps)


def _beats(config: T2sConfig, memory: Bytes) -> Bytes:
    """The memory as beats, (beats, bytes); it is the same memory."""
    size = config.beat_bytes
    return memory[: len(memory) // size * size].reshape(-1, size)


def _numbers(config: T2sConfig, places: Places, image: Image) -> Places:
    """Returns the beat numbers of runs, (around..., beats of a run)."""
    beats = np.arange(image.part.run_beats(config.beat_bytes))
    found: Places = places[..., np.newaxis] // config.beat_bytes + beats
    return found
