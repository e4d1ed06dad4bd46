"""Units of the paper as the model has them: Google's TPU and Volta's tensor cores (section 2).

Blocks and words are the paper's figures. It gives no figure of latency: of the TPU it says that it
is high, as right operands are encoded by software, of Volta's that it is low. What it does say is
that of a systolic unit the first result comes after sqrt(m) or more: that least latency is l here,
so that what a preset pays for calls is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from .cost import UnitWork

LONGEST = 4096
"""Rows of the longest call that a unit is calibrated on."""


@dataclass(frozen=True)
class Calibration:
    """``cycles = a n s + l`` of a call of n rows.

    Parameters
    ----------
    name: of the backend
    side: s
    word_cycles: a, cycles of a word of the left operand
    latency_cycles: l, in cycles
    r_squared: of the fit, 1 if it is exact
    """

    name: str
    side: int
    word_cycles: float
    latency_cycles: float
    r_squared: float

    @property
    def latency(self) -> float:
        """l in the time of a word: what :class:`TensorUnit` takes."""
        return self.latency_cycles / self.word_cycles

    @property
    def half_rows(self) -> float:
        """Rows of a call of which latency is half of the time."""
        return self.latency / self.side

    def cycles(self, work: UnitWork) -> float:
        """Cycles that the model predicts for calls and rows."""
        return self.word_cycles * work.rows * self.side + self.latency_cycles * work.calls


def calibrated_rows(side: int) -> list[int]:
    """Rows of the calls that a unit of a side is calibrated on: s, 2 s, 4 s, ... 4096."""
    rows = [side]
    while rows[-1] * 2 <= LONGEST:
        rows.append(rows[-1] * 2)
    return rows


def fit(name: str, side: int, rows: Sequence[int], cycles: Sequence[int]) -> Calibration:
    """Fits cycles to words by least squares, with no latency below 0, in exact fractions.

    Raises ValueError if rows are not of two lengths or more.
    """
    words, count = [n * side for n in rows], len(rows)
    mean_x, mean_y = Fraction(sum(words), max(count, 1)), Fraction(sum(cycles), max(count, 1))
    spread = sum((x - mean_x) ** 2 for x in words)
    if not spread:
        raise ValueError(f"`rows` must be of two lengths or more, not {list(rows)}")
    both = sum((x - mean_x) * (y - mean_y) for x, y in zip(words, cycles, strict=True))
    slope = both / spread
    start = mean_y - slope * mean_x
    if start < 0:
        slope = Fraction(sum(x * y for x, y in zip(words, cycles, strict=True)))
        slope /= sum(x * x for x in words)
        start = Fraction(0)
    left = sum((y - slope * x - start) ** 2 for x, y in zip(words, cycles, strict=True))
    total = sum((y - mean_y) ** 2 for y in cycles)
    squared = 1 - left / total if total else Fraction(1)
    return Calibration(name, side, float(slope), float(start), float(squared))


def calibrate(name: str, side: int, call_cycles: Callable[[int], int]) -> Calibration:
    """The fit to calls of s, 2 s, 4 s, ... 4096 rows, from what a call of so many rows takes."""
    rows = calibrated_rows(side)
    return fit(name, side, rows, [call_cycles(n) for n in rows])


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A unit.

    Parameters
    ----------
    name: on the command line
    unit: in words
    m: words of a block
    word_bits: kappa
    most_rows: of a left operand; 0 if the paper has no bound. The model has none, and none is kept
    """

    name: str
    unit: str
    m: int
    word_bits: int
    most_rows: int = 0

    @property
    def side(self) -> int:
        """s."""
        return isqrt(self.m)

    @property
    def latency(self) -> int:
        """l, in the time of a word: sqrt(m), the least of a systolic unit."""
        return self.side


TPU = Preset(
    name="tpu", unit="Google's TPU, first version", m=256 * 256, word_bits=8, most_rows=96 * 1024
)
VOLTA = Preset(name="volta", unit="NVIDIA's tensor cores, Volta", m=16 * 16, word_bits=16)

PRESETS = {one.name: one for one in (TPU, VOLTA)}
"""Presets by name."""
