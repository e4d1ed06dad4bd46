"""A product under the roofline: what must be moved and computed, and how long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ...hw.spec.tensaurus import TensaurusConfig
from ...sim.sparse.tensor import Tensor, modes_from
from ...sim.tensaurus.work import Cut, Work
from ...sim.timing.dram import MemoryModel

__all__ = ["Point", "Roof", "compulsory_bytes", "geomean", "operations_wanted", "roof_of"]


@dataclass(frozen=True, kw_only=True)
class Roof:
    """Peak rates of an accelerator and its memory, in units of 10^9 a second.

    Parameters
    ----------
    operations: of all lanes: a multiplication and an addition each, in every cycle
    row_operations: of one lane a row, which is what products with a vector use
    ports: bytes of the ports, each way
    bytes: of the memory, both ways together
    """

    operations: float
    row_operations: float
    ports: float
    bytes: float

    def peak(self, kernel: str) -> float:
        """Operations of a kernel if nothing waits for memory."""
        return self.row_operations if kernel == "mv" else self.operations

    def at(self, kernel: str, intensity: float) -> float:
        """Operations at so many of them a byte."""
        return min(self.peak(kernel), self.bytes * intensity)


def roof_of(config: TensaurusConfig, memory: MemoryModel, gigahertz: float) -> Roof:
    """The roof of a configuration: of its array, its ports and its memory."""
    ports = config.channels * config.geometry.beat_bytes * gigahertz
    return Roof(
        operations=2 * config.rows * config.unit_values * gigahertz,
        row_operations=2 * config.rows * gigahertz,
        ports=ports,
        bytes=2 * ports if memory.flat else min(2 * ports, config.channels * memory.gigabytes),
    )


@dataclass(frozen=True, kw_only=True)
class Point:
    """Measured results of one product.

    Parameters
    ----------
    group, label, origin: of the input
    kernel: of the product; columns: F, values of a row of its last operand
    values: of the tensor; tiles: of the job; store: where it adds its output up
    slices: that have values
    operations: of wanted values: padding lanes do not count
    read, written: bytes read, in whole beats, and bytes of the result
    compulsory: the tensor's stream, each operand and the output, once; in memory only the
        slices of it that have values
    cycles: on a memory with banks; flat_cycles: on one without, None if that was not run
    gigahertz: of the clock
    reference: seconds of SciPy on a core of the machine at hand; None if it was not asked
    roof: that it is under
    """

    group: str
    label: str
    origin: str
    kernel: str
    columns: int
    values: int
    tiles: int
    store: str
    slices: int
    operations: int
    read: int
    written: int
    compulsory: int
    cycles: int
    flat_cycles: int | None
    gigahertz: float
    reference: float | None
    roof: Roof

    @property
    def microseconds(self) -> float:
        """Time of the job in microseconds."""
        return self.cycles / self.gigahertz / 1000

    @property
    def bytes(self) -> int:
        """Bytes read and written."""
        return self.read + self.written

    @property
    def intensity(self) -> float:
        """Operations a byte."""
        return self.operations / self.bytes

    @property
    def highest(self) -> float:
        """The roof there, GOP/s."""
        return self.roof.at(self.kernel, self.intensity)

    @property
    def reached(self) -> float:
        """GOP/s."""
        return self.operations * self.gigahertz / self.cycles

    @property
    def ratio(self) -> float:
        """Reached share of the roof."""
        return self.reached / self.highest

    @property
    def flat_ratio(self) -> float | None:
        """Reached share of the roof without banks, where ports read and write at the same time."""
        if self.flat_cycles is None:
            return None
        least = max(
            self.operations / self.roof.peak(self.kernel),
            max(self.read, self.written) / self.roof.ports,
        )
        return least * self.gigahertz / self.flat_cycles

    @property
    def compulsory_ratio(self) -> float:
        """Reached share of the roof if no byte were moved twice."""
        return self.reached / self.roof.at(self.kernel, self.operations / self.compulsory)

    @property
    def limit(self) -> str:
        """The limit that the roof is at this intensity: array or memory."""
        return "array" if self.highest == self.roof.peak(self.kernel) else "memory"


def operations_wanted(config: TensaurusConfig, work: Work, cut: Cut, operations: int) -> int:
    """Counts operations of wanted columns only, not those of padding."""
    if work.kernel == "mv":
        return operations
    columns = work.ranks[-1]
    lanes = cut.kernel.vectors * config.unit_values
    padded = lanes * -(-columns // lanes)
    return round(operations * columns / padded)


def compulsory_bytes(
    config: TensaurusConfig, work: Work, tensor: Tensor, mode: int, store: str = "buffer"
) -> int:
    """The tensor as one stream, the other operands and the output, nothing padded, each once; of an
    output in memory (``store``) the slices that have values."""
    layout = config.layout(work.order)
    slices = int(np.count_nonzero(np.bincount(tensor.indices[:, mode], minlength=1)))
    slots = tensor.nnz + slices
    stream = (-(-slots // config.rows) + 1) * layout.entry_bytes
    value, result = config.format.bits // 8, config.sum_format.bits // 8
    modes = modes_from(tensor.order, mode)[1:]
    operands = sum(tensor.shape[one] * rank for one, rank in zip(modes, work.ranks, strict=True))
    written = slices if store == "memory" else work.shape[0]
    return stream + operands * value + written * prod(work.result_shape[1:]) * result


def geomean(ratios: Sequence[float]) -> float:
    """Geometric mean of positive numbers; 1 of none."""
    return float(np.exp(np.mean(np.log(ratios)))) if len(ratios) else 1.0
