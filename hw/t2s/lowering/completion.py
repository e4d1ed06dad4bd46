"""Completes a mapping with the functions that hardware needs and the mapping leaves out.

Each operand comes from an image that the host has laid out, through a loader and a feeder. Results
go through an unloader into such an image.
"""

from __future__ import annotations

from ..compiler.partition import loops_of_words
from ..language import Computation, MappingError
from ..language.isolated import Isolated


def gather_words(computation: Computation, feeder: Isolated, loader: Isolated) -> None:
    """Completes a feeder and a loader.

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


_PRODUCING = ("feeder", "loader", "serializer")
_CONSUMING = ("unloader", "deserializer")


def complete(computation: Computation) -> Computation:
    """Add the functions that the mapping does not name; those of the host do without reuse.

    Where tensors are sparse, others come through feeders, whose words entries choose. Raises
    MappingError.
    """
    sparse = [one.tensor.name for one in computation.sparse]
    for operand in computation.operands:
        name = operand.tensor.name
        if name in sparse:
            continue
        named = {one.role: one for one in computation.chains.get(name, ())}
        chain = [named.get(role) or _added(computation, name, role) for role in _PRODUCING]
        computation.chains[name] = tuple(chain)
        if sparse:
            gather_words(computation, *chain[:2])
        else:
            _refuse_forward(chain)
    name = computation.name
    there = computation.chains.get(name, ())
    roles = [one.role for one in there]
    added = [_added(computation, name, role) for role in _CONSUMING if role not in roles]
    order = ("drainer", "collector", *_CONSUMING)
    computation.chains[name] = tuple(
        sorted((*there, *added), key=lambda one: order.index(one.role))
    )
    return computation


def _added(computation: Computation, tensor: str, role: str) -> Isolated:
    isolated = Isolated(computation, tensor, role, computation.place)
    if role == "serializer":
        mine = computation.loops_of(tensor)
        there = (one.name for one in loops_of_words(computation, tensor))
        isolated.removed = [(name, computation.place) for name in there if name not in mine]
    return isolated


def _refuse_forward(chain: list[Isolated]) -> None:
    for one in chain:
        for loop, _, place in one.forwarded:
            raise MappingError(
                f"{place}: {one.name}.forward: it has no hardware yet without a sparse tensor: let "
                f"elements forward {one.tensor} along `{loop}`"
            )
