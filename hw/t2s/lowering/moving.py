"""Lowers the functions that move words: feeders, drainers and collectors."""

from __future__ import annotations

from collections.abc import Collection

from ...spec.formats import Format
from ...spec.t2s.arithmetic import WordFunctions
from ...spec.t2s.loops import Loop
from ...spec.t2s.parts import Count, FeederPart, MemoryPart, MoverPart, Step
from ...spec.t2s.program import Function, Program
from ...spec.t2s.statements import BufferRead, BufferWrite, For, Name, Pack, Receive, Send, Store
from .transfers import Done, count_of, done_by


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


def needed(loops: tuple[Count, ...], names: Collection[str]) -> tuple[Count, ...]:
    """Loops from the outermost of some names inwards: those around need not be counted."""
    places = [n for n, one in enumerate(loops) if one.name in names]
    return loops[min(places) :] if places else ()


def mover_part(
    function: Function, role: str, word_bits: int, summed: Collection[str], *, flagged: bool
) -> MoverPart:
    """Lowers a function without a buffer.

    Raises ValueError for a function that has no hardware yet.
    """
    done = done_by(function)
    loops = done[0].loops
    if any(one.loops != loops for one in done):
        raise ValueError(f"{function.name} has no hardware yet: its loops are not one nest")
    nest = tuple(count_of(one) for one in loops)
    flags = tuple(one.name for one in nest if one.name in summed) if flagged else ()
    turns = [one.name for one in nest if one.turn]
    return MoverPart(
        name=function.name,
        role=role,
        word_bits=word_bits,
        nest=needed(nest, {*flags, *turns}),
        gathers=any(isinstance(one.what, Receive) and one.own is not None for one in done),
        scatters=any(isinstance(one.what, Send) and one.own is not None for one in done),
        packs=_packs(done),
        flags=flags,
        flagged=flagged,
    )


def _packs(done: tuple[Done, ...]) -> str:
    """Returns the place of a copy's own word in vectors that it sends; empty if it sends none."""
    sent = [one.what.value for one in done if isinstance(one.what, Send)]
    packs = [one for one in sent if isinstance(one, Pack)]
    own = Name(next(one.what.name for one in done if isinstance(one.what, Receive)))
    if any(one.parts[0] != own for one in packs):
        return "last"
    return "first" if packs else ""


def feeder_part(
    function: Function, word_bits: int, summed: Collection[str], *, flagged: bool
) -> FeederPart:
    """Lowers a feeder with a buffer.

    Raises ValueError for a feeder that has no hardware yet.
    """
    (buffer,) = function.buffers
    around, filling, reading = buffer_loops(function)
    if any(one.first is not None for one in around):
        raise ValueError(
            f"{function.name} has no hardware yet: it is scattered around its buffer's loop"
        )
    fill = tuple(count_of(one) for one in filling)
    read = tuple(count_of(one) for one in reading)
    outside = tuple(count_of(one) for one in around)
    flags = tuple(one.name for one in (*outside, *read) if one.name in summed) if flagged else ()
    if any(one.from_register for one in (*fill, *read)):
        raise ValueError(
            f"{function.name} has no hardware yet: a loop inside its buffer's has a trip count of "
            "a register"
        )
    places = tuple(one.name for one in buffer.dimensions)
    return FeederPart(
        name=function.name,
        word_bits=word_bits,
        fill=fill,
        fill_place=places,
        around=needed(outside, flags),
        read=read,
        read_place=places,
        extents=tuple(one.extent or 1 for one in buffer.dimensions),
        double=buffer.double,
        flags=flags,
        flagged=flagged,
    )


def buffer_loops(function: Function) -> tuple[tuple[For, ...], tuple[For, ...], tuple[For, ...]]:
    """Loops around a block of a feeder's buffer, those that fill it, and those that read it."""
    done = done_by(function)
    filling = _only([one for one in done if isinstance(one.what, BufferWrite)]).loops
    reading = _only([one for one in done if isinstance(one.what, Send) and _reads(one.what)]).loops
    around = _common(filling, reading)
    return around, filling[len(around) :], reading[len(around) :]


def _reads(send: Send) -> bool:
    return isinstance(send.value, BufferRead)


def _only(found: list[Done]) -> Done:
    (one,) = found
    return one


def _common(one: tuple[For, ...], other: tuple[For, ...]) -> tuple[For, ...]:
    """The statements that stand around both."""
    pairs = enumerate(zip(one, other, strict=False))
    return one[: next((n for n, (a, b) in pairs if a is not b), min(len(one), len(other)))]
