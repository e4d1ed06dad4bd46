"""Finds a module's source in the Python: file and line of it and of its signals, the names of
values that are no signals, and the words of its component's docstring that are printed above it in
the Verilog."""

from __future__ import annotations

import ast
import inspect
import os
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import amaranth
from amaranth.hdl._ir import Design
from amaranth.lib import wiring

__all__ = ["ModuleSource", "comment_of", "layout_names", "name_at", "signal_lines"]

_PACKAGE = Path(__file__).parents[2]
_BELOW = f"{_PACKAGE}{os.sep}"
_LIBRARY = f"{Path(amaranth.__file__).parent}{os.sep}"


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


@lru_cache(maxsize=1024)
def _parsed(file: str) -> ast.AST:
    try:
        return ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError):
        return ast.Module([], [])


def _has(node: ast.AST, line: int) -> bool:
    first = getattr(node, "lineno", 0)
    return first <= line <= (getattr(node, "end_lineno", None) or first)


def _statement(tree: ast.AST, line: int) -> tuple[ast.AST | None, str]:
    """The innermost statement at a line, and the function that it is in."""
    found, function = None, ""
    inner: ast.AST | None = tree
    while inner is not None:
        blocks = (getattr(inner, name, ()) for name in ("body", "orelse", "finalbody"))
        below = [s for block in blocks if isinstance(block, list) for s in block]
        inner = next((statement for statement in below if _has(statement, line)), None)
        found = inner or found
        if isinstance(inner, ast.FunctionDef):
            function = inner.name
    return found, function


def _name_within(value: ast.AST, line: int, name: str) -> str:
    """The name of the value at a line: of all that is assigned, or that of its part."""
    parts: list[tuple[str, ast.AST]] = []
    if isinstance(value, ast.Call):
        parts = [(word.arg or "", word.value) for word in value.keywords]
    elif isinstance(value, ast.Dict):
        keys = (key.value if isinstance(key, ast.Constant) else "" for key in value.keys)
        parts = [*zip(map(str, keys), value.values, strict=True)]
    inside = [(own, part) for own, part in parts if _has(part, line)]
    return _name_within(inside[0][1], line, inside[0][0]) if len(inside) == 1 else name


@lru_cache(maxsize=1 << 14)
def name_at(file: str, line: int) -> str:
    """Returns what a source calls the value that it computes at a line: the variable or the keyword
    that it is assigned to, or the function that returns it. Empty if it has no name, or Amaranth
    computes it."""
    tree = ast.Module([], []) if file.startswith(_LIBRARY) else _parsed(file)
    statement, function = _statement(tree, line)
    target: ast.AST | None = None
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign):
        target = statement.target
    name = target.id if isinstance(target, ast.Name) else ""
    if isinstance(statement, ast.Return):
        name = function
    value = getattr(statement, "value", None)
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = zip(target.elts, value.elts, strict=False)
        inside = [(t, v) for t, v in pairs if isinstance(t, ast.Name) and _has(v, line)]
        name, value = (inside[0][0].id, inside[0][1]) if len(inside) == 1 else ("", None)
    if value is not None and (name or isinstance(statement, ast.Return)):
        name = _name_within(value, line, name)
    plain = re.sub(r"_+", "_", name).strip("_").lower().removesuffix("_next")
    return "" if plain in ("elaborate", "init", "m") else plain


def _layout_called(node: ast.AST) -> str:
    """The layout that an expression names: ``entry`` for ``entry_layout(config)`` or ``ENTRY``."""
    for inner in ast.walk(node):
        name = getattr(inner, "id", getattr(inner, "attr", ""))
        if name.endswith(("_layout", "_LAYOUT")) or re.fullmatch("[A-Z][A-Z_]+", name):
            return name.lower().removesuffix("_layout").strip("_")
    return ""


@lru_cache(maxsize=1024)
def _port_layouts(component: type) -> Mapping[str, str]:
    """The layouts of a component's ports and streams that come from functions, by name."""
    try:
        tree = _parsed(inspect.getsourcefile(component) or "")
    except TypeError:
        return {}
    found: dict[str, str] = {}
    for one in ast.walk(tree):
        if isinstance(one, ast.ClassDef) and one.name == component.__name__:
            for node in ast.walk(one):
                if isinstance(node, ast.Dict):
                    for key, value in zip(node.keys, node.values, strict=True):
                        if isinstance(key, ast.Constant):
                            found.setdefault(str(key.value), _layout_called(value))
                elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    found.setdefault(node.target.id, _layout_called(node.annotation))
    return found


def layout_names(design: Design, component: type) -> dict[str, str]:
    """What the Python calls the layouts of the signals of an elaborated component."""
    ports = _port_layouts(component)
    found: dict[str, str] = {}
    for info in design.fragments.values():
        for signal, name in info.signal_names.items():
            first, *rest = name.split("__")
            layout = (
                ports.get(first, "") if set(rest) <= {"payload"} | {*map(str, range(64))} else ""
            )
            if not layout and "__" not in name and not signal.src_loc[0].startswith(_LIBRARY):
                statement, _ = _statement(_parsed(signal.src_loc[0]), signal.src_loc[1])
                layout = "" if statement is None else _layout_called(statement)
            if layout:
                found[name] = layout
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
