"""Trees of statements, taken apart and put together again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from operator import is_

from ...spec.t2s.loops import Loop
from ...spec.t2s.statements import (
    Apply,
    Block,
    Body,
    BufferWrite,
    Counted,
    Ever,
    Flagged,
    Fold,
    For,
    If,
    Pack,
    Phases,
    Send,
    Statement,
    Store,
    Together,
    Until,
    Value,
    Visit,
    When,
)

__all__ = [
    "all_statements",
    "bodies_of",
    "inside",
    "loops_in",
    "nest",
    "revalue",
    "rewrite",
    "without_loops",
]


def nest(loops: Iterable[Loop], body: Body) -> Body:
    """Nests statements in loops, outermost first."""
    for loop in reversed(list(loops)):
        body = (For(loop, body),)
    return body


def rewrite(body: Body, change: Callable[[Statement], Body | None]) -> Body:
    """Replace statements, outermost first, by what ``change`` gives; None leaves one, and looks
    into it. A body in which nothing changes is returned itself."""
    found: list[Statement] = []
    for one in body:
        new = change(one)
        if new is not None:
            found.extend(new)
        else:
            found.append(inside(one, lambda body: rewrite(body, change)))
    same = len(found) == len(body) and all(map(is_, found, body))
    return body if same else tuple(found)


def inside(statement: Statement, change: Callable[[Body], Body]) -> Statement:
    """A statement with the bodies in it replaced by what ``change`` makes of them."""
    if isinstance(statement, For | Visit | When | Ever | Until | Counted | Block):
        body = change(statement.body)
        return statement if body is statement.body else replace(statement, body=body)
    if isinstance(statement, If):
        then, otherwise = change(statement.then), change(statement.otherwise)
        if then is statement.then and otherwise is statement.otherwise:
            return statement
        return replace(statement, then=then, otherwise=otherwise)
    if isinstance(statement, Phases):
        bodies = [change(one.body) for one in statement.phases]
        if all(body is one.body for body, one in zip(bodies, statement.phases, strict=True)):
            return statement
        phases = zip(statement.phases, bodies, strict=True)
        return replace(statement, phases=tuple(replace(one, body=body) for one, body in phases))
    return statement


def bodies_of(statement: Statement) -> tuple[Body, ...]:
    """Returns the bodies in a statement."""
    found: list[Body] = []

    def note(body: Body) -> Body:
        found.append(body)
        return body

    inside(statement, note)
    return tuple(found)


def revalue(body: Body, change: Callable[[Value], Value | None]) -> Body:
    """Replace values in all statements, outermost first; None leaves one, and looks into it."""

    def value(given: Value) -> Value:
        new = change(given)
        if new is not None:
            return new
        if isinstance(given, Apply):
            arguments = tuple(map(value, given.arguments))
            same = all(map(is_, arguments, given.arguments))
            return given if same else replace(given, arguments=arguments)
        if isinstance(given, Fold):
            return Fold(value(given.start), value(given.vector))
        if isinstance(given, Together):
            return Together(tuple(value(one) for one in given.terms))
        if isinstance(given, Pack):
            return Pack(tuple(value(one) for one in given.parts))
        if isinstance(given, Flagged):
            return replace(given, value=value(given.value))
        return given

    def statement(one: Statement) -> Body | None:
        if isinstance(one, Send | Store | BufferWrite):
            new = value(one.value)
            return None if new is one.value else (replace(one, value=new),)
        return None

    return rewrite(body, statement)


def without_loops(body: Body, names: Iterable[str]) -> Body:
    """Statements without the loops of these names: what was in them is done once."""
    gone = set(names)

    def change(one: Statement) -> Body | None:
        if isinstance(one, For) and one.loop.name in gone:
            return without_loops(one.body, gone)
        return None

    return rewrite(body, change)


def all_statements(body: Body) -> Iterator[Statement]:
    """Yields every statement, those around others first."""
    for one in body:
        yield one
        for inner in bodies_of(one):
            yield from all_statements(inner)


def loops_in(body: Body) -> list[Loop]:
    """Loops of a body, each once, in the order in which they stand."""
    found = [one.loop for one in all_statements(body) if isinstance(one, For)]
    return list(dict.fromkeys(found))
