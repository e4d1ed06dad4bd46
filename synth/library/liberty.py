"""Cell libraries in Liberty format."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tilewright.hw.spec.host.inputs import read_bytes

from .cells import Arc, Cell, Library, Pin, Table

_TOKEN = re.compile(
    r"""(?P<skip>\s+|\\\r?\n|\\|/\*.*?\*/|//[^\n]*)
      | (?P<string>"[^"]*")
      | (?P<mark>[(){}:;,])
      | (?P<word>[^\s(){}:;,"\\]+)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass
class Group:
    """One group: ``name (arguments) { ... }``.

    Members
    -------
    attributes: simple attributes, the value without quotes; the last one of a name counts
    lists: attributes with a list in parentheses, such as ``values``
    groups: the groups inside, in order
    """

    name: str
    arguments: list[str]
    attributes: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)

    def named(self, name: str) -> Iterator[Group]:
        """The groups inside of that name."""
        return (group for group in self.groups if group.name == name)

    def numbers(self, name: str) -> list[float]:
        """Returns a list attribute as numbers; empty if it is missing."""
        words = " ".join(self.lists.get(name, ())).replace(",", " ").split()
        return [float(word) for word in words]


class _Tokens:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self._tokens = self._scan()
        self.next: str = ""
        self.advance()

    def _scan(self) -> Iterator[str]:
        position, text = 0, self.text
        while position < len(text):
            match = _TOKEN.match(text, position)
            self.position = position
            if match is None:
                raise self.error(f"unexpected {text[position]!r}")
            position = match.end()
            if match.lastgroup != "skip":
                yield match.group()
        self.position = len(text)

    def advance(self) -> str:
        token = self.next
        self.next = next(self._tokens, "")
        return token

    def expect(self, mark: str) -> None:
        if self.next != mark:
            raise self.error(f"expected {mark!r}, found {self.next or 'the end of the file'!r}")
        self.advance()

    def error(self, what: str) -> ValueError:
        return ValueError(f"line {self.text.count(chr(10), 0, self.position) + 1}: {what}")


def _value(tokens: _Tokens) -> str:
    words = []
    while tokens.next and tokens.next not in ";{}":
        line = tokens.position
        words.append(tokens.advance().strip('"'))
        if "\n" in tokens.text[line : tokens.position] and tokens.next != ";":
            break
    if tokens.next == ";":
        tokens.advance()
    return " ".join(words)


def _arguments(tokens: _Tokens) -> list[str]:
    words = []
    tokens.expect("(")
    while tokens.next != ")":
        if not tokens.next or tokens.next in "{};":
            raise tokens.error("a parenthesis that is not closed")
        word = tokens.advance()
        if word != ",":
            words.append(word.strip('"'))
    tokens.expect(")")
    return words


def _fill(tokens: _Tokens, group: Group) -> None:
    """Read statements up to the closing brace."""
    while tokens.next != "}":
        if not tokens.next:
            raise tokens.error(f"the end of the file inside group `{group.name}`")
        if tokens.next == ";":
            tokens.advance()
            continue
        name = tokens.advance()
        if tokens.next == ":":
            tokens.advance()
            group.attributes[name] = _value(tokens)
            continue
        arguments = _arguments(tokens)
        if tokens.next == "{":
            tokens.advance()
            inner = Group(name, arguments)
            _fill(tokens, inner)
            group.groups.append(inner)
        else:
            group.lists[name] = arguments
    tokens.expect("}")


def parse_liberty(text: str) -> Group:
    """The ``library`` group of a Liberty text.

    Raises ValueError with the line number if it is not one.
    """
    tokens = _Tokens(text)
    name = tokens.advance()
    if name != "library":
        raise ValueError(f"line 1: expected 'library', found {name or 'an empty file'!r}")
    library = Group(name, _arguments(tokens))
    tokens.expect("{")
    _fill(tokens, library)
    return library


__all__ = ["load_library", "read_library"]

SENSES = {
    "positive_unate": ((0, 0), (1, 1)),
    "negative_unate": ((0, 1), (1, 0)),
    "non_unate": ((0, 0), (0, 1), (1, 0), (1, 1)),
}
"""Pairs of (input edge, output edge) of an arc; 0 is rising, 1 falling."""


def _units(library: Group) -> tuple[float, float]:
    """Factors from the library's units to ns and pF."""
    match = re.fullmatch(r"\s*([\d.]+)\s*([pn])s\s*", library.attributes.get("time_unit", "1ns"))
    load = library.lists.get("capacitive_load_unit", ["1", "pf"])
    scale = {"pf": 1.0, "ff": 1e-3}.get(load[-1].lower())
    if match is None or scale is None:
        raise ValueError("its time unit must be ns or ps and its load unit pf or ff")
    return float(match[1]) * {"p": 1e-3, "n": 1.0}[match[2]], float(load[0]) * scale


class _Reader:
    def __init__(self, library: Group) -> None:
        self.time, self.load = _units(library)
        self.templates = {
            group.arguments[0]: group
            for group in library.groups
            if group.name == "lu_table_template" and group.arguments
        }

    def table(self, group: Group) -> Table:
        name = group.arguments[0] if group.arguments else "scalar"
        values = np.array(group.numbers("values")) * self.time
        if values.size == 1:
            return Table(np.zeros(1), np.zeros(1), values.reshape(1, 1))
        template = self.templates.get(name, Group("", []))
        axes, kinds = [], []
        for index in ("1", "2"):
            numbers = group.numbers(f"index_{index}") or template.numbers(f"index_{index}")
            if not numbers:
                break
            kind = template.attributes.get(f"variable_{index}", "")
            loads = kind == "total_output_net_capacitance"
            axes.append(np.array(numbers) * (self.load if loads else self.time))
            kinds.append("load" if loads else kind)
        if values.size != int(np.prod([len(axis) for axis in axes])):
            raise ValueError(f"a table of {values.size} values does not fit its axes")
        values = values.reshape([len(axis) for axis in axes])
        if len(axes) == 1:
            row = kinds[0] != "load"
            axes = [axes[0], np.zeros(1)] if row else [np.zeros(1), axes[0]]
            values = values.reshape([len(axis) for axis in axes])
        elif kinds[0] in ("load", "constrained_pin_transition"):
            axes, values = axes[::-1], values.T
        return Table(axes[0], axes[1], np.ascontiguousarray(values))

    def arcs(self, pin: Group, target: str) -> list[Arc]:
        found = []
        for timing in pin.named("timing"):
            kind = timing.attributes.get("timing_type", "combinational")
            sense = timing.attributes.get("timing_sense", "non_unate")
            tables = {group.name: group for group in timing.groups}
            names = {"setup_rising": ("rise_constraint", "fall_constraint")}.get(
                kind, ("cell_rise", "cell_fall")
            )
            wanted = kind in ("combinational", "rising_edge", "setup_rising")
            if not wanted or not set(names) <= set(tables):
                continue
            delay = (self.table(tables[names[0]]), self.table(tables[names[1]]))
            slew = None
            if kind != "setup_rising":
                slew = (
                    self.table(tables["rise_transition"]),
                    self.table(tables["fall_transition"]),
                )
            edges = SENSES.get(sense, SENSES["non_unate"])
            if kind != "combinational":
                edges = ((0, 0), (0, 1))
            label = {"rising_edge": "clock", "setup_rising": "setup"}.get(kind, kind)
            for source in timing.attributes.get("related_pin", "").split():
                found.append(Arc(source, target, label, edges, delay, slew))
        return found

    def cell(self, group: Group) -> Cell:
        pins: dict[str, Pin] = {}
        arcs: list[Arc] = []
        clock, three_state = "", False
        for pin in group.named("pin"):
            name, facts = pin.arguments[0], pin.attributes
            plain = float(facts.get("capacitance", 0))
            caps = tuple(float(facts.get(f"{e}_capacitance", plain)) for e in ("rise", "fall"))
            output = facts.get("direction") == "output"
            pins[name] = Pin(
                name,
                output,
                (caps[0] * self.load, caps[1] * self.load),
                facts.get("function", "") if output else "",
            )
            arcs += self.arcs(pin, name)
            three_state |= "three_state" in facts
            if facts.get("clock") == "true":
                clock = name
        state = [g for g in group.groups if g.name in ("ff", "latch", "ff_bank", "latch_bank")]
        for item in state:
            clock = clock or item.attributes.get("clocked_on", "").strip()
        avoided = group.attributes.get("dont_use") == "true"
        return Cell(
            name=group.arguments[0],
            area=float(group.attributes.get("area", 0)),
            pins=pins,
            arcs=tuple(arcs),
            sequential=bool(state),
            clock=clock,
            usable=not (three_state or avoided),
        )


def load_library(text: str) -> Library:
    """A library from its Liberty text. Raises ValueError if it is malformed."""
    tree = parse_liberty(text)
    reader = _Reader(tree)
    cells = {}
    for group in tree.named("cell"):
        if not group.arguments:
            raise ValueError("a cell without a name")
        cells[group.arguments[0]] = reader.cell(group)
    library = Library(tree.arguments[0] if tree.arguments else "", text, cells)
    if not cells:
        raise ValueError("it has no cells")
    return library


def read_library(path: str | os.PathLike[str]) -> Library:
    """A library from a Liberty file. Raises ValueError that names the file."""
    try:
        text = read_bytes(Path(path)).decode("utf-8")
        return load_library(text.replace("\r\n", "\n"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(f"liberty file {path} cannot be read: {reason}") from None
    except (ValueError, KeyError, IndexError) as error:
        raise ValueError(f"liberty file {path} is not a usable library: {error}") from None
