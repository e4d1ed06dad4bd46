"""Counts the calls of a hardware backend, and their cycles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ..backend import Backend
from ..words import Words
from .held import UnitKind

__all__ = ["HardwareBackend", "HardwareTally"]


@dataclass
class HardwareTally:
    """Sums over the calls so far.

    Parameters
    ----------
    cycles: from the first operand of a call to its last result
    operations: of the matrix unit
    sent: words that operations were given: blocks of B again with each
    bytes_read, bytes_written: of memory, where there is one
    remainders: of results that the CPU takes, where words are residues
    checked, mismatches: results and counters of Verilog beside the model's, and those that differ
    """

    cycles: int = 0
    operations: int = 0
    sent: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    remainders: int = 0
    checked: int = 0
    mismatches: int = 0


@runtime_checkable
class HardwareBackend(Backend, Protocol):
    """A backend that measures.

    Members
    -------
    tally: what was counted so far
    rtl: whether Verilog is simulated, and compared with the model
    kind: what it is, and which words it holds
    """

    @property
    def tally(self) -> HardwareTally: ...
    @property
    def rtl(self) -> bool: ...
    @property
    def kind(self) -> UnitKind: ...

    def call_cycles(self, rows: int, words: Words) -> int:
        """Cycles of a call of so many rows, by the model, without values."""
        ...

    def why_off_line(self, rows: int, words: Words) -> str:
        """Explains why calls of so many rows take other cycles than ``a n s + l``."""
        ...
