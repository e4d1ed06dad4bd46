"""Products of tensors on a Tensaurus: operands and a list of tiles into its memory, one job, the
result back.

The same program runs on the model, on the RTL in a simulator, and on anything else that is a
``TensorDevice``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...hw.spec.jobs.tensaurus import job_spec
from ...hw.spec.tensaurus import TensaurusConfig
from ..device.driver import JobDriver, check_type
from ..device.protocol import AcceleratorDevice
from ..numbers.scalars import Patterns
from ..sparse.tensor import Tensor, arrangement, modes_from
from .job_list import JobList
from .job_tiles import TensorTiles, dense_tiles, sparse_tiles
from .tiles import Plan, plan
from .work import STORES, Cut, Work

__all__ = ["TensorDevice", "TensorDriver", "plan_of"]

TensorDevice = AcceleratorDevice[TensaurusConfig]
"""A Tensaurus with its memory."""


def plan_of(
    config: TensaurusConfig,
    work: Work,
    tensor: Tensor | Patterns,
    mode: int = 0,
    fixed: Mapping[str, int | tuple[int, ...]] | None = None,
) -> Plan:
    """Returns the best tiling of a product. ``fixed`` has the sizes that are given, see
    ``tiles.plan``."""
    if not isinstance(tensor, Tensor):
        return plan(config, work, None, fixed)
    order, first = arrangement(tensor, mode)
    order = order[first]
    lengths = np.bincount(tensor.indices[order, mode], minlength=1)
    new = np.ones(len(order), np.bool_)
    new[1:] = False
    fibers = []
    for number, one in enumerate(modes_from(tensor.order, mode)[:-1]):
        index = tensor.indices[order, one]
        new[1:] |= index[1:] != index[:-1]
        if number:
            fibers.append(int(np.count_nonzero(new)))
    return plan(config, work, lengths[lengths > 0], fixed, fibers)


class TensorDriver(JobDriver[TensaurusConfig]):
    """Multiplies tensors with matrices on a Tensaurus.

    Parameters
    ----------
    device: the accelerator and its memory
    first_address: lowest address that the driver may use

    Members
    -------
    counts: counters of the last product; empty if the tensor had no values
    tiles: number of tiles of the last product

    Raises
    ------
    ValueError: the device's register ID is not that of a Tensaurus
    """

    counts: dict[str, int]
    tiles: int

    def __init__(self, device: TensorDevice, first_address: int = 0) -> None:
        config = device.config
        super().__init__(
            device,
            job_spec(config),
            first_address,
            alignment=config.line_bytes,
            addr_bits=config.addr_bits,
        )
        self.counts, self.tiles = {}, 0

    def sparse(
        self, work: Work, cut: Cut, tensor: Tensor, operands: Mapping[int, Patterns], mode: int = 0
    ) -> Patterns:
        """Computes the product of a sparse tensor and matrices.

        Parameters
        ----------
        work: the kernel and its formats
        cut: the tiling
        tensor: the sparse tensor
        operands: for each other mode, counted as if the slices' mode were the first, a matrix of
            words, (indices, rank)
        mode: the mode whose indices are the slices

        Returns
        -------
        Words of the format of sums, in ``work.result_shape``. An element without any products is
        the identity of (+).

        Raises
        ------
        TypeError: ``tensor`` is no :class:`Tensor`
        ValueError: operands that do not fit each other or the device
        NoRoom: the memory is too small
        JobError: the device reports an error
        """
        check_type("tensor", tensor, Tensor, "a Tensor")
        shape = tuple(tensor.shape[one] for one in modes_from(tensor.order, mode))
        self._check(work, cut, shape, operands, dense=False)
        tiles = sparse_tiles(self.config, work, cut, tensor, mode)
        return self._run(work, cut, tiles, operands)

    def dense(
        self, work: Work, cut: Cut, tensor: Patterns, operands: Mapping[int, Patterns]
    ) -> Patterns:
        """Computes the product of a dense tensor, whose first axis has the slices; see
        :meth:`sparse`."""
        self._check(work, cut, tensor.shape, operands, dense=True)
        tiles = dense_tiles(self.config, work, cut, tensor)
        return self._run(work, cut, tiles, operands)

    def _check(
        self,
        work: Work,
        cut: Cut,
        shape: tuple[int, ...],
        operands: Mapping[int, Patterns],
        *,
        dense: bool,
    ) -> None:
        cut.check(self.config)
        kernel = cut.kernel
        if (kernel.name, kernel.order) != (work.kernel, work.order):
            raise ValueError(f"`cut` must be of {work.kernel}, not of {kernel.name}")
        if work.dense != dense or work.shape != shape:
            raise ValueError(f"`tensor` must be of shape {work.shape}, not {shape}")
        for mode, rank in enumerate(work.ranks, 1):
            wanted = (shape[mode], rank)
            found = operands[mode].shape if mode in operands else None
            if found != wanted:
                raise ValueError(f"the operand of mode {mode} must be {wanted}, not {found}")

    def _run(
        self, work: Work, cut: Cut, tiles: TensorTiles, operands: Mapping[int, Patterns]
    ) -> Patterns:
        config = self.config
        identity = config.operators.identity_in(config.sum_format)
        assert identity is not None
        job = JobList(config, work, cut, tiles)
        self.tiles, self.counts = len(job.part), {}
        base = self._memory.fit(job.sizes, "the operands and the result")
        if not self.tiles:
            return job.result(self._device.read_memory, base, identity)
        for address, content in job.blocks(base, operands):
            self._device.write_memory(address, content)
        kernel, regions = cut.kernel, cut.regions(config).begins
        status = self._registers.submit({
            "KERNEL": kernel.number,
            "ORDER": kernel.order,
            "DENSE": int(work.dense),
            "VECTORS": kernel.vectors,
            "SCALARS_1": kernel.scalars[0],
            "SCALARS_2": kernel.scalars[1],
            **{f"REGION_{mode}": regions.get(mode, 0) for mode in (1, 2, 3)},
            "TILES": self.tiles,
            "LIST": base["list"],
            "DIRECT": STORES.index(cut.store),
        })  # fmt: skip
        status.check()
        self.counts = status.counts
        return job.result(self._device.read_memory, base, identity)
