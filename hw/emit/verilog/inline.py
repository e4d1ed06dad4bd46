"""Intermediate results that are used once, or are short, written where they are used.

An expression takes the place of a signal only where it is computed with the same width and sign
as before: at exactly the signal's width, and signed nowhere but where it stands alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set

from .choices import without_choice
from .expressions import COMPARISONS, Node, Scope, Unreadable, depth, replaced, signed, sites, width
from .registers import assigned, mentions
from .statements import Assign, Instance, Item, Process, Statement

__all__ = ["with_expressions"]

LONGEST, LONGEST_UNNAMED = 60, 80
DEEPEST, DEEPEST_UNNAMED = 3, 4
LONGEST_LINE = 160
"""Limits of the expressions that replace a signal, with and without a name in the Python, and of
the result."""

LONGEST_REPEATED, DEEPEST_REPEATED, MOST_REPEATED = 45, 2, 90
"""Limits of those that replace a signal without such a name in several places: characters and
levels of one, characters of all but the first."""


def _simple(node: Node, scope: Scope) -> Node:
    """Returns the node without reductions of single bits."""
    if not node.parts:
        return node
    parts = tuple([_simple(part, scope) for part in node.parts])
    if _is_reduction(node) and _is_bit(parts[0], scope):
        return parts[0]
    return Node(node.kind, node.word, parts)


def _is_reduction(node: Node) -> bool:
    return node.kind == "unary" and node.word in ("|", "&", "^")


def _folded(node: Node, scope: Scope, context: int) -> Node:
    """Returns the node without choices between a constant bit and another bit."""
    for place, computed, _ in sites(node, scope, context, alone=True):
        if place.kind == "?" and computed == 1 and width(place.parts[0], scope) == 1:
            constant = [side.kind == "constant" for side in place.parts[1:]]
            # Both may be values with names, such as those of a state.
            named = all(constant) and place is node
            simple = without_choice(*place.parts) if any(constant) and not named else None
            if simple:
                return _folded(replaced(node, {id(place): simple}), scope, context)
    return node


def _is_bit(node: Node, scope: Scope) -> bool:
    """Returns whether an expression is an unsigned bit, whatever is around it."""
    compares = node.kind == "binary" and node.word in COMPARISONS
    return compares or (node.kind in ("name", "range") and width(node, scope) == 1)


def _is_small(node: Node) -> bool:
    """A bit or its inverse: as easy to read as a name, however often it is used."""
    if node.kind == "unary" and node.word == "~":
        node = node.parts[0]
    return node.kind in ("name", "range")


class _Inliner:
    def __init__(
        self, items: Sequence[Item], derived: set[str], scope: Scope, named: Set[str]
    ) -> None:
        self._scope = scope
        self._named = named
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
        drivers = Counter(driven)
        for name in list(self._definitions):
            if name not in derived or name not in scope or drivers[name] > 1:
                del self._definitions[name]
        self._finished: set[str] = set()
        self._one_target = False
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
            inner = self._definitions[name].value.signals() & self._definitions.keys()
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
            targets = [assignment.target for assignment in assigned(item.body)]
            own = set() if item.clocked else {target.signal for target in targets}
            self._one_target = len({target.word for target in targets}) == 1
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
                    branch.labels = tuple(
                        self._expression(c, 0, own, condition=True) for c in branch.labels
                    )
                self._body(branch.body, own)

    def _expression(
        self, node: Node, context: int, own: frozenset[str], *, condition: bool = False
    ) -> Node:
        """Rewrites an expression; ``context`` as for ``sites``, or -1 for an expression that
        accepts only small ones. A condition of several signals may become one of each: it accepts
        what is used in several places only if that is small."""
        if not any(map(self._may_change, node.walk())):
            return node
        try:
            places = list(sites(node, self._scope, max(context, 0), alone=True))
        except Unreadable:
            return node
        values: dict[int, Node] = {}
        result = node
        for place, computed, alone in places:
            value = self._value(place, computed, alone)
            if value is None or value.signals() & own:
                continue
            repeated = condition and not self._one_target and self._counts[place.word] > 1
            if (context < 0 or repeated) and not _is_small(value):
                continue
            attempt = replaced(node, {**values, id(place): value})
            root = attempt.kind in ("concat", "repeat")
            if not root and not _is_small(value) and len(str(attempt)) > LONGEST_LINE:
                continue
            values[id(place)] = value
            result = attempt
            self._left[place.word] -= 1
        if any(node.kind == "?" for node in (*(place for place, _, _ in places), *values.values())):
            result = _folded(result, self._scope, max(context, 0))
        return _simple(result, self._scope)

    def _may_change(self, node: Node) -> bool:
        """Returns whether an operation, or a signal, may be written otherwise."""
        if node.kind == "name":
            return node.word in self._definitions
        return node.kind == "?" or _is_reduction(node)

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
        return value if self._is_readable(place.word, value) else None

    def _is_readable(self, signal: str, value: Node) -> bool:
        """Returns whether an expression is as easy to read as the name of the signal that it
        defines."""
        uses, named, length = self._counts[signal], signal in self._named, len(str(value))
        if uses > 1:
            short = length <= LONGEST_REPEATED and length * (uses - 1) <= MOST_REPEATED
            return short and not named and depth(value) <= DEEPEST_REPEATED
        if named:
            return length <= LONGEST and depth(value) <= DEEPEST
        return length <= LONGEST_UNNAMED and depth(value) <= DEEPEST_UNNAMED


def with_expressions(
    items: Sequence[Item], derived: set[str], scope: Scope, named: Set[str] = frozenset()
) -> list[Item]:
    """The items with expressions in the place of signals.

    Parameters
    ----------
    items: a module's body
    derived: names of signals that nothing outside of the body refers to
    scope: width and sign of all signals
    named: signals whose values have names in the Python
    """
    gone = _Inliner(items, derived, scope, named).run(items)
    return [i for i in items if not (isinstance(i, Assign) and i.target.word in gone)]
