"""What the registers of the hardware add to the cycles of jobs, in one place."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PIPELINE", "Pipeline"]


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """Cycles that a job takes beside those that its sizes and the array's ask for.

    Parameters
    ----------
    begin: from the cycle in which a command is taken to that of the first operand at row 0 and
        column 0
    reload: between folds with a stationary operand, beside twice the rows; elements alone would do
        with -1
    turn: between the sums of two folds that leave down the same column, beside the rows; elements
        alone would do with 0
    sums: from the last sum that leaves a column to the cycle in which its result is in memory, of
        integers
    float_sums: the same from the last product of limbs, of floats, beside the adder's registers
    vectors: the same of vector operations
    """

    begin: int = 3
    reload: int = 0
    turn: int = 1
    sums: int = 5
    float_sums: int = 3
    vectors: int = 5


PIPELINE = Pipeline()
"""Of the hardware. First estimates: no RTL has been measured."""
