"""Matrices from files, rounded to the format that a unit takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...errors import UserError
from ..common.matrix_files import read_matrix
from ..common.rounding import Rounded, warn_rounding
from .unit_choice import UnitChoice

__all__ = ["read_rounded"]


def read_rounded(choice: UnitChoice, path: Path, *, addend: bool = False) -> Rounded:
    """A file's matrix rounded to the format of the operands, or to that of the addend."""
    matrix, numbers = read_matrix(path), choice.numbers
    if np.iscomplexobj(matrix) and not numbers.pairs:
        raise UserError(f"{path}: holds complex numbers, which mode {choice.mode} does not take; "
                        f"only mode fp32c does")  # fmt: skip
    rounded = (numbers.accumulators if addend else numbers.operands)(matrix)
    warn_rounding(path, rounded, numbers.result if addend else numbers.element)
    return rounded
