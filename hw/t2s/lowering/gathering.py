"""What a mapping leaves out of feeders whose words the entries of sparse tensors choose."""

from __future__ import annotations

from ..language import Computation, MappingError
from ..language.isolated import Isolated

__all__ = ["gather_words"]


def gather_words(computation: Computation, feeder: Isolated, loader: Isolated) -> None:
    """Complete a feeder and a loader.

    The feeder keeps the words of a tile, in two blocks, from the innermost loop on that chooses
    them and has its trip count from a register. It has a copy for each element; the first one
    receives, and each passes on. The loader does without the loops in a tile that do not choose
    words. Raises MappingError.
    """
    for loop, where in loader.unrolled:
        raise MappingError(f"{where}: {loader.name} has no hardware yet: loop `{loop}` is unrolled")
    names, place = computation.loop_names, computation.place
    own = computation.loops_of(feeder.tensor)
    if feeder.buffered is None:
        levels = [name for name in names if name in own and computation.loop(name).extent is None]
        if not levels:
            raise MappingError(
                f"{place}: {computation.name} has no hardware yet: no loop chooses the word of "
                f"{feeder.tensor}"
            )
        feeder.buffered = (levels[-1], True, place)
    level = feeder.buffered[0]
    spatial = [name for name, _ in computation.unrolled if name not in own]
    there = [name for name, _ in feeder.unrolled]
    feeder.unrolled += [(name, place) for name in spatial if name not in there]
    passed = [name for name, _, _ in feeder.forwarded]
    feeder.forwarded += [(name, 1, place) for name in spatial if name not in passed]
    gone = [name for name, _ in loader.removed]
    loader.removed += [
        (name, place)
        for name in names[names.index(level) + 1 :]
        if name not in own and name not in gone
    ]
