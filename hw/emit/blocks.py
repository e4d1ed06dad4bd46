"""Records the known properties of a module before it is written as Verilog."""

from __future__ import annotations

import ast
import inspect
import itertools
import os
import re
import textwrap
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import amaranth
from amaranth.hdl import Shape, unsigned
from amaranth.hdl._ir import Design
from amaranth.lib import data, wiring

from .layouts import Struct

# Finds a module's source in the Python: file and line of it and of its signals, the names of
# values that are no signals, and the words of its component's docstring that are printed above it
# in the Verilog.

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
        ``hw/simd2/simd2.py:36``; empty where the class has no file."""
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


@lru_cache(maxsize=1 << 14)
def _layout_at(file: str, line: int) -> str:
    """The layout that the statement at a line names, if any."""
    statement, _ = _statement(_parsed(file), line)
    return "" if statement is None else _layout_called(statement)


_STATEMENTS = (ast.stmt, ast.ExceptHandler, ast.match_case)
"""Nodes below which a class may be defined: it is not within an expression."""


@lru_cache(maxsize=1024)
def _classes(file: str) -> Mapping[str, list[ast.ClassDef]]:
    """The classes that a file defines, by name."""
    found: dict[str, list[ast.ClassDef]] = {}
    waiting: deque[ast.AST] = deque([_parsed(file)])
    while waiting:
        one = waiting.popleft()
        if isinstance(one, ast.ClassDef):
            found.setdefault(one.name, []).append(one)
        below = ast.iter_child_nodes(one)
        waiting += (node for node in below if isinstance(node, _STATEMENTS))
    return found


@lru_cache(maxsize=1024)
def _port_layouts(component: type) -> Mapping[str, str]:
    """The layouts of a component's ports and streams that come from functions, by name."""
    try:
        classes = _classes(inspect.getsourcefile(component) or "")
    except TypeError:
        return {}
    found: dict[str, str] = {}
    for one in classes.get(component.__name__, ()):
        for node in ast.walk(one):
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant):
                        found.setdefault(str(key.value), _layout_called(value))
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found.setdefault(node.target.id, _layout_called(node.annotation))
    return found


_OF_PAYLOADS = {"payload", *map(str, range(64))}
"""Parts that may follow a port in the name of its payload: a stream's member, an array's index."""


def layout_names(design: Design, component: type) -> dict[str, str]:
    """Returns the Python name of the layout of each signal of an elaborated component."""
    ports = _port_layouts(component)
    found: dict[str, str] = {}
    for info in design.fragments.values():
        for signal, name in info.signal_names.items():
            first, *rest = name.split("__")
            layout = ports.get(first, "") if _OF_PAYLOADS.issuperset(rest) else ""
            if not layout and "__" not in name and not signal.src_loc[0].startswith(_LIBRARY):
                layout = _layout_at(*signal.src_loc)
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


@dataclass(frozen=True, kw_only=True)
class Block:
    """A module before it becomes Verilog.

    Parameters
    ----------
    module: its name
    ports: "i" or "o" by name; clock and reset first
    rtlil: its text
    source: where it is written
    comment: what it is, a line each
    codes: signals whose values have names: signal -> value -> name
    part_codes: parts of signals whose values have names: (signal, highest bit, lowest bit) -> ...
    part_names: what such parts of signals are called that have a name of their own
    value_names: what the values of wires without names are called in the Python
    structs: signals that consist of fields
    carried: what the Python calls the layouts of signals that consist of fields
    layouts: Amaranth's descriptions of the signals that consist of fields or elements
    parameters: the arguments of its component that may become Verilog parameters, by their names in
        Verilog
    probe: whether the unit does not use it: it shows how its text follows from the parameters
    exhausted: whether there is no probe because no other values of the parameters are allowed
    """

    module: str
    ports: Mapping[str, str]
    rtlil: str
    source: ModuleSource
    comment: tuple[str, ...] = ()
    codes: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    part_codes: Mapping[tuple[str, int, int], Mapping[int, str]] = field(default_factory=dict)
    part_names: Mapping[tuple[str, int, int], str] = field(default_factory=dict)
    value_names: Mapping[str, str] = field(default_factory=dict)
    structs: Mapping[str, Struct] = field(default_factory=dict)
    carried: Mapping[str, str] = field(default_factory=dict)
    layouts: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, int] = field(default_factory=dict)
    probe: bool = False
    exhausted: bool = False


def _declared(component: wiring.Component) -> Mapping[str, str]:
    declared: Mapping[str, str] = getattr(component, "verilog_parameters", {})
    return declared


def _argument(component: wiring.Component, name: str) -> Any:
    """An argument of a component, which keeps it as an attribute, public or with an underscore."""
    own = vars(component)
    return own[f"_{name}"] if f"_{name}" in own else own[name]


