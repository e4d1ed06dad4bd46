"""What stands above a module: what its component is, in the words of its docstring."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator

from amaranth.lib import wiring

__all__ = ["comment_of"]

COLUMNS = 100 - len("// ")


def _docstring(component: wiring.Component) -> str:
    """The docstring of the component's class, or of the nearest class above that has one."""
    for above in type(component).__mro__:
        if above is wiring.Component:
            break
        if above.__doc__:
            return inspect.cleandoc(above.__doc__)
    return ""


def _first_sentence(docstring: str) -> str:
    """The first sentence without markup; of a heading without a full stop, the first line."""
    first = " ".join(docstring.partition("\n\n")[0].splitlines())
    sentence = re.match(r".*?\.(?= |$)", first)
    plain = sentence[0] if sentence else docstring.partition("\n")[0]
    return re.sub(r"(?::\w+:)?`+([^`]*)`+", r"\1", plain)


def _paper(docstring: str) -> str:
    """Paper and section: what follows "Source:", without the remarks after it."""
    match = re.search(r"^Source: (.*?)(?:[;.]\s|\.?(?:\n\n|\Z))", docstring, re.M | re.S)
    return " ".join(match[1].split()) if match else ""


def comment_of(component: wiring.Component, source: str = "") -> Iterator[str]:
    """The first sentence of the docstring, and the paper that it names, or else ``source``."""
    docstring = _docstring(component)
    paper = _paper(docstring) or source
    texts = [_first_sentence(docstring), f"Source: {paper}." if paper else ""]
    for text in filter(None, texts):
        yield from textwrap.wrap(text, COLUMNS)
