"""What a Matrix Market file must satisfy before its values are believed.

SciPy's reader accepts a few files that contradict themselves: more values on a line than the
header's field has, values outside the type that a ``%%GraphBLAS type`` line declares, and words
that only begin like a number. Files are therefore checked line by line first, and read by SciPy
afterwards. NumPy tells of most pieces of a file at once that nothing is wrong with their lines.

Source: The Matrix Market Exchange Formats (NIST IR 5935); LAGraph's ``%%GraphBLAS type`` line.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import UserError
from .limits import check_size
from .market_header import INTEGER_TYPES, VALUES, Header, Lines, is_count, quoted, read_header

__all__ = ["check_matrix_market", "refused_line"]

_INTEGER = re.compile(r"-?[0-9]{1,4000}")
_NUMBER = re.compile(r"-?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)", re.I | re.A)
"""What SciPy reads as a whole."""
_PIECE = 1 << 14
"""Lines that are looked at at once."""
_PLUS = re.compile(rb"(?<![eE])\+")
"""What NumPy reads, and SciPy does not."""


def check_matrix_market(
    path: Path, content: bytes, check_shape: Callable[..., None] = check_size
) -> Header:
    """The header of a file's content, after checking every line of it.

    ``check_shape`` is given the path, the rows and the columns before the entries are read, and
    refuses what is too large. Raises UserError that names the file, the line, what is wrong and
    what is allowed.
    """
    source = Lines(path, iter(content.splitlines()))
    header = read_header(source)
    check_shape(path, header.rows, header.cols)
    _check_entries(source, header)
    return header


def _check_entries(source: Lines, header: Header) -> None:
    found = 0
    while piece := list(islice(source.lines, _PIECE)):
        right = _right_entries(piece, header)
        if right is None or found + right > header.entries:
            right = _check_lines(Lines(source.path, iter(piece), source.number), header, found)
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


def _check_lines(source: Lines, header: Header, found: int) -> int:
    """How many entries lines have, each looked at; ``found``: those of the lines before them."""
    before = found
    indices = 2 if header.layout == "coordinate" else 0
    width = indices + VALUES[header.field]
    bounds = INTEGER_TYPES.get(header.declared or "")
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
            raise source.refuse(f"an entry of a {kind} file must be {numbers}, not {quoted(line)}")
        if indices:
            _check_index(source, words, header)
            if header.symmetry == "skew-symmetric" and int(words[0]) == int(words[1]):
                raise source.refuse(
                    f"a skew-symmetric matrix has no entries on its diagonal, not {quoted(line)}"
                )
        for word in words[indices:]:
            _check_value(source, word, header, bounds)
    return found - before


def _check_index(source: Lines, words: list[str], header: Header) -> None:
    for word, name, size in (
        (words[0], "row", header.rows),
        (words[1], "column", header.cols),
    ):
        if not is_count(word) or not 1 <= int(word) <= size:
            raise source.refuse(f"{name} index {quoted(word)} must be an integer in 1..{size}")


def _check_value(source: Lines, word: str, header: Header, bounds: tuple[int, int] | None) -> None:
    whole = header.field == "integer"
    if not (_INTEGER if whole else _NUMBER).fullmatch(word):
        kind = "an integer" if whole else "a number"
        raise source.refuse(f"value {quoted(word)} must be {kind}")
    value = int(word) if whole else float(word)
    if math.isinf(value) and "inf" not in word.lower():
        raise source.refuse(f"value {quoted(word)} must be one that float64 reaches")
    if bounds and not (bounds[0] <= value <= bounds[1] and value == int(value)):
        low, high = bounds
        raise source.refuse(
            f"value {word} must be in {low}..{high}, the range of the declared type "
            f"{header.declared}"
        )
    if whole and abs(value) > 1 << 53:
        raise source.refuse(f"value {quoted(word)} must lie within -2^53..2^53")


def refused_line(content: bytes, message: str) -> str:
    """What SciPy says of a line that it does not read, with the line."""
    found = re.match(r"Line (\d+): (.*?)\.?$", message)
    lines = content.splitlines()
    if not found or not 1 <= int(found[1]) <= len(lines):
        return message
    text = lines[int(found[1]) - 1].decode("latin-1")
    return f"line {found[1]}: {found[2]}: {quoted(text)}"
