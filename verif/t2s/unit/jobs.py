"""Random jobs of arrays, on any device, compared with the model: all of memory and the counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.config import Flag, IntRange, OneOf, parameter
from tilewright.hw.spec.formats import FloatFormat, Format
from tilewright.hw.spec.jobs.t2s import job_spec, memory_parts
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.design import Design
from tilewright.hw.spec.t2s.program import Program
from tilewright.hw.t2s.language import MappingError
from tilewright.hw.t2s.lowering.design import lowered
from tilewright.sim.device.driver import JobRegisters, JobStatus
from tilewright.sim.device.protocol import AcceleratorDevice
from tilewright.sim.t2s.images import laid_out, operand_names, placement
from tilewright.sim.t2s.job import Job, job_at, outermost
from tilewright.sim.t2s.model import T2sModel
from tilewright.sim.t2s.sizes import shape_of
from tilewright.sim.t2s.sparse.entries import Entries
from tilewright.sim.t2s.sparse.image import most_bytes
from tilewright.sim.t2s.sparse.running import laid_out_operands
from tilewright.verif.kit.job_checks import JobRtl, Mismatch, QuietAtEnd

from ..random_mappings import KERNELS, random_mapping


@dataclass(frozen=True, kw_only=True)
class DrawnConfig(T2sConfig):
    """An array of a mapping that is drawn. Raises ValueError for one that has no hardware."""

    kernel: str = parameter("gemm", allowed=OneOf(tuple(KERNELS)), doc="what is mapped")
    seed: int = parameter(0, allowed=IntRange(0, 1 << 30), doc="of the mapping")
    words: bool = parameter(False, allowed=Flag(), doc="initial values, functions of words")

    @cached_property
    def plan(self) -> Design:
        rng = np.random.default_rng([self.seed, *self.kernel.encode()])
        words = np.random.default_rng(self.seed) if self.words else None
        return lowered(random_mapping(self.kernel, rng, words), self)


def drawn(kernel: str, count: int, first: int = 0, **changes: Any) -> list[DrawnConfig]:
    """Mappings that have hardware, from a seed on."""
    found: list[DrawnConfig] = []
    for seed in range(first, first + 40 * count):
        if len(found) == count:
            break
        try:
            settings = {"trip_bits": 6, "outstanding": 2, **changes}
            found.append(DrawnConfig(kernel=kernel, seed=seed, **settings))
        except (MappingError, ValueError):
            continue  # Not all that is drawn is legal, or has hardware.
    assert len(found) == count
    return found


Words = npt.NDArray[np.uint64]


def random_words(rng: np.random.Generator, fmt: Format, shape: tuple[int, ...]) -> Words:
    """Container words: any patterns, or numbers whose sums do not overflow at once."""
    words = rng.integers(0, 1 << 64, shape, np.uint64) >> np.uint64(64 - fmt.container_bits)
    if isinstance(fmt, FloatFormat) and rng.random() < 0.7:
        # Exponents near that of one.
        low = fmt.container_bits - fmt.bits + fmt.fraction_bits
        field = np.uint64(fmt.exponent_mask << low)
        near = rng.integers(fmt.bias - 3, fmt.bias + 4, shape).astype(np.uint64) << np.uint64(low)
        words = (words & ~field) | near
    return words


_MOST = 300
"""Entries of a tensor: each costs the Verilog some cycles."""


def random_sparse(
    rng: np.random.Generator, design: Design, bounds: Mapping[str, int]
) -> dict[str, Entries]:
    """Draws the entries of all sparse tensors: none, all or some, and one row may have most of
    them. Two tensors have some places in common."""
    found = {}
    common = np.zeros(0, np.int64)
    for name in design.program.sparse:
        shape = shape_of(design.program.tensor(name).dimensions, bounds)
        places = rng.permutation(prod(shape))
        if rng.random() < 0.3:
            row, others = int(rng.integers(shape[0])), prod(shape[1:])
            first = row * others + rng.permutation(others)
            places = np.concatenate([first, np.setdiff1d(places, first)])
        count = int(rng.choice([0, 1, len(places) // 8, len(places) // 3, len(places)]))
        mine = places[: min(count, _MOST)]
        mine = np.union1d(mine, rng.permutation(common)[: _MOST - len(mine)])
        common = mine
        words = random_words(rng, design.word_format(name), (len(mine),))
        where = np.stack(np.unravel_index(mine, shape), axis=1).astype(np.int64)
        found[name] = Entries(shape=shape, places=where, words=words)
    return found


def largest_images(config: T2sConfig, bounds: Mapping[str, int]) -> int:
    """Bytes of the images of sparse operands at most."""
    plan = config.plan.sparse
    if plan is None:
        return 0
    beat = config.beat_bytes
    return sum(most_bytes(plan, part, bounds, _MOST, beat) for part in plan.entries)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A job, with its operands.

    Parameters
    ----------
    job: its registers
    bounds: of indices
    memory: all of it, before the job
    """

    config: T2sConfig
    job: Job
    bounds: Mapping[str, int]
    memory: npt.NDArray[np.uint8]

    @property
    def registers(self) -> dict[str, int]:
        return self.job.registers(self.config)


