"""What the registers of the hardware add to the cycles of jobs, in one place."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PIPELINE", "Pipeline"]


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """Cycles that a job takes beside those of its folds.

    Parameters
    ----------
    begin: from that in which a command is taken to that in which its first fold begins
    sums: from the last sum that leaves a column to the end of the command, of integers, where the
        configuration's have one limb; each doubling of the most limbs takes one more
    float_sums: the same from the last product of limbs, of floats, beside the adder's registers
    emptied: between commands of floats whose products come less than 8 cycles apart, from when a
        fold could follow to when the next command's first one begins, beside two for each row
    vectors: the same of vector operations, from the last step of the last column; of floats there
        are the adder's registers
    taken: between vector operations at least, from when one is taken to when the next one is
    """

    begin: int = 2
    sums: int = 9
    float_sums: int = 9
    emptied: int = 22
    vectors: int = 6
    taken: int = 8


PIPELINE = Pipeline()
"""Of the hardware, as the RTL has them."""
