"""The shape of an adjacency matrix, and graphs' files looked at before anything of them is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...errors import UserError
from ..common.first_lines import check_first_lines

__all__ = ["check_graph_file", "square"]


def square(check_vertices: Callable[[object, int], None]) -> Callable[..., None]:
    """What refuses a matrix that is no graph's, or of too many vertices, by its name, rows and
    columns."""

    def check_shape(what: object, rows: int, cols: int) -> None:
        if rows != cols:
            raise UserError(f"{what}: an adjacency matrix must be square, not {rows} x {cols}")
        if not rows:
            raise UserError(f"{what}: must have at least one vertex")
        check_vertices(what, rows)

    return check_shape


def check_graph_file(path: Path, check_vertices: Callable[[object, int], None]) -> None:
    """Raise UserError for what a graph's file cannot be, as far as its first lines tell."""
    check_first_lines(path, square(check_vertices))
