"""What a Matrix Market file must satisfy before its values are believed.

SciPy's reader accepts a few files that contradict themselves: more values on a line than the
header's field has, values outside the type that a ``%%GraphBLAS type`` line declares, and words
that only begin like a number. Files are therefore checked line by line first, and read by SciPy
afterwards. NumPy tells of most pieces of a file at once that nothing is wrong with their lines.
Comments may be in any encoding.

Source: The Matrix Market Exchange Formats (NIST IR 5935); LAGraph's ``%%GraphBLAS type`` line.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import UserError
from .limits import check_size

__all__ = ["Header", "check_matrix_market", "refused_line"]

_LAYOUTS = ("coordinate", "array")
_VALUES = {"real": 1, "complex": 2, "integer": 1, "pattern": 0}
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
_INTEGER_TYPES = {"bool": (0, 1)} | {
    f"{sign}int{bits}_t": (0, 2**bits - 1) if sign else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for bits in (8, 16, 32, 64)
    for sign in ("", "u")
}
_INTEGER = re.compile(r"-?[0-9]{1,4000}")
_NUMBER = re.compile(r"-?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)", re.I | re.A)
"""What SciPy reads as a whole."""
_LONGEST = 60
_PIECE = 1 << 14
"""Lines that are looked at at once."""
_PLUS = re.compile(rb"(?<![eE])\+")
"""What NumPy reads, and SciPy does not."""
_FLOAT_TYPES = ("float", "double")
_COMPLEX_TYPES = ("float complex", "double complex")


@dataclass(frozen=True)
class Header:
    """The first lines: what the file holds."""

    layout: str
    field: str
    symmetry: str
    declared: str | None
    rows: int
    cols: int
    entries: int


@dataclass
class _Lines:
    """The lines of a file with their numbers, and the way to complain about one."""

    path: Path
    lines: Iterator[bytes]
    number: int = 0

    def next(self) -> str | None:
        line = next(self.lines, None)
        self.number += line is not None
        return None if line is None else line.decode("latin-1")

    def refuse(self, what: str) -> UserError:
        return UserError(f"{self.path}: line {self.number}: {what}")


def check_matrix_market(
    path: Path, content: bytes, check_shape: Callable[..., None] = check_size
) -> Header:
    """The header of a file's content, after checking every line of it.

    ``check_shape`` is given the path, the rows and the columns before the entries are read, and
    refuses what is too large. Raises UserError that names the file, the line, what is wrong and
    what is allowed.
    """
    source = _Lines(path, iter(content.splitlines()))
    layout, field, symmetry = _banner(source)
    line = source.next()
    declared = None
    while line is not None and (line.startswith("%") or not line.strip()):
        if line.lower().startswith("%%graphblas"):
            declared = _declared_type(source, line, field)
        line = source.next()
    header = _sizes(source, line, layout, field, symmetry, declared)
    check_shape(path, header.rows, header.cols)
    _check_entries(source, header)
    return header


def _banner(source: _Lines) -> tuple[str, str, str]:
    line = source.next()
    allowed = "%%MatrixMarket matrix coordinate|array real|complex|integer|pattern general|..."
    if line is None:
        raise UserError(f"{source.path}: the file is empty; its header must read {allowed}")
    words = line.lower().split()
    if len(words) != 5 or words[0] != "%%matrixmarket":
        raise source.refuse(
            f"not a Matrix Market header; it must read {allowed}, not {_quoted(line)}"
        )
    _, kind, layout, field, symmetry = words
    for word, choices in (
        (kind, ("matrix",)), (layout, _LAYOUTS), (field, tuple(_VALUES)), (symmetry, _SYMMETRIES)
    ):  # fmt: skip
        if word not in choices:
            allowed = ", ".join(choices)
            one_of = "one of " if len(choices) > 1 else ""
            raise source.refuse(f"{_quoted(word)} in the header must be {one_of}{allowed}")
    if field == "pattern" and layout == "array":
        raise source.refuse("an array cannot be a pattern; it must be real, complex or integer")
    if field == "pattern" and symmetry not in ("general", "symmetric"):
        raise source.refuse(f"a pattern must be general or symmetric, not {symmetry}")
    if symmetry == "hermitian" and field != "complex":
        raise source.refuse(f"a hermitian matrix must be complex, not {field}")
    return layout, field, symmetry


def _declared_type(source: _Lines, line: str, field: str) -> str:
    words = line.split()
    declared = " ".join(words[2:])
    known = (*_INTEGER_TYPES, *_FLOAT_TYPES, *_COMPLEX_TYPES)
    if words[1:2] != ["type"] or declared not in known:
        raise source.refuse(f"GraphBLAS type {_quoted(declared)} must be one of {', '.join(known)}")
    if field != "pattern" and (declared in _COMPLEX_TYPES) != (field == "complex"):
        raise source.refuse(f"GraphBLAS type {declared} contradicts the header's field {field}")
    return declared


def _sizes(
    source: _Lines, line: str | None, layout: str, field: str, symmetry: str, declared: str | None
) -> Header:
    names = ("rows", "columns", "entries")[: 3 if layout == "coordinate" else 2]
    words = (line or "").split()
    if len(words) != len(names) or not all(_is_count(word) for word in words):
        found = "the end of the file" if line is None else _quoted(line)
        raise source.refuse(
            f"the size line must be {len(names)} counts: {', '.join(names)}, not {found}"
        )
    rows, cols = int(words[0]), int(words[1])
    if symmetry != "general" and rows != cols:
        raise source.refuse(f"a {symmetry} matrix must be square, not {rows} x {cols}")
    if layout == "coordinate":
        entries = int(words[2])
    elif symmetry == "general":
        entries = rows * cols
    else:
        entries = rows * (rows - 1) // 2 if symmetry == "skew-symmetric" else rows * (rows + 1) // 2
    if entries > rows * cols:
        raise source.refuse(f"{entries} entries do not fit {rows} x {cols}")
    return Header(layout, field, symmetry, declared, rows, cols, entries)


def _is_count(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 19


def _check_entries(source: _Lines, header: Header) -> None:
    found = 0
    while piece := list(islice(source.lines, _PIECE)):
        right = _right_entries(piece, header)
        if right is None or found + right > header.entries:
            right = _check_lines(_Lines(source.path, iter(piece), source.number), header, found)
        found += right
        source.number += len(piece)
    if found != header.entries:
        raise UserError(f"{source.path}: {found} entries, but the size line says {header.entries}")


def _right_entries(lines: list[bytes], header: Header) -> int | None:
    """How many entries lines have, if nothing can be wrong with any; None if something may be."""
    text = b"\n".join(lines)
    narrow = header.layout == "coordinate" and header.field != "complex"
    if not narrow or header.declared or not text.isascii() or _PLUS.search(text):
        return None
    fields: list[tuple[str, Any]] = [("row", np.int64), ("col", np.int64)]
    if header.field != "pattern":
        fields.append(("value", np.int64 if header.field == "integer" else np.float64))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            table = np.loadtxt(io.StringIO(text.decode()), dtype=fields, comments=None, ndmin=1)
        except (ValueError, OverflowError, Warning):
            return None
    right = True
    for name, size in (("row", header.rows), ("col", header.cols)):
        right &= bool(table[name].min() >= 1 and table[name].max() <= size)
    if header.symmetry == "skew-symmetric":
        right &= bool((table["row"] != table["col"]).all())
    if header.field == "integer":
        right &= bool((np.abs(table["value"] // 2) < 1 << 52).all())
    elif header.field == "real":
        right &= not np.isinf(table["value"]).any()
    return len(table) if right else None


def _check_lines(source: _Lines, header: Header, found: int) -> int:
    """How many entries lines have, each looked at; ``found``: those of the lines before them."""
    before = found
    indices = 2 if header.layout == "coordinate" else 0
    width = indices + _VALUES[header.field]
    bounds = _INTEGER_TYPES.get(header.declared or "")
    while (line := source.next()) is not None:
        words = line.split()
        if not words:
            continue
        found += 1
        if found > header.entries:
            raise source.refuse(f"more entries than the {header.entries} of the size line")
        if len(words) != width:
            numbers = f"{width} numbers" if width > 1 else "1 number"
            kind = f"{header.layout} {header.field}"
            raise source.refuse(f"an entry of a {kind} file must be {numbers}, not {_quoted(line)}")
        if indices:
            _check_index(source, words, header)
            if header.symmetry == "skew-symmetric" and int(words[0]) == int(words[1]):
                raise source.refuse(
                    f"a skew-symmetric matrix has no entries on its diagonal, not {_quoted(line)}"
                )
        for word in words[indices:]:
            _check_value(source, word, header, bounds)
    return found - before


def _check_index(source: _Lines, words: list[str], header: Header) -> None:
    for word, name, size in (
        (words[0], "row", header.rows),
        (words[1], "column", header.cols),
    ):
        if not _is_count(word) or not 1 <= int(word) <= size:
            raise source.refuse(f"{name} index {_quoted(word)} must be an integer in 1..{size}")


def _check_value(source: _Lines, word: str, header: Header, bounds: tuple[int, int] | None) -> None:
    whole = header.field == "integer"
    if not (_INTEGER if whole else _NUMBER).fullmatch(word):
        kind = "an integer" if whole else "a number"
        raise source.refuse(f"value {_quoted(word)} must be {kind}")
    value = int(word) if whole else float(word)
    if math.isinf(value) and "inf" not in word.lower():
        raise source.refuse(f"value {_quoted(word)} must be one that float64 reaches")
    if bounds and not (bounds[0] <= value <= bounds[1] and value == int(value)):
        low, high = bounds
        raise source.refuse(
            f"value {word} must be in {low}..{high}, the range of the declared type "
            f"{header.declared}"
        )
    if whole and abs(value) > 1 << 53:
        raise source.refuse(f"value {_quoted(word)} must lie within -2^53..2^53")


def refused_line(content: bytes, message: str) -> str:
    """What SciPy says of a line that it does not read, with the line."""
    found = re.match(r"Line (\d+): (.*?)\.?$", message)
    lines = content.splitlines()
    if not found or not 1 <= int(found[1]) <= len(lines):
        return message
    text = lines[int(found[1]) - 1].decode("latin-1")
    return f"line {found[1]}: {found[2]}: {_quoted(text)}"


def _quoted(text: str) -> str:
    """What a file holds, no longer than a message can be."""
    return repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...")
