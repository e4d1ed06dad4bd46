"""An SDRAM chip of single data rate at a clock: times in nanoseconds, and the cycles they take."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor
from typing import NamedTuple

__all__ = ["Sdram", "SdramCycles", "SdramGeometry", "SdramTiming"]

_PHASES = (180, 270, 225, 90, 135)
"""Degrees by which the chip's clock may lag, best first: an inverted clock needs no PLL."""
_SLACK = 1e-6
"""Cycles that rounding of a quotient may add."""


@dataclass(frozen=True, kw_only=True)
class SdramGeometry:
    """Banks, rows and columns of a chip; each is a power of two. The defaults are 32 MiB.

    Parameters
    ----------
    banks: 2 or 4
    rows: of a bank, up to 8,192
    columns: words of a row, up to 1,024
    word_bits: of a word, 8 or 16
    """

    banks: int = 4
    rows: int = 8192
    columns: int = 512
    word_bits: int = 16

    def __post_init__(self) -> None:
        limits = {"banks": (2, 4), "rows": (2, 8192), "columns": (64, 1024), "word_bits": (8, 16)}
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not low <= value <= high or value & (value - 1):
                raise ValueError(f"`{name}` must be a power of two in {low}..{high}, not {value}")

    @property
    def word_bytes(self) -> int:
        return self.word_bits // 8

    @property
    def memory_bytes(self) -> int:
        return self.banks * self.rows * self.columns * self.word_bytes

    @property
    def bank_bits(self) -> int:
        return self.banks.bit_length() - 1

    @property
    def row_bits(self) -> int:
        return self.rows.bit_length() - 1

    @property
    def column_bits(self) -> int:
        return self.columns.bit_length() - 1

    @property
    def address_bits(self) -> int:
        """Width of the address pins; A10 chooses all banks when they are precharged."""
        return max(self.row_bits, 11)


@dataclass(frozen=True, kw_only=True)
class SdramTiming:
    """Times of a chip in nanoseconds, by their names in data sheets.

    The defaults are, of each time, the longest of MT48LC16M16A2-75, AS4C16M16SA-7 and W9825G6-75:
    they fit all of these chips. A time that data sheets give in cycles of the clock is that, too:
    t_wr, t_mrd and t_rrd are at least two.

    Parameters
    ----------
    t_rcd: from opening a row to an access
    t_rp: from closing a row to the next command for its bank
    t_rc, t_ras: from opening a row to opening the next one of its bank, and to closing it
    t_rfc: from a refresh to the next command
    t_rrd: from opening a row to opening one of another bank
    t_wr: from the last word written to closing its row
    t_mrd: from setting the mode to the next command
    t_refi: between refreshes on average: 64 ms for 8,192 rows
    t_power_up: with a clock before the first command
    t_ck2, t_ck3: period of the clock at least, for a CAS latency of two and three cycles
    t_ac2, t_ac3: from the clock's edge to valid data at most, for both latencies
    t_oh, t_hz: data stay valid at least, and are driven at most, so long after the next edge
    t_is, t_ih: inputs are stable before and after an edge
    refreshes: refreshes behind power-up before the first access
    """

    t_rcd: float = 21
    t_rp: float = 21
    t_rc: float = 66
    t_ras: float = 45
    t_rfc: float = 66
    t_rrd: float = 15
    t_wr: float = 15
    t_mrd: float = 15
    t_refi: float = 64e6 / 8192
    t_power_up: float = 200_000
    t_ck2: float = 10
    t_ck3: float = 7.5
    t_ac2: float = 6
    t_ac3: float = 5.4
    t_oh: float = 2.5
    t_hz: float = 6
    t_is: float = 1.5
    t_ih: float = 1
    refreshes: int = 8

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value <= 0:
                raise ValueError(f"`{name}` must be above 0, not {value}")


class SdramCycles(NamedTuple):
    """Times of a chip in cycles of a clock: from a command to the first that may follow.

    Members
    -------
    rcd, rp, ras, rfc, rrd, wr, mrd: as in :class:`SdramTiming`; ``ras`` also keeps t_rc
    refresh, power_up: between refreshes; before the first command
    cas: latency that the mode register gets
    sample: from the edge with which a read leaves to the one that samples its word
    turn: from a read to the first write, whose word must not meet that which is read
    """

    rcd: int
    rp: int
    ras: int
    rfc: int
    rrd: int
    wr: int
    mrd: int
    refresh: int
    power_up: int
    cas: int
    sample: int
    turn: int


