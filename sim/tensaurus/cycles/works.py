"""Cycles of a work, independent of its values."""

from __future__ import annotations

from math import prod

import numpy as np

from ....hw.spec.jobs.tensaurus import COUNTERS
from ....hw.spec.tensaurus import TensaurusConfig
from ...device.driver import Placement
from ...sparse.tensor import Tensor, modes_from
from ...timing.dram import FLAT, MemoryModel
from ..job_list import JobList
from ..job_tiles import TensorTiles, pitch_of, sparse_tiles
from ..work import Cut, Work
from .machine import TensorCycles, TileJob, run_job
from .state import TILE


def work_cycles(
    config: TensaurusConfig,
    work: Work,
    cut: Cut,
    tensor: Tensor | None,
    mode: int = 0,
    *,
    memory: MemoryModel = FLAT,
    gigahertz: float = 2.0,
) -> TensorCycles:
    """Run a work in the cycle model, without a value; all lies in memory as a driver places it that
    has the memory to itself.

    Parameters
    ----------
    tensor: sparse, its slices those of ``mode``; None if the work is dense
    memory: of each channel
    gigahertz: clock of the accelerator

    Raises
    ------
    ValueError if the parts do not fit each other or the device, NoRoom if addresses end before.
    """
    cut.check(config)
    kernel = cut.kernel
    if (kernel.name, kernel.order) != (work.kernel, work.order):
        raise ValueError(f"`cut` must be of {work.kernel}, not of {kernel.name}")
    if work.dense != (tensor is None):
        raise ValueError(f"`tensor` must be {'None' if work.dense else 'there'}")
    if tensor is None:
        parts = _dense_places(config, work, cut)
    else:
        shape = tuple(tensor.shape[one] for one in modes_from(tensor.order, mode))
        if work.shape != shape:
            raise ValueError(f"`tensor` must be of shape {work.shape}, not {shape}")
        parts = sparse_tiles(config, work, cut, tensor, mode)
    jobs = JobList(config, work, cut, parts)
    if not len(jobs.part):
        none = (0,) * config.channels
        return TensorCycles(
            counts=dict.fromkeys(COUNTERS, 0), tiles=0, memory_read=none, memory_written=none,
            gigahertz=gigahertz,
        )  # fmt: skip
    place = Placement(0, 1 << config.addr_bits, config.line_bytes)
    base = place.fit(jobs.sizes, "the operands and the result")
    tiles = np.zeros(len(jobs.part), TILE)
    for name, field in jobs.fields(base).items():
        tiles[name] = field
    tiles["stream"] = parts.first[jobs.part]
    tiles["elements"] = 1
    for other in range(1, work.order):
        tiles["elements"] *= tiles[f"size_{other}"]
    job = TileJob(
        kernel=kernel,
        dense=work.dense,
        direct=cut.store == "memory",
        regions=cut.regions(config).begins,
        list_address=base["list"],
        tiles=tiles,
        content=parts.content,
    )
    return run_job(config, job, memory=memory, gigahertz=gigahertz)


def _dense_places(config: TensaurusConfig, work: Work, cut: Cut) -> TensorTiles:
    """All tiles of a dense tensor, without a value of it."""
    counts = cut.range_counts(work)
    tiles = prod(counts)
    numbers = np.stack(np.unravel_index(np.arange(tiles), counts), axis=1).astype(np.int64)
    steps, shape = np.array(cut.steps), np.array(work.shape)
    lengths = np.minimum(steps, shape - numbers * steps)
    used, which = np.unique(lengths, axis=0, return_inverse=True)
    bytes_of = [each[0] * pitch_of(config, tuple(each[1:])) for each in used.tolist()]
    sizes = np.array(bytes_of, np.int64)[which.reshape(-1)]
    return TensorTiles(
        numbers=numbers,
        entries=np.zeros(tiles, np.int64),
        first=np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
        content=np.zeros(0, np.uint8),
    )
