"""Values that have a name, such as the states of a state machine, written by it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, count

from .expressions import Node, Scope
from .registers import assigned, expressions
from .statements import Assign, Branch, Instance, Item, Process, Raw, Statement, Switch, wrapped

__all__ = ["with_codes", "with_enumerations"]


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


_PARAMETERS = re.compile(r"^(  localparam logic(?: \[[^]]+\])?)\s+([^;]*);\n", re.M)
_SIGNAL = re.compile(r"logic(?: \[(\d+):0\])? (\w+)")


def _choices(value: Node) -> Iterator[Node]:
    """The values that an expression chooses from."""
    if value.kind == "?":
        yield from chain.from_iterable(map(_choices, value.parts[1:]))
    else:
        yield value


def _labels(body: Sequence[Statement]) -> Iterator[tuple[str, str]]:
    """Signals, each with a label of a case statement that reads it."""
    for statement in body:
        if isinstance(statement, Switch):
            for branch in statement.branches:
                if statement.subject is not None:
                    yield from ((statement.subject.word, label.word) for label in branch.labels)
                yield from _labels(branch.body)


def _named_values(items: Sequence[Item], names: Set[str]) -> tuple[dict[str, set[str]], set[str]]:
    """The names of values that each signal has or is compared with, and the signals that may have
    other values."""
    found: dict[str, set[str]] = {}
    others: set[str] = set()
    compared: list[tuple[str, str]] = []
    for item in items:
        body: Sequence[Statement] = ()
        if isinstance(item, Raw):
            others.update(re.findall(r"\w+", item.text))
        elif isinstance(item, Instance):
            pins = [pin for _, pin in item.pins if pin is not None]
            others.update(*(p.signals() for p in pins if p.kind not in ("unary", "binary", "?")))
        else:
            body = item.body if isinstance(item, Process) else [item]
        for one in assigned(body):
            words = {value.word for value in _choices(one.value)}
            if one.target.kind == "name" and words <= names:
                found.setdefault(one.target.word, set()).update(words)
            else:
                others |= one.target.signals()
        compared += _labels(body)
        for node in chain.from_iterable(value.walk() for value in expressions(item)):
            if node.kind == "binary" and node.word in ("==", "!="):
                compared.append((node.parts[0].word, node.parts[1].word))
    for signal, value in compared:
        found.setdefault(signal, set()).update({value} & names)
    return found, others


def with_enumerations(
    items: Sequence[Item], codes: str, declared: Iterable[str], taken: Set[str]
) -> tuple[str, dict[str, str]]:
    """The declarations of names of values with some of them as enumerations; and the type of each
    signal that is one.

    A signal becomes an enumeration if each assignment sets all of it to a value with a name: so it
    needs no casts. Signals stay plain if the name of a value belongs to more than one of them.

    Parameters
    ----------
    items: a module's body
    codes: the declarations, as of ``with_codes``
    declared: the declarations of the signals that are neither ports nor structures
    taken: names that are used otherwise
    """
    if not codes:
        return "", {}
    lines = [(start, re.split(r",\s+", words)) for start, words in _PARAMETERS.findall(codes)]
    known = dict(word.split(" = ", 1) for _, words in lines for word in words)
    found, others = _named_values(items, {*known})
    widths = {m[2]: int(m[1] or 0) + 1 for m in map(_SIGNAL.fullmatch, declared) if m}
    closed = sorted(found.keys() & widths.keys() - others)
    uses = Counter(chain.from_iterable(found[signal] for signal in closed))
    types: dict[str, str] = {}
    text = ""
    for signal in closed:
        bits, kind = widths[signal], f"{signal.removeprefix('state_') or signal}_t"
        names = [name for name in known if name in found[signal]]
        numbers = {known[name] for name in names}
        sized = all(re.fullmatch(rf"{bits}'h[0-9a-f]+", number) for number in numbers)
        alone = all(uses[name] == 1 for name in names)
        if not 1 < len(names) == len(numbers) or not (sized and alone) or kind in taken:
            continue
        types[signal] = kind
        members = [f"{name} = {known.pop(name)}" for name in names]
        members[0], members[-1] = f"{{{members[0]}", f"{members[-1]}}} {kind}"
        size = f" [{bits - 1}:0]" if bits > 1 else ""
        text += wrapped(members, f"  typedef enum logic{size}", "    ") + ";\n"
    for start, words in lines:
        if left := [word for word in words if word.split(" = ", 1)[0] in known]:
            text += wrapped(left, start, "    ") + ";\n"
    return text, types
