"""Checks the first lines of the file of a matrix or a graph before it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from ...errors import UserError
from .files import MARKET, check_array_name, kind_of
from .limits import check_size
from .market_header import Lines, packed_lines, read_header

__all__ = ["check_first_lines", "check_graph_file", "square"]


def check_first_lines(
    path: Path, check_shape: Callable[..., None] = check_size
) -> tuple[int, int] | None:
    """The rows and columns that a Matrix Market file claims; None if only reading a file tells,
    for it is a NumPy file, or one that can be read but once.

    ``check_shape`` is given the path, the rows and the columns. Raises UserError if the file
    cannot be read, is named as none that can, or its header is malformed.
    """
    check_array_name(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        return None
    try:
        with path.open("rb") as file:
            if (kind := kind_of(path)) not in MARKET:
                return None
            lines = _lines(file) if kind == ".mtx" else packed_lines(path, file)
            header = read_header(Lines(path, lines))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    check_shape(path, header.rows, header.cols)
    return header.rows, header.cols


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    for line in file:
        yield from line.splitlines()


def square(check_vertices: Callable[[object, int], None]) -> Callable[..., None]:
    """Returns a check on rows and columns that refuses matrices that are not square, are empty, or
    have too many vertices."""

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
