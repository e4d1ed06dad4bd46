"""Flattening: a nest of loops becomes one counter with a field of bits for each (section 3.4.2).

Loops whose variables nothing needs have a field together with their neighbours. What has its trip
count from a register, or counts turns, stays a loop: a counter of its own. So do loops of functions
that read or write memory: these move pointers, by a stride each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from ....spec.t2s.design import COPIES_BITS
from ....spec.t2s.loops import Affine, Loop, grouped, last_iteration, variable
from ....spec.t2s.program import Function, Program
from ....spec.t2s.statements import (
    Apply,
    Body,
    BufferRead,
    BufferWrite,
    Counted,
    Equal,
    Field,
    Flagged,
    Fold,
    For,
    If,
    Load,
    Pack,
    Phases,
    Receive,
    Send,
    Statement,
    Store,
    Until,
    Value,
    When,
)
from ...language import Computation
from ..rewriting import all_statements, inside, loops_in, revalue, rewrite, without_loops

# Flattening: a nest of loops becomes one counter with a field of bits for each (section 3.4.2).
#
# Loops whose variables nothing needs have a field together with their neighbours. What has its
# trip count from a register, or counts turns, stays a loop: a counter of its own. So do loops of
# functions that read or write memory: these move pointers, by a stride each.


class Counter(NamedTuple):
    """Counter of a copy of a function.

    Members
    -------
    name: of the loop, or of neighbours that have it together
    bits: width; None, if its trip count is that of a register
    """

    name: str
    bits: int | None


def counters(function: Function) -> tuple[Counter, ...]:
    """Returns the counters of a copy, outermost first, and last those that count concurrently."""
    found: list[Counter] = []
    for one in (*all_statements(function.body), *all_statements(function.beside)):
        if isinstance(one, For) and one.first is not None:
            found.append(Counter(one.loop.name, COPIES_BITS))
        elif isinstance(one, For):
            extent = one.loop.extent
            found.append(Counter(one.loop.name, extent and (extent - 1).bit_length()))
        elif isinstance(one, Counted):
            found += [Counter(field.name, field.bits) for field in one.fields]
        elif isinstance(one, Phases):
            found.append(Counter(one.name, (one.extent - 1).bit_length()))
    return tuple(found)


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


def flatten(program: Program, computation: Computation) -> Program:
    """Flatten the loops of all functions that only move words, and of elements."""
    return replace(
        program,
        functions=tuple(
            one if uses_memory(one)
            else replace(one, body=_flat(one.body), beside=_flat(one.beside))
            for one in program.functions
        ),
    )  # fmt: skip


def uses_memory(function: Function) -> bool:
    """Tells whether a function reads or writes tensors.

    Those are the first and the last functions on the device, and all functions of the host.
    """
    loads: list[Value] = []

    def note(value: Value) -> Value | None:
        if isinstance(value, Load):
            loads.append(value)
        return None

    revalue(function.body, note)
    return bool(loads) or any(isinstance(one, Store) for one in all_statements(function.body))


def _flat(body: Body) -> Body:
    if len(body) != 1:
        return tuple(part for one in body for part in _flat((one,)))
    loops: list[Loop] = []
    inner: Body = body
    while len(inner) == 1 and isinstance(inner[0], For) and _constant(inner[0]):
        loops.append(inner[0].loop)
        inner = inner[0].body
    if not loops:
        return (inside(body[0], _flat),)
    return _counted(loops, _flat(inner))


def _constant(one: For) -> bool:
    return one.first is None and one.loop.extent is not None


def _counted(loops: list[Loop], body: Body) -> Body:
    """Replaces loops around statements by one counter."""
    body = with_variables(body, {one.name: Affine() for one in loops if one.extent == 1})
    used = used_variables(body)
    groups = grouped([(one.extent, one.name in used) for one in loops])
    fields = tuple(
        Field(tuple(loops[n] for n in group), any(loops[n].name in used for n in group))
        for group in groups
    )
    return (Counted(fields, body),) if fields else body


def signal(program: Program, computation: Computation) -> Program:
    """Flags of a word say whether all loops that are summed over are in their first, in their last
    iteration; who brings words to the elements sets them."""
    element = program.function(computation.name)
    summed = [one for one in loops_in(element.body) if one.reduces]
    if not summed:
        return program
    word = next(one for one in all_statements(element.body) if isinstance(one, Receive)).name
    entry = computation.chain(word)[0].name
    first = tuple((one.name, Affine()) for one in summed)
    last = tuple((one.name, last_iteration(one)) for one in summed)

    def flag(one: Statement) -> Body | None:
        if isinstance(one, Send) and one.channel == entry:
            return (replace(one, value=Flagged(one.value, first, last)),)
        return None

    program = program.with_function(entry, lambda one: replace(one, body=rewrite(one.body, flag)))
    body = _by_flags(element.body, word, summed)
    if not any(isinstance(one, When) and one.flag == "last" for one in all_statements(body)):
        body = without_loops(body, [one.name for one in element.instances])
        body = _until_complete(body, word)
    return program.with_function(element.name, lambda one: replace(one, body=body))


def _by_flags(body: Body, word: str, summed: list[Loop]) -> Body:
    """Conditions on loops that are summed over as conditions on a word's flags."""
    own = {variable(one.name) for one in summed}
    ends = {last_iteration(one) for one in summed if one.extent is None}

    def change(one: Statement) -> Body | None:
        if not isinstance(one, If) or one.condition.left not in own:
            return None
        flag = "first"
        inner: Body = (one,)
        # One condition in another for each loop; one of them has its trip count from a register.
        while len(inner) == 1 and isinstance(inner[0], If) and inner[0].condition.left in own:
            flag = "last" if inner[0].condition.right in ends else flag
            inner = inner[0].then
        return (When(word, flag, inner),)

    return rewrite(body, change)


def _until_complete(body: Body, word: str) -> Body:
    """Lets reduction loops run until all sums have had a last word, instead of counting.

    Applies where a nest of its own sends the sums. A nest stays as it is if a loop of sums is
    around one of its reduction loops.
    """

    def change(one: Statement) -> Body | None:
        if not (isinstance(one, For) and one.loop.reduces):
            return None
        inner: Body = (one,)
        once: dict[str, Affine] = {}
        while len(inner) == 1 and isinstance(inner[0], For):
            loop = inner[0].loop
            if not loop.reduces and loop.extent != 1:
                break
            once |= {} if loop.reduces else {loop.name: Affine()}
            inner = inner[0].body
        if any(loop.reduces for loop in loops_in(inner)):
            return (one,)
        return (Until(word, with_variables(inner, once)),)

    return rewrite(body, change)
