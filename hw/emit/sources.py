"""Finds a module's source in the Python: file and line of it and of its signals, and the words of
its component's docstring that are printed above it in the Verilog."""

from __future__ import annotations

import inspect
import os
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from amaranth.hdl._ir import Design
from amaranth.lib import wiring

__all__ = ["ModuleSource", "comment_of", "signal_lines"]

_PACKAGE = Path(__file__).parents[2]
_BELOW = f"{_PACKAGE}{os.sep}"


@dataclass(frozen=True)
class ModuleSource:
    """Source of a module.

    Parameters
    ----------
    component: class of its component
    signals: file and line of its signals by their names in the Verilog; without those that another
        package makes
    """

    component: type
    signals: Mapping[str, str]

    def line(self, signal: str = "") -> str:
        """File and line of a signal, or else of the component's class, as
        ``hw/simd2/control.py:55``; empty where the class has no file."""
        if signal in self.signals:
            return self.signals[signal]
        try:
            _, line = inspect.getsourcelines(self.component)
        except (OSError, TypeError):
            return ""
        return f"{_file_of(self.component)}:{line}"


def _file_of(component: type) -> str:
    """The file of a class below the package, or of another package with the package's name."""
    words = component.__module__.split(".")
    folders = words[1:] if words[0] == _PACKAGE.name else words
    return f"{'/'.join(folders)}.py"


def signal_lines(design: Design) -> dict[str, str]:
    """File and line of the signals of an elaborated component that the package makes; of two with
    one name those of the outer one."""
    found: dict[str, str] = {}
    for info in design.fragments.values():
        for signal, name in info.signal_names.items():
            file, line = signal.src_loc
            if name not in found and file.startswith(_BELOW):
                found[name] = f"{file.removeprefix(_BELOW).replace(os.sep, '/')}:{line}"
    return found


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
    """Returns paper and section: the text after "Source:", without the remarks that follow."""
    match = re.search(r"^Source: (.*?)(?:[;.]\s|\.?(?:\n\n|\Z))", docstring, re.M | re.S)
    return " ".join(match[1].split()) if match else ""


def comment_of(component: wiring.Component, source: str = "") -> Iterator[str]:
    """The first sentence of the docstring, and the paper that it names, or else ``source``."""
    docstring = _docstring(component)
    paper = _paper(docstring) or source
    texts = [_first_sentence(docstring), f"Source: {paper}." if paper else ""]
    for text in filter(None, texts):
        yield from textwrap.wrap(text, COLUMNS)
