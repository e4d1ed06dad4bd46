"""Registers of a job for a part that reads only some of them."""

from __future__ import annotations

from tilewright.hw.spec.jobs.sida import BASES, VECTOR_BASES


def job_registers(**given: int) -> dict[str, int]:
    """Zero but for those that are given."""
    numbers = ("ROWS", "PASSES", "SECOND_PRODUCT", "TRANSPOSED", "WORDS", "ENTRY")
    bases = (name.upper() for name in (*BASES, *VECTOR_BASES))
    return dict.fromkeys((*numbers, *bases), 0) | given
