"""Variables of loops in statements: those that hardware has to count, since they are needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ....spec.t2s.affine import Affine
from ....spec.t2s.expressions import Apply, BufferRead, Flagged, Fold, Load, Pack, Value
from ....spec.t2s.statements import (
    Body,
    BufferWrite,
    Equal,
    For,
    If,
    Receive,
    Send,
    Statement,
    Store,
)
from ..rewriting import all_statements, inside, revalue

__all__ = ["used_variables", "with_variables"]


def used_variables(body: Body) -> set[str]:
    """Names in conditions, places, bounds and flags."""
    return {name for one in all_statements(body) for name in _used(one)}


def _used(statement: Statement) -> Iterator[str]:
    if isinstance(statement, For):
        for bound in (statement.first, statement.last):
            yield from bound.variables if bound else ()
    elif isinstance(statement, If):
        yield from statement.condition.left.variables
        yield from statement.condition.right.variables
    elif isinstance(statement, Receive | Send):
        for index in statement.at:
            yield from index.variables
    elif isinstance(statement, Store | BufferWrite):
        for index in statement.indices:
            yield from index.variables
    if isinstance(statement, Send | Store | BufferWrite):
        yield from _in_value(statement.value)


def _in_value(value: Value) -> Iterator[str]:
    if isinstance(value, Load | BufferRead):
        for index in value.indices:
            yield from index.variables
    elif isinstance(value, Flagged):
        yield from (name for name, _ in (*value.first, *value.last))
        yield from _in_value(value.value)
    elif isinstance(value, Fold):
        yield from _in_value(value.start)
        yield from _in_value(value.vector)
    elif isinstance(value, Apply | Pack):
        for one in value.arguments if isinstance(value, Apply) else value.parts:
            yield from _in_value(one)


def with_variables(body: Body, given: Mapping[str, Affine]) -> Body:
    """Statements with variables replaced by constants; flags do without them."""
    if not given:
        return body

    def value(one: Value) -> Value | None:
        if isinstance(one, Load | BufferRead):
            return replace(one, indices=tuple(at.substitute(given) for at in one.indices))
        if isinstance(one, Flagged) and any(name in given for name, _ in one.first):
            first = tuple(pair for pair in one.first if pair[0] not in given)
            last = tuple(pair for pair in one.last if pair[0] not in given)
            (sent,) = revalue((Store("", (), one.value),), value)
            assert isinstance(sent, Store)
            return Flagged(sent.value, first, last)
        return None

    return tuple(_with(one, given) for one in revalue(body, value))


def _with(one: Statement, given: Mapping[str, Affine]) -> Statement:
    if isinstance(one, For) and one.first and one.last:
        one = replace(one, first=one.first.substitute(given), last=one.last.substitute(given))
    elif isinstance(one, If):
        left, right = one.condition.left, one.condition.right
        one = replace(one, condition=Equal(left.substitute(given), right.substitute(given)))
    elif isinstance(one, Receive | Send):
        one = replace(one, at=tuple(at.substitute(given) for at in one.at))
    elif isinstance(one, Store | BufferWrite):
        one = replace(one, indices=tuple(at.substitute(given) for at in one.indices))
    return inside(one, lambda body: tuple(_with(inner, given) for inner in body))
