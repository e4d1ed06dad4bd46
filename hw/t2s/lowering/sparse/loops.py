"""Classifies the loops of a computation with sparse operands by their role in hardware."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from ....spec.t2s.loops import Loop
from ...language import Computation, MappingError


def refused(computation: Computation, why: str, place: str = "") -> MappingError:
    """Returns the error for a computation that has no hardware, and why.

    ``place``: of the directive at fault, if one is.
    """
    return MappingError(
        f"{place or computation.place}: {computation.name} has no hardware yet: {why}"
    )


@dataclass(frozen=True)
class SparseLoops:
    """All loops, each once.

    Parameters
    ----------
    around: of the result's dense indices, from registers, around all entries
    levels: of the indices of sparse tensors, from registers: rows, then the others, in their order
    rows: of an element's rows and of elements, in the order of the mapping
    elements: the one of these that is unrolled, if there is one
    coordinates: by index of entries, its loop within a tile, in the order of the tensors' modes
    order: that of an element's rows, if there is one, and those of coordinates, as in the mapping
    ring: operations of an entry
    """

    around: tuple[Loop, ...]
    levels: tuple[Loop, ...]
    rows: tuple[Loop, ...]
    elements: Loop | None
    coordinates: dict[str, Loop]
    order: tuple[Loop, ...]
    ring: tuple[Loop, ...]

    @property
    def slots(self) -> Loop | None:
        """Rows of an element, if it has more than one."""
        return next((one for one in self.rows if one != self.elements), None)


def loops_of(computation: Computation, row: str, coordinates: tuple[str, ...]) -> SparseLoops:
    """Returns the loops of a computation whose sparse tensors have these indices.

    Raises MappingError for loops that hardware does not have.
    """
    entries = (row, *coordinates)
    _check_space(computation, row)
    unrolled = [name for name, _ in computation.unrolled]
    wide = computation.vectorised[0] if computation.vectorised else ""
    outer = [one for one in computation.loops if one.extent is None]
    inner = [one for one in computation.loops if one.extent is not None and one.name != wide]
    rows = tuple(one for one in inner if one.index == row)
    found = SparseLoops(
        around=tuple(one for one in outer if one.index not in entries),
        levels=tuple(one for one in outer if one.index in entries),
        rows=rows,
        elements=next((one for one in rows if one.name in unrolled), None),
        coordinates={
            index: _only(computation, index, [one for one in inner if one.index == index])
            for index in coordinates
        },
        order=tuple(one for one in inner if one.index in entries and one.name not in unrolled),
        ring=tuple(one for one in inner if one.index not in entries),
    )
    _at_most_one(computation, [one for one in rows if one != found.elements])
    for index in computation.result:
        _at_most_one(computation, [one for one in found.ring if one.index == index])
    _check_order(computation, found, row)
    return found


def _check_space(computation: Computation, row: str) -> None:
    for number, (name, place) in enumerate(computation.unrolled):
        if computation.loop(name).index != row:
            why = f"loop `{name}` is unrolled: only one of rows is, of index `{row}`"
            raise refused(computation, why, place)
        if number:
            first = computation.unrolled[0][0]
            why = f"loops `{first}` and `{name}` are unrolled, at most one"
            raise refused(computation, why, place)


def _only(computation: Computation, index: str, loops: list[Loop]) -> Loop:
    if not loops:
        raise refused(computation, f"loop `{index}`, which chooses entries, is not tiled")
    _at_most_one(computation, loops)
    return loops[0]


def _at_most_one(computation: Computation, loops: list[Loop]) -> None:
    if len(loops) > 1:
        names = " and ".join(f"`{one.name}`" for one in loops)
        raise refused(
            computation, f"index `{loops[0].index}` has loops {names} in an element, at most one"
        )


def _check_order(computation: Computation, loops: SparseLoops, row: str) -> None:
    """Refuse another order than that of hardware, by the first pair that stands the other way."""
    groups = (
        loops.around,
        [one for one in loops.levels if one.index == row],
        [one for one in loops.levels if one.index != row],
        (*loops.rows, *loops.coordinates.values()),
        loops.ring,
    )
    ranks = {one.name: rank for rank, group in enumerate(groups) for one in group}
    names = [name for name in computation.loop_names if name in ranks]
    for ahead, behind in pairwise(names):
        if ranks[ahead] > ranks[behind]:
            raise refused(
                computation,
                f"loop `{behind}` must stand before `{ahead}`",
                computation.ordered_at,
            )
