"""Registers as processes of their own, without a signal for each register's next value."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from .expressions import Node
from .statements import Assign, Branch, Instance, Item, Process, Raw, Statement, Switch

__all__ = ["assigned", "check_processes", "expressions", "mentions", "rewrite",
           "with_registers"]  # fmt: skip


def assigned(body: Sequence[Statement]) -> Iterator[Assign]:
    """All assignments of a body."""
    for statement in body:
        if isinstance(statement, Assign):
            yield statement
        else:
            for branch in statement.branches:
                yield from assigned(branch.body)


def _values(body: Sequence[Statement]) -> Iterator[Node]:
    """Walks the expressions that a body reads, without the indices of its targets."""
    for statement in body:
        if isinstance(statement, Assign):
            yield statement.value
        else:
            if statement.subject is not None:
                yield statement.subject
            for branch in statement.branches:
                yield from branch.labels
                yield from _values(branch.body)


def _read(body: Sequence[Statement]) -> Iterator[Node]:
    yield from _values(body)
    for assignment in assigned(body):
        yield from assignment.target.parts


def expressions(item: Item) -> Iterator[Node]:
    """All expressions that an item reads; for an instance those at outputs too."""
    if isinstance(item, Assign):
        yield from _read([item])
    elif isinstance(item, Process):
        yield from _read(item.body)
    elif isinstance(item, Instance):
        yield from (value for _, value in item.pins if value is not None)


def rewrite(item: Item, node: Callable[[Node], Node]) -> None:
    """Rewrites all expressions of an item in place, targets included."""
    if isinstance(item, Assign):
        _rewrite([item], node)
    elif isinstance(item, Process):
        _rewrite(item.body, node)
    elif isinstance(item, Instance):
        item.pins = [(pin, None if value is None else node(value)) for pin, value in item.pins]


def _rewrite(body: Sequence[Statement], node: Callable[[Node], Node]) -> None:
    for statement in body:
        if isinstance(statement, Assign):
            statement.target, statement.value = node(statement.target), node(statement.value)
            continue
        if statement.subject is not None:
            statement.subject = node(statement.subject)
        for branch in statement.branches:
            branch.labels = tuple(map(node, branch.labels))
            _rewrite(branch.body, node)


def mentions(items: Sequence[Item]) -> Counter[str]:
    """Counts how often each signal is read (for an instance's pin: read or driven)."""
    counts: Counter[str] = Counter()
    for item in items:
        if isinstance(item, Raw):
            counts.update(re.findall(r"[A-Za-z_]\w*", item.text))
        for expression in expressions(item):
            counts.update(filter(None, [node.signal for node in expression.walk()]))
    return counts


def check_processes(items: Sequence[Item]) -> None:
    """Checks that no combinational process reads a signal that it writes.

    In Amaranth it reads the final value, in Verilog what it has written so far. Raises ValueError.
    """
    for item in items:
        if isinstance(item, Process) and not item.clocked:
            written = {node.signal for a in assigned(item.body) for node in a.target.walk()}
            read = {node.signal for value in _values(item.body) for node in value.walk()}
            for signal in sorted((written & read) - {""}):
                raise ValueError(
                    f"bits of signal `{signal}` depend on other bits of it under conditions: "
                    f"make them signals of their own"
                )


def _renamed(body: Sequence[Statement], old: str, new: str) -> list[Statement]:
    """The assignments to ``old`` as clocked ones to ``new``; branches that do nothing go."""
    result: list[Statement] = []
    for statement in body:
        if isinstance(statement, Assign):
            word = re.sub(rf"^{old}\b", new, statement.target.word)
            target = Node(statement.target.kind, word, statement.target.parts)
            result.append(Assign(target, statement.value, clocked=True))
            continue
        branches = [Branch(b.labels, _renamed(b.body, old, new)) for b in statement.branches]
        while statement.subject is None and branches and not branches[-1].body:
            branches.pop()
        if any(branch.body for branch in branches):
            result.append(Switch(statement.subject, branches))
    return result


def _reset_first(body: list[Statement]) -> list[Statement]:
    """``if (rst) x <= 0; else ...`` for a reset of the whole register after all else."""
    last = body[-1] if body else None
    if not isinstance(last, Switch) or last.subject is not None or len(last.branches) > 1:
        return body
    reset = last.branches[0]
    whole = len(reset.body) == 1 and isinstance(reset.body[0], Assign)
    if str(reset.labels[0]) != "rst" or not whole or len(body) == 1:
        return body
    if not all(a.target.kind == "name" for a in assigned(reset.body)):
        return body
    rest = body[:-1]
    only = rest[0]
    if len(rest) == 1 and isinstance(only, Switch) and only.subject is None:
        return [Switch(None, [reset, *only.branches])]
    return [Switch(None, [reset, Branch((), rest)])]


def _register(name: str, following: str, body: Sequence[Statement]) -> list[Statement]:
    """Returns the body of a register's process, from the one that computes its following value."""
    start = 0
    while start < len(body):
        first = body[start]
        if not isinstance(first, Assign) or first.target.signal != following:
            break
        if re.sub(rf"^{following}\b", name, first.target.word) != str(first.value):
            break
        start += 1
    return _reset_first(_renamed(body[start:], following, name))


def _alike(one: Statement, other: Statement) -> bool:
    """Returns whether two switches decide by the same conditions, as far as both go."""
    if isinstance(one, Assign) or isinstance(other, Assign):
        return isinstance(one, Assign) and isinstance(other, Assign)
    if one.subject != other.subject:
        return False
    return all(a.labels == b.labels for a, b in zip(one.branches, other.branches, strict=False))


def _merge(body: list[Statement], more: Sequence[Statement]) -> None:
    """Adds the statements of another register, in their order, to switches that are alike."""
    start = 0
    for statement in more:
        place = start
        if isinstance(statement, Assign):
            while place < len(body) and isinstance(body[place], Assign):
                place += 1
            body.insert(place, statement)
        else:
            while place < len(body) and not (
                isinstance(body[place], Switch) and _alike(body[place], statement)
            ):
                place += 1
            if place == len(body):
                body.append(statement)
            else:
                found = body[place]
                assert isinstance(found, Switch)
                for mine, new in zip(found.branches, statement.branches, strict=False):
                    _merge(mine.body, new.body)
                found.branches += statement.branches[len(found.branches) :]
        start = place + 1


def _grouped(processes: Sequence[Process]) -> list[Process]:
    """Processes under the same conditions as one, in the place of the first of them."""
    groups: list[Process] = []
    for process in processes:
        for group in groups:
            fits = len(group.body) == len(process.body) == 1 or all(
                isinstance(s, Assign) for s in (*group.body, *process.body)
            )
            if fits and group.head == process.head and _alike(group.body[0], process.body[0]):
                _merge(group.body, process.body)
                break
        else:
            groups.append(process)
    return groups


class _Drivers:
    """Items that compute each signal that is private to a body."""

    def __init__(self, items: Sequence[Item], derived: set[str]) -> None:
        counts = mentions(items)
        self._found: dict[str, list[Item]] = {}
        for item in items:
            if isinstance(item, Process):
                targets = {a.target.signal for a in assigned(item.body)}
            else:
                targets = {item.target.signal} if isinstance(item, Assign) else set()
            for target in targets:
                usable = target in derived and counts[target] == 1 and len(targets) == 1
                self._found.setdefault(target, []).extend([item] if usable else [item, item])

    def only(self, signal: Node) -> Item | None:
        """The item that computes a signal that is read once, if it computes nothing else."""
        found = self._found.get(signal.word, []) if signal.kind == "name" else []
        return found[0] if len(found) == 1 else None


def with_registers(items: Sequence[Item], derived: set[str]) -> list[Item]:
    """Registers with their following values computed in place.

    Parameters
    ----------
    items: a module's body
    derived: names of signals that nothing outside of the body refers to
    """
    drivers = _Drivers(items, derived)
    kept: list[Item] = []
    registers: list[Process] = []
    dropped: set[int] = set()
    for item in items:
        kept.append(item)
        if not (isinstance(item, Process) and item.clocked and len(item.body) == 1):
            continue
        old = item.body[0]
        if not isinstance(old, Assign) or old.target.kind != "name":
            continue
        body: list[Statement] = [old]
        driver = drivers.only(old.value)
        if isinstance(driver, Assign) and driver.target.kind == "name":
            body = [Assign(old.target, driver.value, clocked=True)]
        elif isinstance(driver, Process) and not driver.clocked:
            body = _register(old.target.word, old.value.word, driver.body)
        if body:
            if body[0] is not old:
                dropped.add(id(driver))
            registers.append(Process(item.head, body))
            kept[-1] = registers[-1]
    groups = {id(group) for group in _grouped(registers)}
    dropped |= {id(register) for register in registers} - groups
    return [item for item in kept if id(item) not in dropped]
