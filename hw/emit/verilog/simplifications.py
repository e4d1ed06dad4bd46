"""Branches that do nothing, left out where they decide nothing either; branches under the same
conditions, joined."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence

from .expressions import Node
from .registers import assigned, expressions
from .statements import Assign, Branch, Item, Process, Statement, Switch, is_complete

_SHIFT = re.compile(r"^  assign (\w+) = (\w+) >> (\w+)(?:\[(\d+)(?::(\d+))?\])?;$", re.M)


def indexed_bits(body: str, widths: Mapping[str, int]) -> list[str]:
    """Returns the signals of a body that are shifted vectors with only bit 0 in use.

    ``widths``: of all signals.
    """
    return [match[1] for match in _SHIFT.finditer(body) if _is_bit(body, match, widths)]


def _is_bit(body: str, match: re.Match[str], widths: Mapping[str, int]) -> bool:
    uses = re.findall(rf"\b{match[1]}\b(\[[^]]*\])?", body)
    # Behind the last bit there would be an X, not a zero; and of an index that does not reach all
    # bits linters complain.
    inside = widths[match[2]] == 1 << _index_width(match, widths)
    return inside and sorted(set(uses)) == ["", "[0]"] and uses.count("") == 1


def _index_width(match: re.Match[str], widths: Mapping[str, int]) -> int:
    return int(match[4]) - int(match[5] or match[4]) + 1 if match[4] else widths[match[3]]


def with_indices(body: str, names: list[str]) -> str:
    """The body with these signals as bits."""

    def indexed(match: re.Match[str]) -> str:
        if match[1] not in names:
            return match[0]
        vector, index = re.split(" >> ", match[0].partition(" = ")[2].rstrip(";"))
        return f"  assign {match[1]} = {vector}[{index}];"

    body = _SHIFT.sub(indexed, body)
    for name in names:
        body = re.sub(rf"\b{name}\[0\]", name, body)
    return body


def _signals(process: Process) -> set[str]:
    return {assignment.target.signal for assignment in assigned(process.body)}


def _constant(item: Item) -> str:
    """Returns the signal whose bits a process sets to constants in all cases, or nothing."""
    if not isinstance(item, Process) or item.clocked or len(_signals(item)) != 1:
        return ""
    if not all(isinstance(statement, Assign) for statement in item.body):
        return ""
    constant = all(not a.value.signals() for a in assigned(item.body))
    return min(_signals(item)) if constant else ""


def with_constant_bits(items: Sequence[Item]) -> list[Item]:
    """Items with one process for a signal's constant bits and some others of it, where yosys has
    several: a process that reads nothing is never run again, and tools warn of it."""
    kept: list[Item] = []
    for item in items:
        signal = _constant(item)
        host = next((p for p in items if signal and p is not item and _takes(p, signal)), None)
        if host is None:
            kept.append(item)
        else:
            assert isinstance(item, Process)
            assert isinstance(host, Process)
            host.body[:0] = item.body
    return kept


def _takes(item: Item, signal: str) -> bool:
    """Returns whether a process assigns other bits of a signal and reads none of it."""
    if not isinstance(item, Process) or item.clocked or _signals(item) != {signal}:
        return False
    read = {name for expression in expressions(item) for name in expression.signals()}
    return not _constant(item) and signal not in read


LONGEST = 70
"""Characters of a condition that is made of two."""


def _is_exact(label: Node) -> bool:
    """Returns whether only one value fits a label, which then has no don't-care bits."""
    return label.kind == "code" or bool(re.fullmatch(r"\d+'[bdh][0-9a-f]+", str(label)))


def _is_distinct(branches: Sequence[Branch]) -> bool:
    """Returns whether each value fits one label at most, so that the order of branches is
    irrelevant."""
    labels = [label for branch in branches for label in branch.labels]
    return all(map(_is_exact, labels)) and len(set(map(str, labels))) == len(labels)


def _is_equal(subject: Node, label: Node) -> Node:
    """The condition of a branch: the subject itself, or its inverse, if that is a bit."""
    if str(label) == "1'h1":
        return subject
    if str(label) == "1'h0" and subject.kind in ("name", "range"):
        return Node("unary", "~", (subject,))
    return Node("binary", "==", (subject, label))


def _not(conditions: Sequence[Node]) -> Node:
    """Neither of some conditions of one bit."""
    inverses = [
        c.parts[0] if (c.kind, c.word) == ("unary", "~") else Node("unary", "~", (c,))
        for c in conditions
    ]
    return functools.reduce(lambda a, b: Node("binary", "&", (a, b)), inverses)


