"""Intermediate results that are used once, written where they are used.

An expression takes the place of a signal only where it is computed with the same width and sign
as before: at exactly the signal's width, and signed nowhere but where it stands alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from .expressions import Node, Scope, Unreadable, depth, replaced, signed, sites, width
from .registers import assigned, mentions
from .statements import Assign, Instance, Item, Process, Statement

__all__ = ["with_expressions"]

LONGEST = 60
DEEPEST = 3
LONGEST_LINE = 160
"""Limits of the expressions that replace a signal, and of the result."""


def _simple(node: Node, scope: Scope) -> Node:
    """Without reductions of single bits."""
    parts = tuple(_simple(part, scope) for part in node.parts)
    reduction = node.kind == "unary" and node.word in ("|", "&", "^")
    if reduction and parts[0].kind in ("name", "range") and width(parts[0], scope) == 1:
        return parts[0]
    return Node(node.kind, node.word, parts)


def _is_small(node: Node) -> bool:
    """A bit or its inverse: as easy to read as a name, however often it is used."""
    if node.kind == "unary" and node.word == "~":
        node = node.parts[0]
    return node.kind in ("name", "range")


class _Inliner:
    def __init__(self, items: Sequence[Item], derived: set[str], scope: Scope) -> None:
        self._scope = scope
        self._counts = mentions(items)
        self._definitions = {
            item.target.word: item
            for item in items
            if isinstance(item, Assign) and item.target.kind == "name"
        }
        driven = [
            a.target.signal for i in items if isinstance(i, Process) for a in assigned(i.body)
        ]
        driven += [i.target.signal for i in items if isinstance(i, Assign)]
        for name in list(self._definitions):
            if name not in derived or name not in scope or driven.count(name) > 1:
                del self._definitions[name]
        self._finished: set[str] = set()
        self._left = dict(self._counts)

    def run(self, items: Sequence[Item]) -> set[str]:
        """Finish all items, definitions before their uses; returns the signals that are gone."""
        for name in self._order():
            self._finish(self._definitions[name])
            self._finished.add(name)
        for item in items:
            if not (isinstance(item, Assign) and self._definitions.get(item.target.word) is item):
                self._finish(item)
        return {name for name in self._definitions if not self._left.get(name, 0)}

    def _order(self) -> list[str]:
        order: dict[str, None] = {}
        opened: set[str] = set()
        waiting = list(reversed(self._definitions))
        while waiting:
            name = waiting[-1]
            inner = self._definitions[name].value.signals() & set(self._definitions)
            fresh = [] if name in opened else sorted(inner - opened)
            opened.add(name)
            if fresh:
                waiting += fresh
            else:
                order.setdefault(waiting.pop())
        return list(order)

    def _finish(self, item: Item) -> None:
        """Replaces signals in an item by their expressions, where that is possible."""
        if isinstance(item, Assign):
            self._assign(item, frozenset())
        elif isinstance(item, Process):
            own = set() if item.clocked else {a.target.signal for a in assigned(item.body)}
            self._body(item.body, frozenset(own))
        elif isinstance(item, Instance):
            item.pins = [
                (pin, None if value is None else self._expression(value, 0, frozenset()))
                for pin, value in item.pins
            ]

    def _assign(self, item: Assign, own: frozenset[str]) -> None:
        try:
            context = width(item.target, self._scope)
        except Unreadable:
            return
        item.value = self._expression(item.value, context, own)

    def _body(self, body: Sequence[Statement], own: frozenset[str]) -> None:
        for statement in body:
            if isinstance(statement, Assign):
                self._assign(statement, own)
                continue
            if statement.subject is not None:
                statement.subject = self._expression(statement.subject, -1, own)
            for branch in statement.branches:
                if statement.subject is None:
                    branch.labels = tuple(self._expression(c, 0, own) for c in branch.labels)
                self._body(branch.body, own)

    def _expression(self, node: Node, context: int, own: frozenset[str]) -> Node:
        """Rewrites an expression; ``context`` as for ``sites``, or -1 for an expression that
        accepts only small ones."""
        try:
            places = list(sites(node, self._scope, max(context, 0), alone=True))
        except Unreadable:
            return node
        values: dict[int, Node] = {}
        result = node
        for place, computed, alone in places:
            value = self._value(place, computed, alone)
            if value is None or value.signals() & own or (context < 0 and not _is_small(value)):
                continue
            attempt = replaced(node, {**values, id(place): value})
            root = attempt.kind in ("concat", "repeat")
            if not root and not _is_small(value) and len(str(attempt)) > LONGEST_LINE:
                continue
            values[id(place)] = value
            result = attempt
            self._left[place.word] -= 1
        return _simple(result, self._scope)

    def _value(self, place: Node, computed: int, alone: bool) -> Node | None:
        """Returns the expression that can replace a signal at a place, or nothing."""
        definition = self._definitions.get(place.word) if place.kind == "name" else None
        if definition is None or place.word not in self._finished:
            return None
        value = definition.value
        exact = self._scope[place.word] == (width(value, self._scope), False)
        if not exact or computed != self._scope[place.word][0]:
            return None
        if signed(value, self._scope) and not alone:
            return None
        if _is_small(value):
            return value
        if self._counts[place.word] > 1 or len(str(value)) > LONGEST or depth(value) > DEEPEST:
            return None
        return value


def with_expressions(items: Sequence[Item], derived: set[str], scope: Scope) -> list[Item]:
    """The items with expressions in the place of signals.

    Parameters
    ----------
    items: a module's body
    derived: names of signals that nothing outside of the body refers to
    scope: width and sign of all signals
    """
    gone = _Inliner(items, derived, scope).run(items)
    return [i for i in items if not (isinstance(i, Assign) and i.target.word in gone)]
