"""Parts of signals that processes read, as signals of their own.

Not every simulator starts a process for the bits alone that it reads; Icarus 11 says sorry for each
part that an ``always_comb`` reads. And a name for the part reads better.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from amaranth.hdl import Format

from ..layouts import bits_of, struct_of
from .expressions import Node, Scope
from .loops import free_name
from .registers import expressions
from .statements import Assign, Branch, Item, Process, Statement, Switch

__all__ = ["Names", "with_selects"]

_RANGE = re.compile(r"(\w+)\[(\d+)(?::(\d+))?\]")


@dataclass(frozen=True)
class Names:
    """Known names of the parts of signals.

    Parameters
    ----------
    parts: (signal, highest bit, lowest bit) -> what the part is called in the component
    layouts: Amaranth's descriptions of the signals that consist of fields or elements
    """

    parts: Mapping[tuple[str, int, int], str]
    layouts: Mapping[str, Any]


@dataclass(frozen=True)
class _Part:
    """Some bits of a signal, and of the field, the element or the whole signal around them."""

    signal: str
    high: int
    low: int
    around: str
    around_high: int
    around_low: int

    @property
    def node(self) -> Node:
        return _node(self.signal, self.high, self.low)


def _node(signal: str, high: int, low: int) -> Node:
    return Node("range", f"{signal}[{high}:{low}]" if high > low else f"{signal}[{high}]")


def _ways(layout: Any) -> Iterator[tuple[str, int, Any]]:
    """Fields or elements of a layout, from the low end: name, width, layout."""
    if isinstance(layout, Format.Array):
        yield from ((str(n), bits_of(item), item) for n, item in enumerate(layout._fields))
    elif isinstance(layout, Format.Struct) and struct_of(layout) is not None:
        yield from ((name, bits_of(item), item) for name, item in layout._fields.items())


def _part(signal: str, high: int, low: int, size: int, names: Names) -> _Part:
    """Some bits and the innermost field or element that holds them all."""
    stem, words = signal, [signal.removesuffix("__payload")]
    top, bottom, layout = size - 1, 0, names.layouts.get(signal)
    found = True
    while found:
        found, start = False, bottom
        for name, bits, inner in _ways(layout):
            if start <= low and high < start + bits:
                words.append(name)
                top, bottom, layout, found = start + bits - 1, start, inner, True
                break
            start += bits
    separator = "__" if stem != words[0] and len(words) > 1 else "_"
    around = separator.join([words[0], "_".join(words[1:])]) if len(words) > 1 else words[0]
    return _Part(signal, high, low, around, top, bottom)


class _Selects:
    def __init__(self, items: Sequence[Item], scope: Scope, names: Names) -> None:
        self._scope = scope
        self._names = names
        self._taken = set(scope)
        self._parts: dict[Node, _Part] = {}
        self.chosen: dict[Node, str] = {}
        self.declared: dict[str, int] = {}
        wanted = dict.fromkeys(node for item in items for node in _read(item))
        for item in items:
            if isinstance(item, Assign) and item.target.kind == "name" and item.value in wanted:
                self.chosen.setdefault(item.value, item.target.word)
        for node in wanted:
            match = _RANGE.fullmatch(node.word)
            if node in self.chosen:
                continue
            assert match
            high, low = int(match[2]), int(match[3] or match[2])
            self._parts[node] = _part(match[1], high, low, scope[match[1]][0], names)
        self._groups: dict[tuple[str, str], list[_Part]] = {}
        for part in sorted(self._parts.values(), key=lambda part: (-part.low, -part.high)):
            self._groups.setdefault((part.signal, part.around), []).append(part)

    def needed(self, item: Item) -> Iterator[Assign]:
        """The assignments of new signals that an item is the first to read."""
        for node in _read(item):
            if node in self.chosen:
                continue
            group = self._groups[self._parts[node].signal, self._parts[node].around]
            for part, name in zip(group, self._named(group), strict=True):
                self.chosen[part.node] = name
                self.declared[name] = part.high - part.low + 1
            yield from self._assigned(group)

    def _named(self, group: Sequence[_Part]) -> Iterator[str]:
        """A name for each part of a field or signal, from the top down."""
        for part, suffix in zip(group, _suffixes(group), strict=True):
            own = self._names.parts.get((part.signal, part.high, part.low))
            name = free_name(own or part.around + suffix, self._taken)
            self._taken.add(name)
            yield name

    def _assigned(self, group: Sequence[_Part]) -> Iterator[Assign]:
        targets = [Node("name", self.chosen[part.node]) for part in group]
        first = group[0]
        if len(group) > 1 and _is_whole(group):
            high, low = first.around_high, first.around_low
            every = (high, low) == (self._scope[first.signal][0] - 1, 0)
            whole = Node("name", first.signal) if every else _node(first.signal, high, low)
            yield Assign(Node("concat", "", tuple(targets)), whole)
            return
        for part, target in zip(group, targets, strict=True):
            yield Assign(target, part.node)

    def renamed(self, item: Item) -> Item:
        """Rewrites a combinational process with the new signals in place of the parts that they
        equal."""
        if isinstance(item, Process) and not item.clocked:
            return Process(item.head, self._body(item.body))
        return item

    def _read(self, node: Node) -> Node:
        if node in self.chosen:
            return Node("name", self.chosen[node])
        return Node(node.kind, node.word, tuple(map(self._read, node.parts)))

    def _body(self, body: Sequence[Statement]) -> list[Statement]:
        result: list[Statement] = []
        for s in body:
            if isinstance(s, Assign):
                result.append(Assign(s.target, self._read(s.value), s.clocked))
                continue
            branches = [
                Branch(tuple(map(self._read, b.labels)), self._body(b.body)) for b in s.branches
            ]
            result.append(Switch(None if s.subject is None else self._read(s.subject), branches))
        return result


def _read(item: Item) -> Iterator[Node]:
    """The parts of signals that a combinational process reads."""
    if isinstance(item, Process) and not item.clocked:
        for expression in expressions(item):
            yield from (node for node in expression.walk() if node.kind == "range")


def _is_whole(group: Sequence[_Part]) -> bool:
    """Returns whether parts, from the top down, cover all bits of the field or signal around
    them."""
    ends = group[0].high == group[0].around_high and group[-1].low == group[0].around_low
    return ends and all(upper.low == lower.high + 1 for upper, lower in pairwise(group))


def _suffixes(group: Sequence[_Part]) -> Iterator[str]:
    """Suffixes that distinguish parts of a field or signal: half, number, or bits."""
    first = group[0]
    sizes = {part.high - part.low + 1 for part in group}
    size = min(sizes)
    starts = [part.low - part.around_low for part in group]
    alike = len(sizes) == 1 < len(group) and all(start % size == 0 for start in starts)
    for part, start in zip(group, starts, strict=True):
        if (part.high, part.low) == (part.around_high, part.around_low):
            yield ""
        elif len(group) == 2 and _is_whole(group) and max(sizes) > 1:
            yield "_high" if part is first else "_low"
        elif alike and (part.around_high - part.around_low + 1) % size == 0:
            yield f"_{start // size}"
        else:
            end = start + part.high - part.low
            yield f"_{end}_{start}" if end > start else f"_{start}"


def with_selects(
    items: Sequence[Item], scope: Scope, names: Names
) -> tuple[list[Item], dict[str, int]]:
    """The items with signals for the parts that combinational processes read, and their widths."""
    selects = _Selects(items, scope, names)
    result: list[Item] = []
    for item in items:
        result += [*selects.needed(item), item]
    return [selects.renamed(item) for item in result], selects.declared
