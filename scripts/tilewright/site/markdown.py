"""Markdown for the site: anchors and lists as forges have them, and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

__all__ = ["as_on_forges", "slug", "table", "unbroken_options"]

_FENCE = re.compile(r"^ *(```+|~~~+)")
_ITEM = re.compile(r"^( *)([*+-]|\d+\.) ")


def slug(heading: str, separator: str) -> str:
    """Returns the anchor of a heading as forges make it: lower case, a hyphen for each space."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def as_on_forges(text: str) -> str:
    """Returns a page whose nested lists are indented by four spaces per level.

    Forges nest a list at the column of its item's text, Python-Markdown at multiples of four.
    Lines that continue an item move with it. An item behind a second paragraph gets an empty line
    in front, which Python-Markdown needs there. Code stays as it is.
    """
    lines: list[str] = []
    columns: list[int] = []
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence or (found and not columns):
            if fence and found and found[1].startswith(fence):
                fence = ""
            elif not fence and found:
                fence = found[1]
            lines.append(line)
            continue
        moved = _moved(line, columns)
        if _ITEM.match(moved) and lines and lines[-1].startswith(" ") and not _in_item(lines):
            lines.append("")
        lines.append(moved)
    return "\n".join(lines)


def _in_item(lines: list[str]) -> bool:
    """Returns whether the last paragraph begins with an item of a list."""
    start = next((n for n in range(len(lines), 0, -1) if not lines[n - 1].strip()), 0)
    return any(_ITEM.match(line) for line in lines[start:])


def _moved(line: str, columns: list[int]) -> str:
    """A line of a list at its new place. ``columns`` are those where the texts of the open items
    begin; they are changed."""
    if not line.strip():
        return line
    indent = len(line) - len(line.lstrip())
    item = _ITEM.match(line)
    while columns and indent < columns[-1]:
        columns.pop()
    if not columns and (not item or indent > 3):
        return line  # text behind the list, or code
    depth = len(columns)
    if item:
        columns.append(item.end())
    return " " * (4 * depth + (indent - columns[depth - 1] if depth else indent)) + line.lstrip()


def _cell(text: str) -> str:
    """Text in a cell of a table: what is code stays, the rest has no other meaning."""
    parts = re.split(r"(`[^`]*`)", text.replace("\n", " "))
    parts[::2] = [re.sub(r"([*<\[\]])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts).replace("|", "\\|")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yields the lines of a table; of one without rows nothing. Cells are Markdown's code and plain
    text."""
    body = [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    if body:
        yield f"| {' | '.join(columns)} |"
        yield f"|{'---|' * len(columns)}"
        yield from body
        yield ""


_CELL_CODE = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)
_OPTION = re.compile(r"(?<![\w<-])--?\w[\w-]*(?=[^<>]*</code>)")


def unbroken_options(html: str) -> str:
    """Returns HTML in which the options in the code of tables are spans of a class ``option``."""

    def cell(found: re.Match[str]) -> str:
        return _OPTION.sub(r'<span class="option">\g<0></span>', found[0])

    return _CELL_CODE.sub(cell, html)
