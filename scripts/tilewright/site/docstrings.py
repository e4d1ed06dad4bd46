"""Docstrings as Markdown: an extension of Griffe, which reads them for mkdocstrings.

Sections are titled as NumPy's, but an entry is ``name: text``, and ``Raises`` may be prose. So they
become bold titles and lists, and an ``Example`` is Python; the signature above has the types.
"""

from __future__ import annotations

import re
from textwrap import dedent
from typing import Any

import griffe

__all__ = ["MarkdownDocstrings", "as_markdown"]

_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$\n?", re.MULTILINE)
_ENTRY = re.compile(r"([\w*<>.]+(?:, [\w*<>.]+)*): +(?=\S)")
_ROLE = re.compile(r":(?:func|class|meth|mod|attr|data|exc|obj):`~?([\w.]+)`")


def as_markdown(text: str) -> str:
    """Returns a docstring, without the indentation of its source, as Markdown."""
    text = _ROLE.sub(lambda found: f"`{found[1]}`", text).replace("``", "`")
    head, *rest = _SECTION.split(text)
    parts = [head.rstrip()]
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        body = body.strip("\n")
        if title == "Example":
            text = f"```python\n{dedent(body)}\n```"
        else:
            text = "\n".join(map(_entry, body.split("\n")))
        parts += [f"**{title}**", text]
    return "\n\n".join(filter(None, parts))


def _entry(line: str) -> str:
    """A line of a section, in a list if it begins an entry."""
    found = _ENTRY.match(line)
    if not found:
        return line
    names = ", ".join(f"`{name}`" for name in found[1].split(", "))
    return f"* {names}: {line[found.end() :]}"


class MarkdownDocstrings(griffe.Extension):
    """Rewrites every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrites the docstring of an object, if it has one."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