def random_case(
    rng: np.random.Generator, config: T2sConfig, memory_bytes: int, most: int = 2
) -> Case:
    """Operands of random sizes, up to ``most`` iterations of each outermost loop, in images
    somewhere in a memory full of random bytes."""
    program = config.plan.program
    bounds = _random_bounds(rng, program, most)
    beat = config.beat_bytes
    sparse = laid_out_operands(config.plan, bounds, random_sparse(rng, config.plan, bounds), beat)
    content = {name: image.content for name, image in sparse.images.items()}
    for name in operand_names(program):
        if name in program.sparse:
            continue
        shape = shape_of(program.tensor(name).dimensions, bounds)
        words = random_words(rng, config.plan.word_format(name), shape)
        content[name] = laid_out(config.plan, name, bounds, words, beat)
    sizes = {name: len(image) for name, image in content.items()}
    for part in memory_parts(config):
        sizes[part.tensor] = placement(config.plan, part.tensor, bounds, beat).size
    free = memory_bytes - sum(sizes.values())
    memory = rng.integers(0, 256, memory_bytes, dtype=np.uint8)
    address, places = 0, {}
    for name in rng.permutation(list(sizes)):
        gap = int(rng.integers(0, free // beat // len(sizes) + 1)) * beat
        places[str(name)] = address + gap
        address += gap + sizes[name]
    for name, image in content.items():
        memory[places[name] : places[name] + len(image)] = np.frombuffer(image, np.uint8)
    job = job_at(config, bounds, places, sparse.steps)
    return Case(config=config, job=job, bounds=bounds, memory=memory)


def largest_case_bytes(config: T2sConfig, most: int) -> int:
    """Bytes of all images of the largest random case."""
    loops = outermost(config.plan.program)
    bounds = {name: most * loops[name].step for name in config.plan.program.indices}
    dense = sum(
        placement(config.plan, part.tensor, bounds, config.beat_bytes).size
        for part in memory_parts(config)
    )
    return dense + largest_images(config, bounds)


def _random_bounds(rng: np.random.Generator, program: Program, most: int) -> dict[str, int]:
    loops = outermost(program)
    return {name: int(rng.integers(1, most * loops[name].step + 1)) for name in program.indices}


def run_case(device: JobRtl[T2sConfig], case: Case, **overrides: int) -> JobStatus:
    """Fill the memory, write the job registers, some with other values, and run. Raises Mismatch
    if the bus is not quiet at the end."""
    device.write_memory(0, case.memory.tobytes())
    registers = JobRegisters(QuietAtEnd(device), job_spec(case.config))
    return registers.submit(case.registers | overrides)


def check_case(device: JobRtl[T2sConfig], case: Case) -> JobStatus:
    """Run a job that must end well: all of memory must be as the model leaves it, and counters as
    the model and the bus count. Raises Mismatch."""
    before = device.moved
    status = run_case(device, case)
    if status.error != "none":
        raise Mismatch(f"{status.error}, detail {status.detail:#x}")
    moved = np.subtract(device.moved, before).sum(axis=0).tolist()
    model = T2sModel(case.config, len(case.memory))
    model.write_memory(0, case.memory.tobytes())
    wanted = JobRegisters(model, job_spec(case.config)).submit(case.registers)
    _compare(device, model, case.bounds)
    same = ("operations", "bytes_read", "bytes_written")
    counts = {name: status.counts[name] for name in same}
    if counts != {name: wanted.counts[name] for name in same}:
        raise Mismatch(f"{counts} are counted, not {wanted.counts}")
    if (counts["bytes_read"], counts["bytes_written"]) != tuple(moved):
        raise Mismatch(f"{moved} bytes were moved, {counts} are counted")
    if status.counts["busy_cycles"] != counts["operations"]:
        raise Mismatch(f"{status.counts['busy_cycles']} cycles were busy")
    return status


def _compare(device: AcceleratorDevice[Any], model: T2sModel, bounds: Mapping[str, int]) -> None:
    found = np.frombuffer(device.read_memory(0, model.memory_bytes), np.uint8)
    wrong = np.flatnonzero(found != model.memory)
    if len(wrong):
        raise Mismatch(
            f"{len(wrong)} bytes of memory are wrong for {dict(bounds)}, the first at {wrong[0]:#x}"
        )
