"""Signals that sums begin and end: flags that go with words of the first operand, so that elements
need not know their loops (sections 3.2 and 3.4.2)."""

from __future__ import annotations

from dataclasses import replace

from ....spec.t2s.affine import Affine, variable
from ....spec.t2s.expressions import Flagged
from ....spec.t2s.loops import Loop, last_iteration
from ....spec.t2s.program import Program
from ....spec.t2s.statements import Body, For, If, Receive, Send, Statement, Until, When
from ...language import Computation
from ..rewriting import all_statements, loops_in, rewrite, without_loops
from .variables import with_variables

__all__ = ["signal"]


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
