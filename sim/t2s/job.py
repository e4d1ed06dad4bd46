"""A job of an array: its registers, and what it does to memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from ...hw.spec.jobs.t2s import base_register, memory_parts, stride_register, trips_register
from ...hw.spec.t2s.config import T2sConfig
from ...hw.spec.t2s.loops import Loop
from ...hw.spec.t2s.parts import MemoryPart
from ...hw.spec.t2s.program import Program
from .images import Image, image_of
from .sizes import trip_count

__all__ = ["Job", "JobFailure", "fetched", "job_at", "outermost", "put", "run_count"]

Bytes = npt.NDArray[np.uint8]


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
    strides: by tensor and loop
    """

    trips: Mapping[str, int]
    base: Mapping[str, int]
    strides: Mapping[str, Mapping[str, int]]

    def registers(self, config: T2sConfig) -> dict[str, int]:
        """What each of the registers holds, by name."""
        values = {trips_register(name): count for name, count in self.trips.items()}
        for part in memory_parts(config):
            values[base_register(part)] = self.base[part.tensor]
            for loop in part.strides:
                values[stride_register(part, loop)] = self.strides[part.tensor][loop]
        return values

    @classmethod
    def of_registers(cls, config: T2sConfig, values: Mapping[str, int]) -> Job:
        """The job that registers hold."""
        parts = memory_parts(config)
        return cls(
            trips={name: values[trips_register(name)] for name in config.plan.indices},
            base={part.tensor: values[base_register(part)] for part in parts},
            strides={
                part.tensor: {loop: values[stride_register(part, loop)] for loop in part.strides}
                for part in parts
            },
        )

    def bounds(self, program: Program) -> dict[str, int]:
        """How far indices go with their tiles filled up."""
        return {
            name: self.trips[name] * loop.step if loop.extent is None else loop.step * loop.extent
            for name, loop in outermost(program).items()
        }


def outermost(program: Program) -> dict[str, Loop]:
    """The outermost loop of each index."""
    loops = {loop.name: loop for tensor in program.tensors for loop in tensor.image}
    return {name: loops[name] for name in program.indices}


def job_at(config: T2sConfig, bounds: Mapping[str, int], base: Mapping[str, int]) -> Job:
    """The job for bounds, with images that take as little memory as they can at these addresses.

    Raises ValueError for bounds that need more iterations than registers hold.
    """
    design = config.plan
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
    return Job(trips=trips, base=base, strides=strides)


def fetched(config: T2sConfig, memory: Bytes, job: Job, image: Image) -> Bytes:
    """The bytes of an image's runs. Raises JobFailure, bus_read, with the address of the first beat
    that lies behind the memory's end."""
    places = _places(config, job, image)
    run, beat = _first_outside(config, memory, places, image)
    if run is not None:
        raise JobFailure("bus_read", beat)
    content: Bytes = memory[_bytes(places, image)]
    return content


def put(config: T2sConfig, memory: Bytes, job: Job, image: Image, rows: Bytes) -> None:
    """Write the bytes of an image's runs. Raises JobFailure, bus_write, with the address of the
    first burst of which a beat lies behind the memory's end; nothing is written then."""
    places = _places(config, job, image)
    run, beat = _first_outside(config, memory, places, image)
    if run is not None:
        burst_bytes = config.burst_beats * config.beat_bytes
        raise JobFailure("bus_write", max(run, beat // burst_bytes * burst_bytes))
    memory[_bytes(places, image)] = rows


def run_count(job: Job, part: MemoryPart) -> int:
    """Runs of a job, those that come again too."""
    return prod(step.count.extent or job.trips[step.count.name] for step in part.steps)


def _places(config: T2sConfig, job: Job, image: Image) -> npt.NDArray[np.uint64]:
    """Addresses of runs, in the order of the image's loops, modulo the address space."""
    tensor = image.part.tensor
    names = list(image.extents)[: image.steps]
    places = np.full([1] * len(names), job.base[tensor], np.uint64)
    for name in names:
        shape = [image.extents[name] if one == name else 1 for one in names]
        iterations = np.arange(image.extents[name], dtype=np.uint64).reshape(shape)
        places = places + np.uint64(job.strides[tensor][name]) * iterations
    return places & np.uint64((1 << config.addr_bits) - 1)


def _bytes(places: npt.NDArray[np.uint64], image: Image) -> npt.NDArray[np.int64]:
    """Addresses of all bytes of runs."""
    return places.astype(np.int64)[..., np.newaxis] + np.arange(image.part.run_bytes)


def _first_outside(
    config: T2sConfig, memory: Bytes, places: npt.NDArray[np.uint64], image: Image
) -> tuple[int | None, int]:
    """The first run of which a beat lies behind the memory's end, None without one; and the first
    beat there."""
    last = len(memory) - image.part.run_beats(config.beat_bytes) * config.beat_bytes
    beyond = places > np.uint64(max(0, last)) if last >= 0 else np.ones_like(places, np.bool_)
    run = int(places[beyond].flat[0]) if beyond.any() else None
    end = len(memory) // config.beat_bytes * config.beat_bytes
    return run, end if run is None else max(run, end)