def _without_idle(branches: Sequence[Branch]) -> Iterator[Branch]:
    """The branches of a chain of ifs; one that does nothing becomes a condition of the others."""
    idle: list[Node] = []
    for place, branch in enumerate(branches):
        if not branch.body:
            idle += branch.labels
            continue
        if not idle:
            yield branch
            continue
        rest = branches[place:]
        if len(rest) == 1:
            conditions = functools.reduce(
                lambda a, b: Node("binary", "&", (a, b)), (_not(idle), *branch.labels)
            )
            yield Branch((conditions,), branch.body)
        else:
            yield Branch((_not(idle),), [Switch(None, list(_without_idle(rest)))])
        return


def _joined(branches: list[Branch]) -> list[Branch]:
    """A last if within which there is nothing but another one, as one of both conditions."""
    last = branches[-1]
    inner = last.body[0] if len(last.body) == 1 else None
    if not last.labels or not isinstance(inner, Switch) or inner.subject is not None:
        return branches
    if len(inner.branches) > 1:
        return branches
    both = Node("binary", "&", (*last.labels, *inner.branches[0].labels))
    if len(str(both)) > LONGEST:
        return branches
    return [*branches[:-1], Branch((both,), inner.branches[0].body)]


def _shared(branches: Sequence[Branch]) -> list[Branch]:
    """The branches of a case; those that do the same as one of all their labels."""
    shared: list[Branch] = []
    for branch in branches:
        same = next(
            (b for b in shared if b.body == branch.body and b.labels and branch.labels), None
        )
        if same is None:
            shared.append(branch)
        else:
            shared[shared.index(same)] = Branch((*same.labels, *branch.labels), same.body)
    return shared


def _switch(switch: Switch) -> Switch | None:
    branches = [Branch(b.labels, _body(b.body)) for b in switch.branches]
    if switch.subject is not None and _is_distinct(branches):
        branches = _shared(branches)
    if switch.subject is None or (branches and not branches[-1].labels):
        while branches and not branches[-1].body:
            branches.pop()
    otherwise = any(not branch.labels for branch in branches)
    if switch.subject is not None and not otherwise and _is_distinct(branches):
        branches = [branch for branch in branches if branch.body]
    if switch.subject is None:
        branches = list(_without_idle(branches))
    if not branches:
        return None
    labels, body = branches[0].labels, branches[0].body
    if switch.subject is not None and len(branches) == len(labels) == 1 and _is_exact(labels[0]):
        branches = [Branch((_is_equal(switch.subject, labels[0]),), body)]
        return Switch(None, _joined(branches))
    return Switch(switch.subject, branches if switch.subject is not None else _joined(branches))


def _targets(statement: Statement) -> set[str]:
    """Returns the signals that a statement assigns."""
    return {part.signal for a in assigned([statement]) for part in a.target.walk()} - {""}


def _conditions(statement: Statement) -> tuple[object, ...]:
    """Equal for chains of ifs under the same conditions; empty for all other statements."""
    if isinstance(statement, Assign) or statement.subject is not None:
        return ()
    return tuple(branch.labels for branch in statement.branches)


def _together(body: list[Statement]) -> list[Statement]:
    """Statements with chains of ifs under the same conditions as one, in the place of the last.

    What stands between them must not assign what they assign. (No statement reads it.)
    """
    conditions = [_conditions(statement) for statement in body]
    if len({*conditions} - {()}) == len(conditions) - conditions.count(()):
        return body
    body = [*body]
    kept: list[Statement] = []
    for place, labels in enumerate(conditions):
        statement = body[place]
        other = conditions.index(labels, place + 1) if labels in conditions[place + 1 :] else 0
        between = set().union(*map(_targets, body[place + 1 : other]))
        if not labels or not other or between & _targets(statement):
            kept.append(statement)
            continue
        host = body[other]
        assert isinstance(statement, Switch)
        assert isinstance(host, Switch)
        pairs = zip(statement.branches, host.branches, strict=True)
        body[other] = Switch(
            None, [Branch(b.labels, _together([*a.body, *b.body])) for a, b in pairs]
        )
    return kept


def _body(body: Sequence[Statement]) -> list[Statement]:
    result: list[Statement] = []
    for statement in body:
        left = statement if isinstance(statement, Assign) else _switch(statement)
        if isinstance(left, Switch) and left.subject and len(left.branches) == 1:
            always = is_complete(left)
            result += left.branches[0].body if always else [left]
        elif left is not None:
            result.append(left)
    return _together(result)


def with_few_branches(items: Sequence[Item]) -> list[Item]:
    """The items without such branches; a case statement for one value becomes an if."""
    shorter = [Process(i.head, _body(i.body)) if isinstance(i, Process) else i for i in items]
    return [item for item in shorter if not isinstance(item, Process) or item.body]
