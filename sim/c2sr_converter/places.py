"""Addresses of the converter's arrays in memory: pairs, pointers and entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...hw.spec.c2sr import PAIR_BYTES
from ...hw.spec.c2sr_converter import POINTER_BYTES, C2srConverterConfig
from ..sparse.c2sr import run_indices

__all__ = ["Places"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Places:
    """Flat addresses, (count,), of what a job reads and writes.

    Parameters
    ----------
    config: of the converter
    registers: of the job, by name
    """

    config: C2srConverterConfig
    registers: Mapping[str, int]

    def pairs(self, rows: Ints) -> Ints:
        """Returns the addresses of the pairs of rows."""
        channels = self.config.channels
        return self._in_channel("C2SR_PAIRS", rows % channels, rows // channels * PAIR_BYTES)

    def c2sr_entries(self, lengths: Ints, pointers: Ints) -> Ints:
        """Returns the addresses of all entries in C2SR, row after row."""
        channels = np.repeat(np.arange(len(lengths)) % self.config.channels, lengths)
        where = run_indices(pointers, lengths) * self.config.layout.entry_bytes
        return self._in_channel("C2SR_ENTRIES", channels, where)

    def csr_pointers(self, rows: int) -> Ints:
        """Returns the addresses of the pointers to ``rows`` rows in CSR and to their end."""
        return self.registers["CSR_POINTERS"] + np.arange(rows + 1) * POINTER_BYTES

    def csr_entries(self, count: int) -> Ints:
        """Returns the addresses of so many entries in CSR."""
        return self.registers["CSR_ENTRIES"] + np.arange(count) * self.config.layout.entry_bytes

    def _in_channel(self, base: str, channels: Ints, offsets: Ints) -> Ints:
        """Returns the addresses of bytes at offsets within channels of an array."""
        size = self.config.interleave
        blocks = offsets // size * self.config.channels + channels
        return self.registers[base] + blocks * size + offsets % size
