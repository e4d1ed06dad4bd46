"""The brute-force fp32 matrix unit, for comparison."""

from __future__ import annotations

from .baseline import BaselineUnit

__all__ = ["WideUnit"]


class WideUnit(BaselineUnit):
    """``d = a * b + c`` in fp16, bf16, tf32 or fp32 on 24-bit multipliers, initiation interval 1.

    Twice the operand bandwidth of the other units: lanes are 32 bits wide, and every element
    takes one, in its low bits.

    Parameters
    ----------
    config: see :class:`WideConfig`
    """

    SIGNIFICAND_BITS = 24
