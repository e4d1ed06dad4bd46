"""Workloads at a size that the RTL computes in seconds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..schedule.block_cost import PGemm
from .nine import Workload

__all__ = ["reduced"]


_LONGEST = 2048


def reduced(workload: Workload, most: int) -> Workload:
    """The same p-GEMMs, smaller, those that are alike once.

    Of each p-GEMM the longest of M, N and K is halved, rounded up, until it is at most 2,048 and
    the p-GEMM has its part of ``most`` multiplications of limbs; all have the same part.
    """
    parts = [part for _, part in workload.parts]
    each = most // len(parts)
    found = Counter(_halved(part, each) for part in parts)
    return Workload(what=workload.what, parts=tuple((1, part) for part in found))


def _halved(part: PGemm, most: int) -> PGemm:
    while True:
        sizes = [part.m, part.n, part.k]
        longest = max(sizes)
        if longest <= _LONGEST and (part.limb_products <= most or longest == 1):
            return part
        sizes[sizes.index(longest)] = -(-longest // 2)
        part = replace(part, m=sizes[0], n=sizes[1], k=sizes[2])
