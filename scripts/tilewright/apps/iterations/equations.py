"""Systems of equations in files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ..common.rounding import round_to
from .inputs import Source, matrix_of, read_vector
from .options import SidaChoice

__all__ = ["Equations", "check_symmetric", "read_equations"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Equations:
    """A system from files.

    Parameters
    ----------
    file: of the matrix
    matrix: SciPy CSR
    right: the file of the right side; None: ones
    b: the right side
    """

    file: Path
    matrix: Any
    right: Path | None
    b: Floats

    @property
    def size(self) -> int:
        return len(self.b)

    @property
    def source(self) -> Source:
        right = None if self.right is None else str(self.right)
        return Source(
            path=self.file,
            kind="matrix",
            text=f"{self.size:,} x {self.size:,}",
            details={"rows": self.size, "right": right},
        )


def read_equations(choice: SidaChoice, file: Path, right: Path | None) -> Equations:
    """UserError for files that hold no system, or one that does not fit."""
    matrix = matrix_of(choice, file)
    size = matrix.shape[0]
    b = np.ones(size) if right is None else _right_side(right, size)
    _check_square(choice, right or f"{size:,} ones, the right side", b)
    return Equations(file=file, matrix=matrix, right=right, b=b)


def _right_side(path: Path, size: int) -> Floats:
    found = read_vector(path, size)
    wrong = ~np.isfinite(found)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise UserError(f"{path}: value {place + 1} is {found[place]:g}; values must be finite")
    if not found.any():
        raise UserError(f"{path}: values must not all be 0")
    return found


def _check_square(choice: SidaChoice, what: object, b: Floats) -> None:
    """UserError if the format of values does not hold the sum of a right side's squares."""
    fmt = choice.config.format
    with np.errstate(over="ignore", under="ignore"):
        [square] = round_to(np.array([b @ b]), fmt).values
    if not np.isfinite(square) or not square:
        raise UserError(
            f"{what}: the sum of the values' squares must be finite and above 0 in {fmt.name}, "
            f"not {square:g}"
        )


def check_symmetric(path: Path, matrix: Any) -> None:
    """UserError with the first element that is not the same in its place and its mirrored one."""
    different = (matrix != matrix.T).tocoo()
    if different.nnz:
        place = int(different.row[0]), int(different.col[0])
        said = [
            f"the value of row {row + 1}, column {column + 1} is {matrix[row, column]:g}"
            for row, column in (place, place[::-1])
        ]
        raise UserError(
            f"{path}: {', '.join(said)}; the matrix must be symmetric; "
            "run bicgstab and gmres take others"
        )
