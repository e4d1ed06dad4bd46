"""The feeders whose words the entries of sparse tensors choose."""

from __future__ import annotations

from ....spec.t2s.parts import Count
from ....spec.t2s.program import Program
from ....spec.t2s.sparse_parts import GatherPart
from ....spec.t2s.tokens import TokenLayout
from ...language import MappingError
from ...language.isolated import Isolated
from .loops import SparseLoops

__all__ = ["check_feeder", "gather_part"]


def check_feeder(feeder: Isolated, loops: SparseLoops) -> None:
    """Raises MappingError for a feeder that has no hardware."""
    assert feeder.buffered
    level, _, place = feeder.buffered
    if level not in [one.name for one in loops.levels]:
        names = ", ".join(one.name for one in loops.levels)
        raise _refused(place, feeder, f"its buffer must be at one of loops {names}, not `{level}`")
    elements = loops.elements.name if loops.elements else ""
    for loop, place in feeder.unrolled:
        if loop != elements:
            raise _refused(place, feeder, f"loop `{loop}` is unrolled, and not in elements")
    for loop, step, place in feeder.forwarded:
        if step != 1:
            raise _refused(place, feeder, f"words must go to higher numbers of `{loop}`")


def _refused(place: str, feeder: Isolated, why: str) -> MappingError:
    return MappingError(f"{place}: {feeder.name} has no hardware yet: {why}")


def gather_part(
    program: Program,
    feeder: Isolated,
    loops: SparseLoops,
    layout: TokenLayout,
    word_bits: int,
) -> GatherPart:
    """A feeder that :func:`check_feeder` does not refuse.

    Parameters
    ----------
    layout: of the tokens that come to it
    word_bits: width of a word
    """
    (buffer,) = program.function(feeder.name).buffers
    assert buffer.level
    # All loops of a block choose its words, those of coordinates outside of those of the ring.
    digits = buffer.dimensions
    chosen = [one for one in digits if one in loops.coordinates.values()]
    assert digits[: len(chosen)] == tuple(chosen)
    return GatherPart(
        name=feeder.name,
        tensor=feeder.tensor,
        word_bits=word_bits,
        layout=layout,
        fill=tuple(Count(one.name, one.extent) for one in digits),
        fill_place=tuple(one.name for one in digits),
        coordinates=tuple(one.index for one in chosen),
        read=tuple(Count(one.name, one.extent) for one in loops.ring),
        read_place=tuple(one.name for one in digits[len(chosen) :]),
        extents=tuple(one.extent or 1 for one in digits),
        double=buffer.double,
        level=buffer.level,
    )
