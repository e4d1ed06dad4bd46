"""Names of intermediate results: those of the values in the Python, or of what they are part of.

An intermediate result that no expression replaces is called as the Python calls its value. Without
such a name it is called after the signal that it is a term of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from ..keywords import KEYWORDS
from ..layouts import Struct
from .expressions import Node, Scope, Unreadable, width
from .loops import free_name
from .registers import assigned, expressions, rewrite
from .statements import Assign, Instance, Item, Process, Raw, Statement

__all__ = ["with_names"]


def _targets(item: Item) -> Iterator[str]:
    """The signals that an item assigns."""
    body: Sequence[Statement] = item.body if isinstance(item, Process) else ()
    for assignment in (item,) if isinstance(item, Assign) else assigned(body):
        target = assignment.target
        yield from (part.signal for part in (target.parts or (target,)))


def _place(node: Node, signal: str, scope: Scope) -> tuple[Node, int, int] | None:
    """The element of a concatenation that reads a signal, its lowest bit, and its width."""
    low = sum(width(part, scope) for part in node.parts)
    for part in node.parts:
        size = width(part, scope)
        low -= size
        if signal in part.signals():
            return part, low, size
    return None


@dataclass(frozen=True)
class _Naming:
    """Names intermediate results.

    Parameters
    ----------
    names: what the values of some of them are called in the Python
    scope: width and sign of all signals
    structs: the signals that consist of fields
    """

    names: Mapping[str, str]
    scope: Scope
    structs: Mapping[str, Struct]

    def _within(self, assignment: Assign, signal: str) -> str:
        """The part of an assignment's target that a signal is, or is a term of."""
        target, value = assignment.target, assignment.value
        whole = target.signal or target.parts[0].signal
        if value.kind != "concat" or target.kind != "name":
            return f"{whole}_term"
        try:
            place = _place(value, signal, self.scope)
            sizes = {width(part, self.scope) for part in value.parts}
        except Unreadable:
            place = None
        if place is None:
            return f"{whole}_term"
        part, low, size = place
        suffix = "" if part == Node("name", signal) else "_term"
        if target.word in self.structs:
            field = self.structs[target.word].field_at(low, size)
            return f"{whole}_{field}{suffix}" if field else f"{whole}_term"
        return f"{whole}_{low // size}{suffix}" if len(sizes) == 1 else f"{whole}_term"

    def purpose(self, item: Item, signal: str) -> str:
        """Returns a name for the use of a signal by an item that reads it: the target that it is a
        part or a term of, or the pin that it drives."""
        if isinstance(item, Instance):
            pins = (pin for pin, value in item.pins if value and signal in value.signals())
            return f"{item.head.split()[1]}_{next(pins)}_term"
        body: Sequence[Statement] = item.body if isinstance(item, Process) else ()
        for assignment in (item,) if isinstance(item, Assign) else assigned(body):
            if signal in assignment.value.signals():
                return self._within(assignment, signal)
        return f"{next(_targets(item))}_term"

    def wanted(self, items: Sequence[Item], derived: Sequence[str]) -> dict[str, str]:
        """The name that each of the derived signals should have; several may have the same."""
        readers: dict[str, list[Item]] = {}
        present: set[str] = set()
        for item in items:
            present.update(_targets(item))
            if not isinstance(item, Raw):
                for signal in {name for node in expressions(item) for name in node.signals()}:
                    readers.setdefault(signal, []).append(item)
        wanted = {signal: self.names[signal] for signal in derived if signal in self.names}
        for signal in derived:
            if signal in wanted or signal not in present or signal not in readers:
                continue
            uses = [self.purpose(item, signal) for item in readers[signal]]
            wanted[signal] = min(uses, key=lambda use: use.endswith("_term"))
        return {signal: self._resolved(signal, wanted) for signal in derived if signal in present}

    def _resolved(self, signal: str, wanted: Mapping[str, str]) -> str:
        """A name without that of another intermediate result: with that one's own name."""
        name, passed = wanted.get(signal, ""), {signal}
        while match := _STEM.match(name):
            if match[0] not in wanted or match[0] in passed:
                break
            passed.add(match[0])
            name = f"{wanted[match[0]].removesuffix('_term')}_term"
        return name


def _chosen(wanted: Mapping[str, str], taken: Set[str]) -> dict[str, str]:
    """Different names, numbered where several signals should have one."""
    groups: dict[str, list[str]] = {}
    for signal, name in wanted.items():
        plain = re.sub(r"__+", "_", name)
        plain = f"{plain}_value" if plain in KEYWORDS else plain
        if plain.isidentifier():
            groups.setdefault(plain, []).append(signal)
    chosen: dict[str, str] = {}
    used = set(taken)
    for name, signals in groups.items():
        for number, signal in enumerate(signals):
            own = free_name(name if len(signals) == 1 else f"{name}_{number}", used)
            used.add(own)
            chosen[signal] = own
    return chosen


_SIGNAL = re.compile(r"^\w+")
_STEM = re.compile(r"[a-z]+(?:_[a-z]+)?_\d+(?=_)")
"""The signal that a name begins with, if that is named after an operation."""


class _Renamer:
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def node(self, node: Node) -> Node:
        parts = tuple(map(self.node, node.parts)) if node.parts else ()
        own = self._names.get(node.signal) if node.kind != "part" else None
        if own is not None:
            return Node(node.kind, _SIGNAL.sub(own, node.word), parts)
        same = all(new is old for new, old in zip(parts, node.parts, strict=True))
        return node if same else Node(node.kind, node.word, parts)

    def item(self, item: Item) -> None:
        rewrite(item, self.node)
        if isinstance(item, Raw):
            item.text = re.sub(
                r"(?<![\w'$.])[A-Za-z_]\w*", lambda m: self._names.get(m[0], m[0]), item.text
            )


def with_names(
    items: Sequence[Item],
    derived: Sequence[str],
    names: Mapping[str, str],
    scope: Scope,
    structs: Mapping[str, Struct],
) -> dict[str, str]:
    """Names derived signals in a body in place; returns the new names by the old ones.

    Parameters
    ----------
    items: a module's body
    derived: the signals that are named after the operation that computes them
    names: what the values of some of these are called in the Python
    scope: width and sign of all signals
    structs: the signals that consist of fields
    """
    units = {word for item in items if isinstance(item, Instance) for word in item.head.split()}
    taken = {*scope, *units} - set(derived)
    chosen = _chosen(_Naming(names, scope, structs).wanted(items, derived), taken)
    if chosen:
        renamer = _Renamer(chosen)
        for item in items:
            renamer.item(item)
    return chosen
