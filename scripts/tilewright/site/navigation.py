"""The navigation of the site, in the order of ``docs/README.md``."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["KINDS", "navigation", "places"]

KINDS = ("Tutorials", "How-to guides", "Reference", "Explanation")
"""The four kinds of page: sections of ``docs/README.md``."""

_HEADING = re.compile(r"^(##+) +(.*?) *$")
_ROW = re.compile(r"^\| *\[([^]]+)\]\(([^)#]+)\)")

Nav = list[Any]


def places(text: str, folder: str = "docs") -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yields each page that a row of ``docs/README.md`` begins with: the headings above it, its
    title and its path in the repository."""
    above: list[str] = []
    for line in text.splitlines():
        if heading := _HEADING.match(line):
            del above[len(heading[1]) - 2 :]
            above.append(heading[2])
        elif above and above[0] in KINDS and (row := _ROW.match(line)):
            title = row[1][0].upper() + row[1][1:]
            yield tuple(above), title, posixpath.normpath(posixpath.join(folder, row[2]))


def navigation(text: str, first: Nav, generated: dict[str, str]) -> Nav:
    """Returns the ``nav`` of the configuration of MkDocs.

    Parameters
    ----------
    text: of ``docs/README.md``
    first: what stands in front of the four kinds
    generated: titles of pages by path, which are put behind the others of the kind and into the
        group that their folder names: ``reference/units/m3xu.md`` into "Units" of "Reference"
    """
    found: Nav = list(first)
    for above, title, path in places(text):
        _group(found, above).append({title: path})
    for path, title in generated.items():
        above = tuple(part[0].upper() + part[1:].replace("-", " ") for part in path.split("/")[:-1])
        _group(found, above).append({title: path})
    return found


def _group(nav: Nav, titles: tuple[str, ...]) -> Nav:
    """The list under titles, which is made where there is none."""
    for title in titles:
        group = next((one[title] for one in nav if title in one and type(one[title]) is list), None)
        if group is None:
            group = []
            nav.append({title: group})
        nav = group
    return nav
