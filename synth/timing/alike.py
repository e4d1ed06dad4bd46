"""Cells of a model that do the same, merged: one stands for all.

Cells are alike if they are of one kind, read the same nets and drive the same load; then the nets
that they drive are alike, and cells that read those may be alike in their turn. So of the words of
a register file one is left, and of the leaves of a buffer tree. The nets keep the loads of the
cells that are gone.

Signals from outside of the model count as the same if they arrive within a small step of each
other, rising and falling, with slews within a small part; they arrive with the last of them. That
is where models are pessimistic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..library.cells import Library
from ..mapping.netlist import NONE, Nets

__all__ = ["Merged", "falling", "merged", "side_classes"]

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

SLEW_STEP = 1.05
"""Ratio of slews that count as the same."""
LOAD_STEP = 1e-9
"""Difference of loads in pF that is none."""


def falling(library: Library) -> float:
    """Returns the steepest fall of a delay over a growing slew before it, as a ratio; 0 for a
    library in which no delay falls."""
    steepest = 0.0
    for cell in library.cells.values():
        for arc in cell.arcs:
            for table in arc.delay if arc.kind != "setup" else ():
                if len(table.rows) > 1:
                    slopes = np.diff(table.values, axis=0) / np.diff(table.rows)[:, None]
                    steepest = max(steepest, -float(slopes.min()))
    return steepest


def side_classes(
    time: Floats, slew: Floats, kind: Nets, step: float, fall: float
) -> tuple[Nets, Floats, Floats]:
    """Put signals that arrive at about the same time in classes.

    ``time``, ``slew``: a row for each, rising and falling; -inf for a signal that never arrives.
    ``kind``: a number for each; a class has one.
    ``step``: in ns. ``fall``: see ``falling``; a signal counts as that much later as its slew
    grows. Returns for each signal the place of the one that stands for it, the last of its class to
    arrive, and the class's latest times and largest slews.
    """
    with np.errstate(divide="ignore"):
        grades = np.where(slew > 0, np.log(np.maximum(slew, 1e-9)) / np.log(SLEW_STEP), -1e6)
    finite = np.where(time > -np.inf, time / step, -1e6)
    keys = np.ceil(np.column_stack([finite, grades, kind]) - 1e-9).astype(np.int64)
    _, members = np.unique(keys, axis=0, return_inverse=True)
    members = members.ravel()
    count = int(members.max()) + 1 if len(members) else 0
    latest, largest = np.full((count, 2), -np.inf), np.zeros((count, 2))
    np.maximum.at(largest, members, slew)
    # Twice, for the slews that follow.
    np.maximum.at(latest, members, time + 2 * fall * (largest[members] - slew))
    # The first of those that arrive last, as of cells that are alike the first is left.
    order = np.lexsort((-time.max(axis=1), members))
    last = order[np.searchsorted(members[order], np.arange(count))]
    return last[members], latest[members], largest[members]


@dataclass(frozen=True)
class Merged:
    """Which cells are left: rows by kind; and of each net the one that stands for it."""

    rows: dict[str, Nets]
    nets: Nets


def _mixed(words: Words) -> Words:
    """Words that differ where these do, without a pattern (splitmix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _hashed(parts: Nets, salt: int) -> Words:
    """A word for each row of numbers, by what and where they are."""
    found = np.full(len(parts), salt, dtype=np.uint64)
    for column in parts.T:
        found = _mixed(found * np.uint64(0x9E3779B97F4A7C15) + column.astype(np.uint64))
    return found


def merged(
    cells: Mapping[str, Nets],
    outputs: Mapping[str, npt.NDArray[np.bool_]],
    level: Nets,
    load: Floats,
    single: npt.NDArray[np.bool_],
) -> Merged:
    """Merge cells that are alike.

    Parameters
    ----------
    cells: kind -> nets, a row for each cell
    outputs: kind -> which pins are outputs
    level: of each net; a cell's inputs have lower ones than the outputs that they lead to
    load: of each net, rising and falling
    single: nets that stand for themselves, such as the boundary's; an element for ``NONE`` follows
    """
    nets = len(level)
    stands = np.arange(nets + 1)
    stands[-1] = NONE
    grade = _hashed(np.rint(load / LOAD_STEP).astype(np.int64), 3).astype(np.int64)
    own = np.where(single[:-1], np.arange(nets), grade)
    drives = np.append(own, NONE)
    read = [pins[:, ~outputs[kind]] for kind, pins in cells.items()]
    inputs = _stacked(read)
    driven = _stacked([pins[:, outputs[kind]] for kind, pins in cells.items()])
    number = np.repeat(np.arange(len(read)), [len(each) for each in read])
    salt = _hashed(np.column_stack([number, drives[driven]]), 1)
    # Cells that drive nothing are ends of paths: last of all.
    stage = np.append(level, NONE)[driven].max(axis=1, initial=NONE)
    stage[stage < 0] = nets + 1
    order = np.argsort(stage, kind="stable")
    starts = np.flatnonzero(np.diff(stage[order], prepend=-1))
    left = np.zeros(len(order), dtype=bool)
    for start, end in pairwise([*starts.tolist(), len(order)]):
        rows = order[start:end]
        words = _mixed(salt[rows] ^ _hashed(stands[inputs[rows]], 7))
        by = np.argsort(words, kind="stable")
        new = np.append(True, words[by[1:]] != words[by[:-1]])
        firsts = rows[by[new]]
        left[firsts] = True
        if len(firsts) < len(rows):
            out, same = driven[rows[by]], driven[firsts[np.cumsum(new) - 1]]
            plain = (out >= 0) & ~single[out]
            stands[out[plain]] = same[plain]
    found, first = {}, 0
    for kind, pins in cells.items():
        found[kind] = np.flatnonzero(left[first : first + len(pins)])
        first += len(pins)
    return Merged(found, stands)


def _stacked(parts: list[Nets]) -> Nets:
    """Rows of several lengths as one array, filled with ``NONE``."""
    width = max((part.shape[1] for part in parts), default=0)
    fill = [
        np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=NONE) for part in parts
    ]
    return np.concatenate([np.zeros((0, width), dtype=np.int64), *fill])
