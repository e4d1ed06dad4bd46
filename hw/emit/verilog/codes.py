"""Values that have a name, such as the states of a state machine, written by it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from itertools import chain, count

from .expressions import Node, Scope
from .statements import Assign, Branch, Instance, Item, Process, Statement, Switch, wrapped

__all__ = ["with_codes"]


LOGIC = {("binary", "&"), ("binary", "|"), ("unary", "!")}
"""Operations whose bits are conditions."""


def _number(node: Node) -> int | None:
    """The value of a constant in binary, decimal or hexadecimal digits."""
    match = re.fullmatch(r"\d+'([bdh])([0-9a-f]+)", node.word) if node.kind == "constant" else None
    return int(match[2], {"b": 2, "d": 10, "h": 16}[match[1]]) if match else None


class _Codes:
    def __init__(
        self, signals: Mapping[str, Mapping[int, str]], scope: Scope, taken: Set[str]
    ) -> None:
        self._signals = signals
        self._scope = scope
        self._taken = set(taken)
        self._chosen: dict[tuple[str, int], str] = {}
        self.used: dict[str, tuple[int, int]] = {}

    def _name(self, text: str, signal: str, meaning: tuple[int, int]) -> str:
        """A parameter for a width and value, which other signals may share."""
        plain = re.sub(r"\W+", "_", text).strip("_").upper()
        stem = re.sub(r"\W+", "_", signal).strip("_").removesuffix("_state")
        long = f"{stem}_{plain}".upper()
        numbered = (f"{long}_{number}" for number in count(2))
        for name in chain((plain, long), numbered):
            if self.used.get(name, meaning) == meaning and name not in self._taken:
                return name
        raise AssertionError("there are always more numbers")

    def code(self, node: Node, signal: str) -> Node:
        """A constant by its name among the values of a signal, also below choices."""
        if node.kind == "?":
            condition, first, second = node.parts
            parts = (self.truth(condition), self.code(first, signal), self.code(second, signal))
            return Node("?", "", parts)
        value = _number(node)
        if value is None or value not in self._signals[signal]:
            return self.read(node)
        key = signal, value
        if key not in self._chosen:
            meaning = self._scope[signal][0], value
            self._chosen[key] = self._name(self._signals[signal][value], signal, meaning)
            self.used[self._chosen[key]] = meaning
        return Node("code", self._chosen[key], (node,))

    def is_coded(self, node: Node | None) -> bool:
        return node is not None and node.kind in ("name", "range") and node.word in self._signals

    def truth(self, node: Node) -> Node:
        """A condition; of a signal of one bit, that it has the value that is called so."""
        inverted = (node.kind, node.word) == ("unary", "~")
        bit = node.parts[0] if inverted else node
        if not self.is_coded(bit) or set(self._signals[bit.word]) != {0, 1}:
            return self.read(node)
        value = Node("constant", "1'h0" if inverted else "1'h1")
        return Node("binary", "==", (bit, self.code(value, bit.word)))

    def read(self, node: Node) -> Node:
        """An expression with the values that signals are compared with by name."""
        if node.kind == "binary" and node.word in ("==", "!="):
            left, right = node.parts
            if self.is_coded(left):
                return Node("binary", node.word, (left, self.code(right, left.word)))
        if node.kind == "?":
            condition, *values = node.parts
            return Node("?", "", (self.truth(condition), *map(self.read, values)))
        if not node.parts:
            return node
        within = self.truth if (node.kind, node.word) in LOGIC else self.read
        return Node(node.kind, node.word, tuple(map(within, node.parts)))

    def body(self, body: Sequence[Statement]) -> list[Statement]:
        return [self._assign(s) if isinstance(s, Assign) else self._switch(s) for s in body]

    def _assign(self, item: Assign) -> Assign:
        coded = self.is_coded(item.target)
        value = self.code(item.value, item.target.word) if coded else self.truth(item.value)
        return Assign(item.target, value, item.clocked)

    def _switch(self, switch: Switch) -> Switch:
        subject = switch.subject
        branches = []
        for branch in switch.branches:
            if subject is not None and self.is_coded(subject):
                labels = tuple(self.code(label, subject.word) for label in branch.labels)
            else:
                labels = tuple(map(self.truth, branch.labels))
            branches.append(Branch(labels, self.body(branch.body)))
        return Switch(None if subject is None else self.read(subject), branches)

    def item(self, item: Item) -> Item:
        if isinstance(item, Assign):
            return self._assign(item)
        if isinstance(item, Process):
            return Process(item.head, self.body(item.body))
        if isinstance(item, Instance):
            pins = [(pin, None if v is None else self.read(v)) for pin, v in item.pins]
            return Instance(item.head, pins)
        return item


def with_codes(
    items: Sequence[Item], signals: Mapping[str, Mapping[int, str]], scope: Scope, taken: Set[str]
) -> tuple[list[Item], str]:
    """The items with names instead of such values, and the declarations of the names.

    Parameters
    ----------
    items: a module's body
    signals: those, and parts of them such as ``x[5:2]``, whose values have names: signal -> value
        -> name
    scope: width and sign of all signals and of these parts
    taken: names that are used otherwise
    """
    if not signals:
        return [*items], ""
    codes = _Codes(signals, scope, taken)
    named = [codes.item(item) for item in items]
    widths: dict[int, list[tuple[int, str]]] = {}
    for name, (bits, value) in codes.used.items():
        widths.setdefault(bits, []).append((value, f"{name} = {bits}'h{value:x}"))
    lines = []
    for bits, texts in sorted(widths.items()):
        size = f" [{bits - 1}:0]" if bits > 1 else ""
        words = [text for _, text in sorted(texts)]
        lines.append(wrapped(words, f"  localparam logic{size}", "    ") + ";\n")
    return named, "".join(lines)
