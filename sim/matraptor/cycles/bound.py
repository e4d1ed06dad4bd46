"""What a product by rows cannot beat: bytes that have to move, products that have to be made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ....hw.spec.c2sr import PAIR_BYTES
from ....hw.spec.matraptor import MatRaptorConfig
from ...timing.dram import MemoryModel
from .plan import pointers

__all__ = ["Bound", "bound"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The larger of compulsory bytes over bandwidth and products over lanes.

    Compulsory are A and C once, and B's rows and pairs: once for each use, at the granularity
    of the memory's accesses (``bytes_per_use``), or once in all (``bytes_once``).

    Parameters
    ----------
    bytes_per_use, bytes_once: compulsory bytes
    operations: products
    bytes_per_cycle: peak of all channels
    lanes: products that can be made a cycle
    """

    bytes_per_use: int
    bytes_once: int
    operations: int
    bytes_per_cycle: float
    lanes: int

    @property
    def memory_cycles(self) -> float:
        return self.bytes_per_use / self.bytes_per_cycle

    @property
    def product_cycles(self) -> float:
        return self.operations / self.lanes

    @property
    def cycles(self) -> float:
        return max(self.memory_cycles, self.product_cycles)

    @property
    def cycles_once(self) -> float:
        """If every row of B were read once."""
        return max(self.bytes_once / self.bytes_per_cycle, self.product_cycles)


def _granules(config: MatRaptorConfig, lengths: Ints, size: int) -> Ints:
    """Granules of ``size`` bytes that each row's entries touch. A row is cut at the blocks
    of the interleaving, which are multiples of the granule or parts of it."""
    entry = config.layout.entry_bytes
    first = pointers(lengths, config.channels) * entry
    touched = (first + lengths * entry - 1) // size - first // size + 1
    return np.where(lengths > 0, touched, 0)


def bound(
    config: MatRaptorConfig,
    a: csr_array,
    b: csr_array,
    memory: MemoryModel,
    gigahertz: float,
    results: int | None = None,
) -> Bound:
    """Of a product of canonical CSR arrays; ``results``: entries of C, if they are known."""
    if results is None:
        results = _results(a, b)
    size = config.beat_bytes if memory.flat else memory.access_bytes
    lengths = np.diff(b.indptr).astype(np.int64)
    used = np.bincount(a.indices, minlength=a.shape[1])
    entries = int((used * _granules(config, lengths, size)).sum()) * size
    pairs = a.nnz * size
    outer = (a.nnz + results) * config.layout.entry_bytes + 2 * a.shape[0] * PAIR_BYTES
    needed = used > 0
    once = int(lengths[needed].sum()) * config.layout.entry_bytes
    rate = config.beat_bytes if memory.flat else memory.gigabytes / gigahertz
    return Bound(
        bytes_per_use=outer + entries + pairs,
        bytes_once=outer + once + int(needed.sum()) * PAIR_BYTES,
        operations=int((used * lengths).sum()),
        bytes_per_cycle=config.channels * rate,
        lanes=config.lanes,
    )


def _results(a: csr_array, b: csr_array) -> int:
    """Entries of C; ones never cancel."""
    ones = (
        csr_array((np.ones(m.nnz, np.float32), m.indices, m.indptr), shape=m.shape) for m in (a, b)
    )
    return int((next(ones) @ next(ones)).nnz)
