"""Perfect nests: nothing stands between a loop and the loops in it (section 3.4.2).

* What stands beside one loop goes into its first, or its last iteration.
* Loops that stand one after the other become one, whose trip count is the sum of theirs.
* The two sides of a buffer become nests of their own, which run at the same time: one writes blocks
  while the other reads.

Loops are left one after the other if one of them has its trip count from a register.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ....spec.t2s.loops import Affine, last_iteration, variable
from ....spec.t2s.program import Function, Program
from ....spec.t2s.statements import (
    Block,
    Body,
    BufferRead,
    BufferWrite,
    Equal,
    For,
    If,
    Phase,
    Phases,
    Statement,
    Until,
    Value,
)
from ...language import Computation
from ..rewriting import all_statements, revalue, without_loops

__all__ = ["perfect"]


def perfect(program: Program, computation: Computation) -> Program:
    """Make the nests of all functions perfect."""
    return replace(program, functions=tuple(_perfect(one) for one in program.functions))


def _perfect(function: Function) -> Function:
    body = without_loops(function.body, [one.name for one in function.instances])
    for buffer in function.buffers:
        if buffer.level and (sides := _sides(body, buffer.name)):
            writing, reading = sides
            return replace(function, body=_merged(writing), beside=_merged(reading))
    return replace(function, body=_merged(body))


def _sides(body: Body, buffer: str) -> tuple[Body, Body] | None:
    """Splits a body into the part that writes a buffer and the part that reads it.

    Each part keeps the loops around both. Returns None if one of these loops counts turns: a copy
    writes in its own turn, and must have read before the next one.
    """
    loop = body[0]
    if len(body) == 1 and isinstance(loop, For):
        inner = _sides(loop.body, buffer) if loop.first is None else None
        return inner and ((replace(loop, body=inner[0]),), (replace(loop, body=inner[1]),))
    place = next((n for n, one in enumerate(body) if _reads((one,), buffer)), 0)
    if not place:
        return None
    return (Block(buffer, True, body[:place]),), (Block(buffer, False, body[place:]),)


def _reads(body: Body, buffer: str) -> bool:
    found = False

    def note(value: Value) -> Value | None:
        nonlocal found
        found = found or (isinstance(value, BufferRead) and value.buffer == buffer)
        return None

    revalue(body, note)
    return found and not any(
        isinstance(one, BufferWrite) and one.buffer == buffer for one in all_statements(body)
    )


def _merged(body: Body) -> Body:
    """A body with one nest in it at most."""
    inner: list[Statement] = []
    for one in body:
        if isinstance(one, For | Until | Block):
            inner.append(replace(one, body=_merged(one.body)))
        elif isinstance(one, If):
            inner += _distributed(one)
        else:
            inner.append(one)
    nests = [one for one in inner if isinstance(one, For)]
    if not nests or len(inner) == 1 or any(isinstance(one, Until) for one in inner):
        return tuple(inner)
    if len(nests) == 1:
        place = inner.index(nests[0])
        return _moved_in(nests[0], tuple(inner[:place]), tuple(inner[place + 1 :]))
    if not all(_constant(loop) for one in nests for loop in _chain(one)[0]):
        return tuple(inner)
    return (Phases(_name(nests), tuple(_phases(inner))),)


def _distributed(one: If) -> Body:
    """Moves a condition around a loop into the loop."""
    then, otherwise = _merged(one.then), _merged(one.otherwise)
    found: list[Statement] = []
    for parts, make in ((then, _then(one)), (otherwise, _otherwise(one))):
        found += [_inside(part, make) for part in parts]
    if any(isinstance(part, For) for part in (*then, *otherwise)):
        return tuple(found)
    return (replace(one, then=then, otherwise=otherwise),)


def _then(one: If) -> Callable[[Body], Body]:
    return lambda body: (If(one.condition, body),)


def _otherwise(one: If) -> Callable[[Body], Body]:
    return lambda body: (If(one.condition, (), body),)


def _inside(one: Statement, make: Callable[[Body], Body]) -> Statement:
    """A condition around what is done in a nest, or around a statement that is none."""
    if isinstance(one, For):
        if len(one.body) == 1:
            return replace(one, body=(_inside(one.body[0], make),))
        return replace(one, body=make(one.body))
    return make((one,))[0]


def _moved_in(nest: For, before: Body, behind: Body) -> Body:
    """Statements before and behind a loop, in its first and its last iteration."""
    loops, body = _chain(nest)
    for one in loops:
        own = variable(one.loop.name)
        before = before and (If(Equal(own, one.first or Affine()), before),)
        behind = behind and (If(Equal(own, one.last or last_iteration(one.loop)), behind),)
    return _around(nest, (*before, *body, *behind))


def _chain(nest: For) -> tuple[list[For], Body]:
    """Returns the loops of a perfect nest, outermost first, and the statements in them."""
    loops, body = [nest], nest.body
    while len(body) == 1 and isinstance(body[0], For):
        loops.append(body[0])
        body = body[0].body
    return loops, body


def _around(nest: For, body: Body) -> Body:
    """The loops of a perfect nest around something else."""
    if len(nest.body) == 1 and isinstance(nest.body[0], For):
        return (replace(nest, body=_around(nest.body[0], body)),)
    return (replace(nest, body=body),)


def _constant(one: For) -> bool:
    return one.first is None and one.loop.extent is not None


def _phases(body: Iterable[Statement]) -> list[Phase]:
    """Nests in turn; statements between them are nests without a loop."""
    found: list[Phase] = []
    for one in body:
        if isinstance(one, For):
            loops, inner = _chain(one)
            found.append(Phase(tuple(loop.loop for loop in loops), inner))
        elif found and not found[-1].loops:
            found[-1] = Phase((), (*found[-1].body, one))
        else:
            found.append(Phase((), (one,)))
    return found


def _name(nests: Iterable[For]) -> str:
    """Returns the name of the variable that counts through nests."""
    return "_".join(loop.loop.name for one in nests for loop in _chain(one)[0]) + "_t"
