"""Describes a job's dense operands, mode by mode."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Mux, Value

from ...spec.tensaurus import KERNELS

__all__ = ["is_scalar", "row_parts"]


def is_scalar(job: Any, mode: int) -> Value:
    """Returns whether the operand of a mode has scalars. TTMc has them in all modes but the last
    one, SpMV has them in its vector."""
    mv = (job.kernel == KERNELS.index("mv")) & (mode == 1)
    ttmc = (job.kernel == KERNELS.index("ttmc")) & (job.order != mode + 1)
    return mv | ttmc


def row_parts(job: Any, mode: int) -> Value:
    """Units of a row of the operand, or its scalars."""
    scalars: Value = getattr(job, f"scalars_{mode}") if mode < 3 else Const(1)
    return Mux(is_scalar(job, mode), scalars, job.vectors)
