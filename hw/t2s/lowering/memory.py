"""Lowers the functions that read and write memory: loaders and the unloader."""

from __future__ import annotations

from ...spec.formats import Format
from ...spec.t2s.functions import WordFunctions
from ...spec.t2s.loops import Loop
from ...spec.t2s.parts import Count, MemoryPart, Step
from ...spec.t2s.program import Function, Program
from ...spec.t2s.statements import Store
from .steps_of import done_by

__all__ = ["check_managers", "memory_part", "stored_lanes"]


def memory_part(
    program: Program, function: Function, tensor: str, word_bits: int, fmt: Format
) -> MemoryPart:
    """Lowers a loader or the unloader of a tensor of words of a format.

    Raises ValueError for a part that has no hardware yet.
    """
    functions = program.tensor(tensor).functions
    if function.instances:
        loop = function.instances[0].name
        raise ValueError(f"{function.name} has no hardware yet: loop `{loop}` is unrolled in it")
    if function.buffers:
        raise ValueError(f"{function.name} has no hardware yet: it has a buffer")
    loops = [one.loop for one in done_by(function)[0].loops]
    names = {one.name for one in program.tensor(f"{tensor}_image").image}
    walked = [one.name for one in loops]
    dims = [one for one in program.tensor(f"{tensor}_image").image if one.name in walked]
    repeats = 1
    while loops and loops[-1].name not in names and loops[-1].extent is not None:
        repeats *= loops.pop().extent or 1
    run: list[Loop] = []
    while loops and dims and loops[-1] == dims[-1] and loops[-1].extent is not None:
        run.insert(0, loops.pop())
        dims.pop()
    return MemoryPart(
        name=function.name,
        tensor=tensor,
        word_bits=word_bits,
        steps=tuple(Step(Count(one.name, one.extent), one.name in names) for one in loops),
        run=tuple(run),
        repeats=repeats,
        functions=WordFunctions(functions, fmt) if functions else None,
    )


def stored_lanes(function: Function) -> int:
    """Returns how many words an unloader stores at once."""
    stores = [one.what for one in done_by(function) if isinstance(one.what, Store)]
    lanes = stores[0].lanes
    return 1 if lanes is None else lanes.extent or 1


def check_managers(program: Program, loaders: int, managers: int) -> None:
    """Refuse managers for which a program has no function. Raises ValueError."""
    if managers > loaders + 1:
        raise ValueError(
            f"`managers` must be at most {loaders + 1} for {program.name}, not {managers}"
        )
