"""Processes that only choose between values, as continuous assignments.

``assign x = condition ? a : b`` is shorter than the process, and no simulator has to find out what
the process reads. What would take more than a line, or nest choices, stays a process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise

from .expressions import Node, Scope, Unreadable, signed, width
from .registers import assigned
from .statements import COLUMNS, Assign, Branch, Item, Process, Statement, Switch, written

# Values that a process sets first and then perhaps again, as the last of its branches.
#
# Each signal is then set once whenever the process runs. (In Icarus 11 processes that set one
# twice may wake each other, and a simulation stand still: processes of its ``always_comb`` start
# at changes that others see. ``always @*`` is no way out: it does not run until something that it
# reads changes, and so leaves unknown what depends on an input that is not known yet.)


def _sets(body: Sequence[Statement], target: str) -> bool:
    """Returns whether a body is one assignment to the whole target, and nothing else."""
    only = body[0] if len(body) == 1 else None
    return isinstance(only, Assign) and (only.target.kind, only.target.word) == ("name", target)


def _body(body: list[Statement]) -> list[Statement]:
    first, switches = body[0], [s for s in body[1:] if isinstance(s, Switch)]
    if not isinstance(first, Assign) or not switches or len(switches) < len(body) - 1:
        return body
    branches = [branch for switch in reversed(switches) for branch in switch.branches]
    # The last one of several ifs takes effect.
    chain = len(switches) == 1 or all(switch.subject is None for switch in switches)
    if not chain or not all(branch.labels for branch in branches):
        return body
    bodies: list[Sequence[Statement]] = [[first], *(branch.body for branch in branches)]
    if not all(_sets(each, first.target.word) for each in bodies):
        return body
    return [Switch(switches[0].subject, [*branches, Branch((), [first])])]


def with_last_branches(items: Sequence[Item]) -> list[Item]:
    """The items with such processes."""
    return [
        Process(item.head, _body(item.body))
        if isinstance(item, Process) and not item.clocked and item.body
        else item
        for item in items
    ]


MOST_OF_BITS, MOST_OF_VECTORS = 3, 1
"""Choices in one assignment; more of vectors read better with a line each."""

_RANGE = re.compile(r"(\w+)\[(\d+)(?::(\d+))?\]")
_MODULAR = {"+", "-", "*", "&", "|", "^"}
_Piece = tuple[str, int, int]


class _NotPlain(Exception):
    """A process that is more than a choice."""


def _bits(node: Node, scope: Scope) -> _Piece:
    """The bits that are assigned: signal, highest and lowest."""
    if node.kind == "name" and node.word in scope:
        return node.word, scope[node.word][0] - 1, 0
    match = _RANGE.fullmatch(node.word) if node.kind == "range" else None
    if match is None:
        raise _NotPlain
    return match[1], int(match[2]), int(match[3] or match[2])


def _range(name: str, high: int, low: int) -> Node:
    return Node("range", f"{name}[{high}:{low}]" if high > low else f"{name}[{high}]")


def _digits(node: Node) -> str:
    """A constant in binary digits."""
    match = re.fullmatch(r"(\d+)'([bdh])([0-9a-f]+)", node.word)
    if not match:
        raise _NotPlain
    return f"{int(match[3], {'b': 2, 'd': 10, 'h': 16}[match[2]]):0{match[1]}b}"


def _constant(digits: str) -> Node:
    return Node("constant", f"{len(digits)}'h{int(digits, 2):x}")


def _slice(node: Node, high: int, low: int, scope: Scope) -> Node:
    """Some bits of a value."""
    size = width(node, scope)
    if (high, low) == (size - 1, 0):
        return node
    if node.kind in ("name", "range"):
        name, _, bottom = _bits(node, scope)
        return _range(name, bottom + high, bottom + low)
    if node.kind == "constant":
        return _constant(_digits(node)[size - 1 - high : size - low])
    if node.kind == "repeat" and width(node.parts[0], scope) == 1:
        return Node("repeat", str(high - low + 1), node.parts) if high > low else node.parts[0]
    if node.kind != "concat":
        raise _NotPlain
    parts: list[Node] = []
    bottom = size
    for part in node.parts:
        wide = width(part, scope)
        bottom -= wide
        top, start = min(high - bottom, wide - 1), max(low - bottom, 0)
        if top >= start:
            parts.append(_slice(part, top, start, scope))
    return parts[0] if len(parts) == 1 else Node("concat", "", tuple(parts))


def _unsigned(node: Node, size: int, scope: Scope) -> Node:
    """Makes the width of a value independent of the signs of its operands."""
    if not signed(node, scope):
        return node
    if node.kind == "call" and width(node.parts[0], scope) == size:
        return _unsigned(node.parts[0], size, scope)
    arithmetic = node.kind == "binary" and node.word in _MODULAR
    if arithmetic or (node.kind == "unary" and node.word in ("~", "-")):
        return Node(node.kind, node.word, tuple(_unsigned(p, size, scope) for p in node.parts))
    if node.kind == "name" and width(node, scope) == size:
        return node
    raise _NotPlain


def _inverse(condition: Node) -> Node:
    if (condition.kind, condition.word) == ("unary", "~"):
        return condition.parts[0]
    if (condition.kind, condition.word) == ("binary", "=="):
        return Node("binary", "!=", condition.parts)
    return Node("unary", "~", (condition,))


def _both(word: str, left: Node, right: Node) -> Node:
    return Node("binary", word, (left, right))


def _is_bit(node: Node, value: int) -> bool:
    return node.kind == "constant" and node.word in (f"1'h{value}", f"1'b{value}", f"1'd{value}")


def without_choice(condition: Node, first: Node, second: Node) -> Node | None:
    """One of two bits of which one never changes, without a choice."""
    inverse = _inverse(condition)
    if _is_bit(second, 0):
        return condition if _is_bit(first, 1) else _both("&", condition, first)
    if _is_bit(first, 1):
        return _both("|", condition, second)
    if _is_bit(first, 0):
        return inverse if _is_bit(second, 1) else _both("&", inverse, second)
    if _is_bit(second, 1):
        return _both("|", inverse, first)
    return None


def _choice(condition: Node, first: Node, second: Node) -> Node:
    """One of two values, in the simplest words."""
    inverse = _inverse(condition)
    for side, same in ((second, condition), (second, inverse)):
        if side.kind == "?" and side.parts[0] == same:
            second = side.parts[2 if same == condition else 1]
    if first == second:
        return first
    if first.kind == "?" and second.kind != "?":
        return Node("?", "", (inverse, second, first))
    if second.kind == "?":
        return Node("?", "", (condition, first, second))
    if simple := without_choice(condition, first, second):
        return simple
    if (condition.kind, condition.word) == ("unary", "~"):
        return Node("?", "", (inverse, second, first))
    return Node("?", "", (condition, first, second))


class _Process:
    """Expressions for the bits that a combinational process assigns."""

    def __init__(self, process: Process, scope: Scope) -> None:
        self._scope = scope
        self._body = process.body
        self._targets = [_bits(a.target, scope) for a in assigned(process.body)]

    def pieces(self) -> Iterator[_Piece]:
        """Bits that are always assigned together, from the top down."""
        for signal in dict.fromkeys(name for name, _, _ in self._targets):
            own = [(high, low) for name, high, low in self._targets if name == signal]
            edges = sorted({high + 1 for high, _ in own} | {low for _, low in own}, reverse=True)
            for top, low in pairwise(edges):
                if any(bottom <= low < high + 1 for high, bottom in own):
                    yield signal, top - 1, low

    def value(self, piece: _Piece) -> Node:
        """Returns the expression of a piece. Raises _NotPlain for a case, or if bits keep their
        value."""
        found = self._after(self._body, piece, None)
        if found is None:
            raise _NotPlain
        return found

    def _after(self, body: Sequence[Statement], piece: _Piece, before: Node | None) -> Node | None:
        for statement in body:
            if isinstance(statement, Switch):
                before = self._chosen(statement, piece, before)
                continue
            name, high, low = _bits(statement.target, self._scope)
            if name == piece[0] and low <= piece[2] <= high:
                before = self._assigned(statement.value, high - low + 1, piece, low)
        return before

    def _assigned(self, value: Node, size: int, piece: _Piece, low: int) -> Node:
        if width(value, self._scope) != size:
            raise _NotPlain
        return _slice(_unsigned(value, size, self._scope), piece[1] - low, piece[2] - low,
                      self._scope)  # fmt: skip

    def _chosen(self, switch: Switch, piece: _Piece, before: Node | None) -> Node | None:
        changes = [_bits(a.target, self._scope) for a in assigned([switch])]
        if not any(name == piece[0] and low <= piece[2] <= high for name, high, low in changes):
            return before
        branches = _as_ifs(switch, self._scope)
        result = before
        for branch in reversed(branches):
            value = self._after(branch.body, piece, before)
            if not branch.labels:
                result = value
                continue
            if value is None or result is None or len(branch.labels) > 1:
                raise _NotPlain
            if width(branch.labels[0], self._scope) > 1:
                raise _NotPlain
            result = _choice(branch.labels[0], value, result)
        return result


def _as_ifs(switch: Switch, scope: Scope) -> list[Branch]:
    """The branches with conditions; of a case only if its subject is a bit."""
    if switch.subject is None:
        return switch.branches
    labels = [branch.labels for branch in switch.branches]
    if width(switch.subject, scope) > 1 or len(labels) != 2 or any(len(x) > 1 for x in labels):
        raise _NotPlain
    if not labels[0] or not (_is_bit(labels[0][0], 0) or _is_bit(labels[0][0], 1)):
        raise _NotPlain
    first, second = switch.branches
    if _is_bit(labels[0][0], 0):
        first, second = second, first
    return [Branch((switch.subject,), first.body), Branch((), second.body)]


def _joined(upper: Node, lower: Node, scope: Scope) -> Node | None:
    """The value of neighbouring bits, if those of both can be written as one."""
    if upper.kind == lower.kind == "?" and upper.parts[0] == lower.parts[0]:
        first = _joined(upper.parts[1], lower.parts[1], scope)
        second = _joined(upper.parts[2], lower.parts[2], scope)
        return Node("?", "", (upper.parts[0], first, second)) if first and second else None
    if upper.kind == lower.kind == "constant":
        return _constant(_digits(upper) + _digits(lower))
    if {upper.kind, lower.kind} == {"range"}:
        (one, high, end), (other, start, low) = _bits(upper, scope), _bits(lower, scope)
        if one == other and end == start + 1:
            whole = low == 0 and high == scope[one][0] - 1
            return Node("name", one) if whole else _range(one, high, low)
    return None


def _assignments(process: Process, scope: Scope, structured: Set[str]) -> Iterator[Assign]:
    made = _Process(process, scope)
    found: list[tuple[_Piece, Node]] = []
    for piece in made.pieces():
        value = made.value(piece)
        if found and found[-1][0][0] == piece[0] and found[-1][0][2] == piece[1] + 1:
            (name, high, _), upper = found[-1]
            both = None if name in structured else _joined(upper, value, scope)
            if both is not None:
                found[-1] = ((name, high, piece[2]), both)
                continue
        found.append((piece, value))
    for (name, high, low), value in found:
        whole = low == 0 and high == scope[name][0] - 1
        yield Assign(Node("name", name) if whole else _range(name, high, low), value)


def _is_readable(assignment: Assign, scope: Scope) -> bool:
    """Returns whether an assignment is readable: a line with a few choices, nested only at its end,
    or one choice in up to a line and a half."""
    choices = [node for node in assignment.value.walk() if node.kind == "?"]
    nested = any(part.kind == "?" for node in choices for p in node.parts[:2] for part in p.walk())
    inner = assignment.value.kind != "?" and choices
    room = COLUMNS if len(choices) > 1 else COLUMNS + COLUMNS // 2
    fits = len(f"  assign {assignment.target} = {assignment.value};") <= room
    most = MOST_OF_BITS if width(assignment.target, scope) == 1 else MOST_OF_VECTORS
    return fits and not nested and not inner and len(choices) <= most


def _replaced(item: Item, scope: Scope, structured: Set[str]) -> list[Item]:
    if not isinstance(item, Process) or item.clocked:
        return [item]
    try:
        made = list(_assignments(item, scope, structured))
    except (_NotPlain, Unreadable):
        return [item]
    few = len(made) <= written(item).count("\n") - 1
    return (
        [*made] if few and all(_is_readable(assignment, scope) for assignment in made) else [item]
    )


def with_choices(items: Sequence[Item], scope: Scope, structured: Set[str]) -> list[Item]:
    """The items with assignments in the place of such processes.

    Parameters
    ----------
    items: a module's body
    scope: width and sign of all signals
    structured: signals that consist of fields, each of which is assigned by itself
    """
    return [new for item in items for new in _replaced(item, scope, structured)]
