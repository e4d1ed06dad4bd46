"""Whether the matrices of files are square, and alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...errors import UserError

__all__ = ["check_squares"]


def check_squares(shapes: Sequence[tuple[Path, tuple[int, ...] | None]]) -> None:
    """Raise UserError unless all matrices are square, of one side, as far as shapes are known."""
    known = [(path, shape) for path, shape in shapes if shape is not None]
    for path, (rows, cols) in known:
        if rows != cols:
            raise UserError(f"{path}: must be square, not {rows} x {cols}")
    for path, (rows, _) in known:
        first, (side, _) = known[0]
        if rows != side:
            raise UserError(f"{path}: must have {side} rows, as {first} has, not {rows}")
