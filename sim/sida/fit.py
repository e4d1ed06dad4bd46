"""Checks that a computation fits an accelerator, and that the cycle model has it."""

from __future__ import annotations

from collections.abc import Sequence

from ...hw.spec.semirings import Semiring
from ...hw.spec.sida import SidaConfig


def check_fit(config: SidaConfig, size: int, semirings: Sequence[Semiring], words: int) -> None:
    """Raise ValueError if a matrix of so many rows, products of these semirings or a program of so
    many words do not fit."""
    if not 1 <= size <= config.most_rows:
        name = "rows_limit" if config.windowed else "vector_words"
        raise ValueError(
            f"the matrix must have between 1 and {config.most_rows} rows with "
            f"`{name}` {config.most_rows}, not {size}"
        )
    for row in semirings:
        if row not in config.operators:
            built = ", ".join(one.name for one in config.operators)
            raise ValueError(f"`semiring` must be one of {built}, which are built, not {row.name}")
    if words > config.program_words:
        raise ValueError(
            f"`program_words` must be a power of two of at least {words}, the words of the "
            f"program, not {config.program_words}"
        )


def check_modelled(config: SidaConfig) -> None:
    """Raise ValueError if the cycle model does not have such an accelerator."""
    if config.windowed:
        raise ValueError(
            "`rows_limit` must be 0 for the cycle model, whose vectors are on chip, "
            f"not {config.rows_limit}"
        )
