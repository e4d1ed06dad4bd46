"""Trees of statements, taken apart and put together again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from ...spec.t2s.expressions import Apply, Fold, Pack, Value
from ...spec.t2s.loops import Loop
from ...spec.t2s.statements import Body, BufferWrite, For, If, Send, Statement, Store

__all__ = ["all_statements", "loops_in", "nest", "revalue", "rewrite", "without_loops"]


def nest(loops: Iterable[Loop], body: Body) -> Body:
    """Loops, outermost first, around statements."""
    for loop in reversed(list(loops)):
        body = (For(loop, body),)
    return body


def rewrite(body: Body, change: Callable[[Statement], Body | None]) -> Body:
    """Replace statements, outermost first, by what ``change`` gives; None leaves one, and looks
    into it."""
    found: list[Statement] = []
    for one in body:
        new = change(one)
        if new is not None:
            found.extend(new)
        elif isinstance(one, For):
            found.append(replace(one, body=rewrite(one.body, change)))
        elif isinstance(one, If):
            then, otherwise = rewrite(one.then, change), rewrite(one.otherwise, change)
            found.append(replace(one, then=then, otherwise=otherwise))
        else:
            found.append(one)
    return tuple(found)


def revalue(body: Body, change: Callable[[Value], Value | None]) -> Body:
    """Replace values in all statements, outermost first; None leaves one, and looks into it."""

    def value(given: Value) -> Value:
        new = change(given)
        if new is not None:
            return new
        if isinstance(given, Apply):
            return replace(given, arguments=tuple(value(one) for one in given.arguments))
        if isinstance(given, Fold):
            return Fold(value(given.start), value(given.vector))
        if isinstance(given, Pack):
            return Pack(tuple(value(one) for one in given.parts))
        return given

    def statement(one: Statement) -> Body | None:
        if isinstance(one, Send | Store | BufferWrite):
            return (replace(one, value=value(one.value)),)
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
    """Every statement, those around others first."""
    for one in body:
        yield one
        if isinstance(one, For):
            yield from all_statements(one.body)
        elif isinstance(one, If):
            yield from all_statements(one.then)
            yield from all_statements(one.otherwise)


def loops_in(body: Body) -> list[Loop]:
    """Loops of a body, each once, in the order in which they stand."""
    found = [one.loop for one in all_statements(body) if isinstance(one, For)]
    return list(dict.fromkeys(found))
