"""XML elements, as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Element", "described", "document", "element", "versioned"]

_NAMESPACE = "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_MARKS = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


def _escaped(text: str) -> str:
    """Removes the characters that XML cannot hold from a text. (The library's own functions import
    all of urllib.)"""
    return _CONTROL.sub("", text).translate(_MARKS)


@dataclass(frozen=True)
class Element:
    """An element of IP-XACT: a text, or elements.

    Parameters
    ----------
    name: without the namespace
    content: what is in it
    attributes: their values by name
    """

    name: str
    content: str | tuple[Element, ...] = ()
    attributes: dict[str, str] = field(default_factory=dict)

    def lines(self, indent: str = "") -> Iterator[str]:
        given = "".join(f' {key}="{_escaped(value)}"' for key, value in self.attributes.items())
        start = f"{indent}<ipxact:{self.name}{given}"
        if not self.content:
            yield f"{start}/>"
        elif isinstance(self.content, str):
            yield f"{start}>{_escaped(self.content)}</ipxact:{self.name}>"
        else:
            yield f"{start}>"
            for inner in self.content:
                yield from inner.lines(f"{indent}  ")
            yield f"{indent}</ipxact:{self.name}>"


def element(name: str, /, *content: Element | str | int | None, **attributes: str) -> Element:
    """Makes an element from a text, a number, or elements; elements that are None are left out."""
    if len(content) == 1 and isinstance(content[0], str | int):
        return Element(name, str(content[0]), attributes)
    return Element(name, tuple(x for x in content if isinstance(x, Element)), attributes)


def described(name: str, doc: str) -> tuple[Element, Element | None]:
    """Elements that most others begin with: a name and a remark."""
    return element("name", name), element("description", doc) if doc else None


def versioned(vendor: str, library: str, name: str, version: str) -> dict[str, str]:
    """The four parts of the name of something that has versions."""
    return {"vendor": vendor, "library": library, "name": name, "version": version}


def document(root: Element, remarks: list[str]) -> str:
    """The file of an element and all that is in it, with remarks above it."""
    said = "\n".join(remarks).replace("--", "- -")
    spaces = {
        "xmlns:ipxact": _NAMESPACE,
        "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
        "xsi:schemaLocation": f"{_NAMESPACE} {_NAMESPACE}/index.xsd",
    }
    top = Element(root.name, root.content, spaces)
    head = ['<?xml version="1.0" encoding="UTF-8"?>', f"<!--\n{said}\n-->"]
    return "\n".join([*head, *top.lines(), ""])
