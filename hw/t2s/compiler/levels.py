"""The level at which copies of a function take turns, and so the order in which words leave."""

from __future__ import annotations

from dataclasses import replace

from ...spec.t2s.loops import Loop
from ...spec.t2s.program import Program
from ...spec.t2s.statements import Body, For, Statement
from ..language import Computation, MappingError
from ..language.isolated import Isolated
from .images import with_image
from .partition import image_of
from .rewriting import loops_in, rewrite, without_loops

__all__ = ["count_at"]


def count_at(program: Program, computation: Computation, isolated: Isolated, loop: Loop) -> Program:
    """Move a loop that a function gathers along to where it shall count turns, in that function and
    in all that take words behind it; and in the image that they write."""
    assert isolated.level
    level, place = isolated.level
    there = [one.name for one in loops_in(program.function(isolated.name).body)]
    if level not in there:
        raise MappingError(f"{place}: {isolated.name}.gather: it has no loop `{level}`")
    chain = computation.chain(computation.name)
    for one in chain[chain.index(isolated) :]:
        if one.on_host:
            program = _reordered(program, image_of(computation.name), loop, level)
        else:
            program = program.with_function(
                one.name, lambda given: replace(given, body=_moved(given.body, loop, level))
            )
    return program


def _moved(body: Body, loop: Loop, level: str) -> Body:
    def wrap(one: Statement) -> Body | None:
        if isinstance(one, For) and one.loop.name == level:
            return (replace(one, body=(For(loop, one.body),)),)
        return None

    return rewrite(without_loops(body, [loop.name]), wrap)


def _reordered(program: Program, image: str, loop: Loop, level: str) -> Program:
    names = [one.name for one in program.tensor(image).image]
    places = [n for n, name in enumerate(names) if name != loop.name]
    places.insert(places.index(names.index(level)) + 1, names.index(loop.name))
    return with_image(program, image, places)
