"""Units of the paper as the model has them: Google's TPU and Volta's tensor cores (section 2).

Blocks and words are the paper's figures. It gives no figure of latency: of the TPU it says that it
is high, as right operands are encoded by software, of Volta's that it is low. What it does say is
that of a systolic unit the first result comes after sqrt(m) or more: that least latency is l here,
so that what a preset pays for calls is a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

__all__ = ["PRESETS", "TPU", "VOLTA", "Preset"]


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