@dataclass(frozen=True, kw_only=True)
class Sdram:
    """An SDRAM chip on a board.

    Parameters
    ----------
    mhz: clock of the controller and of the chip
    timing, geometry: of the chip
    phase: degrees by which the chip's clock lags behind the controller's; None: the first of 180,
        270, 225, 90 and 135 at which commands and data are sampled safely
    delay: nanoseconds by which clock and data together are late at the controller on their way to
        the chip and back, at least and at most
    skew: nanoseconds between an edge of the chip's clock and its inputs, besides the phase
    pin_registers: whether the board's top has a register at each pin, both ways
    """

    mhz: float
    timing: SdramTiming = field(default_factory=SdramTiming)
    geometry: SdramGeometry = field(default_factory=SdramGeometry)
    phase: int | None = None
    delay: tuple[float, float] = (1.0, 4.0)
    skew: float = 1.0
    pin_registers: bool = False

    def __post_init__(self) -> None:
        if self.mhz <= 0 or self.period < self.timing.t_ck3 - _SLACK:
            most = 1000 / self.timing.t_ck3
            raise ValueError(f"`mhz` must be above 0 and at most {most:.4g}, not {self.mhz}")
        if self._chosen() is None:
            tried = "any phase" if self.phase is None else f"a phase of {self.phase} degrees"
            raise ValueError(f"`mhz` must be one at which {tried} samples safely, not {self.mhz}")

    @property
    def period(self) -> float:
        """Nanoseconds of a cycle."""
        return 1000 / self.mhz

    @property
    def cas(self) -> int:
        """The CAS latency, the shorter one that the clock allows."""
        return 2 if self.period >= self.timing.t_ck2 - _SLACK else 3

    @property
    def clock_phase(self) -> int:
        """Degrees by which the chip's clock lags."""
        phase, _ = self._sampled()
        return phase

    @property
    def cycles(self) -> SdramCycles:
        """The chip's times in cycles."""
        timing = self.timing
        rp = self._least(timing.t_rp)
        lag = self.clock_phase / 360
        return SdramCycles(
            rcd=self._least(timing.t_rcd),
            rp=rp,
            ras=max(self._least(timing.t_ras), self._least(timing.t_rc) - rp),
            rfc=self._least(timing.t_rfc),
            rrd=max(2, self._least(timing.t_rrd)),
            wr=max(2, self._least(timing.t_wr)),
            mrd=max(2, self._least(timing.t_mrd)),
            # A cycle less: a refresh waits for accesses, and so many must end within 64 ms.
            refresh=floor(timing.t_refi / self.period + _SLACK) - 1,
            power_up=self._least(timing.t_power_up),
            cas=self.cas,
            sample=self._sampled()[1] + 2 * self.pin_registers,
            turn=self.cas + ceil(lag + timing.t_hz / self.period - _SLACK),
        )

    def _least(self, time: float) -> int:
        """Cycles that are not shorter than a time."""
        return max(1, ceil(time / self.period - _SLACK))

    def _sampled(self) -> tuple[int, int]:
        chosen = self._chosen()
        assert chosen is not None  # checked when the object was made
        return chosen

    def _chosen(self) -> tuple[int, int] | None:
        """The phase, and the edges from a read's to the one that samples its word."""
        timing, period = self.timing, self.period
        access = timing.t_ac2 if self.cas == 2 else timing.t_ac3
        least, most = self.delay
        for phase in _PHASES if self.phase is None else (self.phase,):
            lag = phase / 360 * period
            if lag < timing.t_is + self.skew or period - lag < timing.t_ih + self.skew:
                continue
            first = lag + (self.cas - 1) * period + access + most
            last = lag + self.cas * period + timing.t_oh + least
            edge = ceil(first / period - _SLACK)
            if edge * period <= last:
                return phase, edge
        return None
