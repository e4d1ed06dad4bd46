"""Iterations that sparse tensors visit: elements and what sends to them leave the others out.

Which these are says a merge lattice, as TACO's (section 6.2.1): a product visits where all its
sparse tensors have an entry, a sum where any of its products does.

What brings words that are chosen later visits everything: it fills buffers. So do nests that start
sums and send them, and what takes results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...spec.t2s.program import Program
from ...spec.t2s.statements import (
    Apply,
    Body,
    BufferWrite,
    Fold,
    For,
    Load,
    Receive,
    Send,
    Statement,
    Together,
    Value,
    Visit,
)
from ..language import Computation
from .definition import loaded
from .rewriting import all_statements, revalue, rewrite, without_loops

__all__ = ["unless_sparse", "visit"]

Pass = Callable[[Program, Computation], Program]


def unless_sparse(run: Pass) -> Pass:
    """A pass that leaves computations with sparse tensors as they are."""

    def maybe(program: Program, computation: Computation) -> Program:
        return program if computation.sparse else run(program, computation)

    return maybe


def visit(program: Program, computation: Computation) -> Program:
    """Leave out iterations in which there are no entries. Of each entry a word comes once, before
    the loops that do not choose it."""
    if not computation.sparse:
        return program
    tensors = {one.tensor.name for one in computation.sparse}
    names = computation.loop_names
    choosing = {loop for one in tensors for loop in computation.loops_of(one)}
    place = max(map(names.index, choosing))
    nest = _Nest(program, computation, names[place])
    for operand in computation.operands:
        tensor = operand.tensor.name
        for isolated in computation.chain(tensor):
            if isolated.on_host:
                break
            keeps = isolated.buffered and names.index(isolated.buffered[0]) < place
            if not keeps and choosing & {loop for loop, _, _ in isolated.forwarded}:
                # The words received are for other copies, too.
                program = nest.passing(program, isolated.name)
                break
            again: set[str] = set()
            if tensor in tensors:
                copies = {one.name for one in program.channel(isolated.name).dimensions}
                again = set(names[place + 1 :]) - copies
            program = nest.sending(program, isolated.name, again)
            if keeps:
                break
    return nest.computing(program, tensors)


class _Nest:
    """The loops that choose entries.

    Parameters
    ----------
    innermost: the last of these
    """

    def __init__(self, program: Program, computation: Computation, innermost: str) -> None:
        self._element, self._innermost = computation.name, innermost
        indices = {name: computation.index_of_loops(name) for name in program.indices}
        words = [
            [loaded(one, indices) for one in product if one.tensor.sparse]
            for product in computation.products
        ]
        self._lattice = tuple(
            tuple(one for one in product if isinstance(one, Load)) for product in words
        )

    def sending(self, program: Program, name: str, again: set[str]) -> Program:
        """A function that sends where there are entries, without the loops ``again``; what fills
        its buffer stays, unless that is in the loops, too."""

        def change(one: For) -> Body:
            if any(isinstance(part, Send) and part.channel == name for part in _inside(one)):
                return self._visited(one.body)
            return one.body

        return program.with_function(
            name,
            lambda one: replace(one, body=self._changed(without_loops(one.body, again), change)),
        )

    def passing(self, program: Program, name: str) -> Program:
        """A function that takes all words, and sends where there are entries."""

        def change(one: Statement) -> Body | None:
            if isinstance(one, Send) and one.channel == name:
                return self._visited((one,))
            return None

        return program.with_function(name, lambda one: replace(one, body=rewrite(one.body, change)))

    def computing(self, program: Program, tensors: set[str]) -> Program:
        """Elements that compute where there are entries, whose words they take once."""

        def change(one: For) -> Body:
            takes = [n for n, part in enumerate(one.body) if _has((part,), Receive)]
            if not takes:
                return one.body
            last = max(n for n, part in enumerate(one.body) if _has((part,), Receive | BufferWrite))
            before, update, behind = (
                one.body[: takes[0]],
                one.body[takes[0] : last + 1],
                one.body[last + 1 :],
            )
            entries = [
                part
                for part in all_statements(update)
                if isinstance(part, Receive) and part.name in tensors
            ]
            rest = rewrite(update, lambda part: () if part in entries else None)
            return (*before, *self._visited((*entries, *rest)), *behind)

        return program.with_function(
            self._element,
            lambda one: replace(one, body=revalue(self._changed(one.body, change), self._at_once)),
        )

    def _at_once(self, value: Value) -> Value | None:
        """Products that were added one after the other; if there is one, as it is."""
        total, terms = value, list[Value]()
        while isinstance(total, Apply) and total.operator == "plus":
            total, term = total.arguments
            terms.insert(0, term)
        return Fold(total, Together(tuple(terms))) if len(terms) > 1 else None

    def _visited(self, body: Body) -> Body:
        return (Visit(self._lattice, body),)

    def _changed(self, body: Body, change: Callable[[For], Body]) -> Body:
        """Statements with what is in the innermost loop replaced."""

        def enter(one: Statement) -> Body | None:
            if isinstance(one, For) and one.loop.name == self._innermost:
                return (replace(one, body=change(one)),)
            return None

        return rewrite(body, enter)


def _inside(one: For) -> list[Statement]:
    return list(all_statements(one.body))


def _has(body: Body, kinds: type | object) -> bool:
    return any(isinstance(one, kinds) for one in all_statements(body))  # type: ignore[arg-type]
