"""Whether the matrices of files are square, and alike, or can be multiplied."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...errors import UserError

__all__ = ["check_factors", "check_squares"]


Shapes = Sequence[tuple[Path, tuple[int, ...] | None]]


def check_factors(shapes: Shapes) -> None:
    """Raise UserError unless the second of two matrices has as many rows as the first columns, as
    far as shapes are known."""
    (left, of_left), (right, of_right) = shapes
    if of_left is not None and of_right is not None and of_left[1] != of_right[0]:
        raise UserError(
            f"{right}: must have {of_left[1]} rows, as {left} has columns, not {of_right[0]}"
        )


def check_squares(shapes: Shapes) -> None:
    """Raise UserError unless all matrices are square, of one side, as far as shapes are known."""
    known = [(path, shape) for path, shape in shapes if shape is not None]
    for path, (rows, cols) in known:
        if rows != cols:
            raise UserError(f"{path}: must be square, not {rows} x {cols}")
    for path, (rows, _) in known:
        first, (side, _) = known[0]
        if rows != side:
            raise UserError(f"{path}: must have {side} rows, as {first} has, not {rows}")
