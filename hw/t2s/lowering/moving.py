"""Lowers the functions that move words: feeders, drainers and collectors."""

from __future__ import annotations

from collections.abc import Collection

from ...spec.t2s.expressions import BufferRead, Name, Pack
from ...spec.t2s.parts import Count, FeederPart, MoverPart
from ...spec.t2s.program import Function
from ...spec.t2s.statements import BufferWrite, For, Receive, Send
from .steps_of import Done, count_of, done_by

__all__ = ["buffer_loops", "feeder_part", "mover_part", "needed"]


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