def parameters_of(component: wiring.Component) -> dict[str, int]:
    """The values of a component's Verilog parameters, by their names."""
    found: dict[str, int] = {}
    for name, path in _declared(component).items():
        argument, _, field = path.partition(".")
        value = _argument(component, argument)
        value = getattr(value, field) if field else value
        found[name] = value if isinstance(value, int) else Shape.cast(value).width
    return found


def _arguments(component: wiring.Component) -> dict[str, Any]:
    """Arguments with which a component was constructed."""
    names = [*inspect.signature(type(component).__init__).parameters][1:]
    return {name: _argument(component, name) for name in names}


def _outline(component: wiring.Component, block: Block) -> tuple[type, str, str]:
    """Equal for components that may be variants of one: their text without numbers, and the
    arguments that are no parameters."""
    declared = {path.partition(".")[0] for path in _declared(component).values()}
    fixed = {name: value for name, value in _arguments(component).items() if name not in declared}
    text = re.sub(rf"\\{block.module}\b", "", block.rtlil)
    text = re.sub(r" \[\d+(:\d+)?\]|(?<=')[01x]+|(?<=[a-z])_\d+\b|\b\d+\b", "", text)
    return type(component), repr(fixed), re.sub(r"( \S+)\1+(?!\S)", r"\1", text)


def _resized(shape: Any, width: int) -> Any:
    """A payload of another width: of a structure the first number that is a field changes."""
    if isinstance(shape, data.StructLayout):
        fields = {name: field.shape for name, field in shape}
        grown = width - shape.size
        for name, field in fields.items():
            if isinstance(field, int) and field + grown > 0:
                return data.StructLayout({**fields, name: field + grown})
    return unsigned(width)


def _with_value(arguments: dict[str, Any], path: str, value: int) -> None:
    """Gives one of a component's arguments the value of a parameter."""
    argument, _, field = path.partition(".")
    old = arguments[argument]
    if field:
        arguments[argument] = replace(old, **{field: value})
    else:
        arguments[argument] = value if isinstance(old, int) else _resized(old, value)


def _free_power(used: Set[int]) -> int:
    """The smallest power of two above the smallest used value that is not used."""
    powers = (1 << bits for bits in itertools.count(min(used).bit_length()))
    return next(power for power in powers if power not in used)


_CHOICES: tuple[Callable[[Set[int], int], int], ...] = (
    lambda used, place: 2 * max(used),
    lambda used, place: _free_power(used),
    lambda used, place: max(used) + 1 + place,
    lambda used, place: max(used) + 1,
    lambda used, place: max(used) - 1 - place,
    lambda used, place: min(used) // 2,
    lambda used, place: min(used) - 1 - place,
)
"""Further values of a parameter, from those that are used and from its place among the parameters:
two that grow by the same could stand for each other in a formula."""


def _candidates(
    component: wiring.Component, used: Sequence[Mapping[str, int]]
) -> Iterator[Mapping[str, Any]]:
    """Arguments with values of all parameters that none of the used ones has.

    The double of a power of two is one, too: a memory of so many words has no more logic.
    """
    known = {name: {one[name] for one in used} for name in _declared(component)}
    for choice in _CHOICES:
        arguments = _arguments(component)
        values = {name: choice(found, place) for place, (name, found) in enumerate(known.items())}
        if any(value in known[name] or value < 1 for name, value in values.items()):
            continue
        for name, path in _declared(component).items():
            _with_value(arguments, path, values[name])
        yield arguments


@dataclass(frozen=True)
class Variants:
    """Modules that may be variants of one, the probe included.

    Parameters
    ----------
    modules: their names
    exhausted: whether there is no probe because the component refuses all other values
    """

    modules: tuple[str, ...]
    exhausted: bool


def add_probes(
    variants: Sequence[tuple[wiring.Component, Block]],
    convert: Callable[[wiring.Component], Block],
) -> list[Variants]:
    """Converts a further component for each group of variants, with values that none of them has.

    Returns the groups.
    """
    groups: dict[tuple[type, str, str], list[tuple[wiring.Component, Block]]] = {}
    for component, block in variants:
        groups.setdefault(_outline(component, block), []).append((component, block))
    own = {block.module for _, block in variants}
    found: list[Variants] = []
    for outline, group in groups.items():
        if len(group) < 2:
            continue
        component, used = group[0][0], [block.parameters for _, block in group]
        modules = [block.module for _, block in group]
        accepted = False
        for arguments in _candidates(component, used):
            kind: Any = type(component)
            probe = kind.__new__(kind, **arguments)
            try:
                probe.__init__(**arguments)
            except ValueError:
                probe._MustUse__silence = True
                continue
            block = convert(probe)
            if block.module in own:
                continue
            accepted = True
            if _outline(probe, block) == outline:
                modules.append(block.module)
                break
        found.append(Variants(tuple(modules), not accepted))
    return found
