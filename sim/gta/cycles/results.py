"""Cycles in which the array itself reads, or writes, results: accesses from outside wait.

Of integers a lane at the lower edge of a region gives results of its columns one behind the other,
of floats every lane, row by row. Which cycles those are is known when a fold begins, and looked up
when somebody asks.
"""

from __future__ import annotations

from ....hw.spec.gta import COLS, ROWS
from ...timing.compiled import inlined
from .state import FLOATS, FOLDS, VECTORS, Gta

__all__ = ["forget", "reads_results", "writes_results"]

_WRITE = 3
"""Cycles from the read of a result to its write, of integers."""

_READ_FLOATS, _WRITE_FLOATS = 3, 5
"""From the last limbs of the first product of row 0 to the first read of a sum; from those of the
last product to the first write, beside the adder's stages."""

_STEP_TO_PLANE_READ, _STEP_TO_PLANE_WRITE = 4, 6
"""From a cycle of a vector operation to the read, and the write, of its plane in column 0."""


@inlined
def forget(g: Gta, region: int, now: int) -> None:
    """Folds whose results have all left the array; of those that are kept there are few."""
    record = g.regions[region]
    while record.folds_out < record.folds_in:
        if g.folds[region, record.folds_out % FOLDS, 7] >= now:
            return
        record.folds_out += 1


@inlined
def _integers(g: Gta, region: int, place: int, since: int) -> bool:
    """Whether a fold has a step in a lane that completes a result so many cycles behind column 0's
    first one of the region."""
    steps, limbs = g.folds[region, place, 1], g.folds[region, place, 2]
    for column in range(limbs - 1, COLS, limbs):
        step = since - g.delays[column]
        if g.folds[region, place, 3] <= step < steps and step % limbs == limbs - 1:
            return True
    return False


@inlined
def _reads_integer(g: Gta, region: int, place: int, since: int, bank: int) -> bool:
    """Whether a fold reads a sum of a lane's bank in a cycle. The group that the bank is of reads
    its banks in turn, of sums that are read two at a time every other one."""
    fold = g.folds[region, place]
    limbs = fold[2]
    step = since - g.delays[bank | (limbs - 1)]
    if not fold[3] <= step < fold[1] or step % limbs != limbs - 1:
        return False
    number = fold[9] - step // limbs if fold[10] else fold[9] + step // limbs
    reads: bool = number % fold[8] == 0 and number % limbs == bank % limbs
    return reads


@inlined
def _planes(
    g: Gta, region: int, place: int, since: int, writes: bool, first: int, count: int
) -> bool:
    """Whether an octet of some of a lane's columns has a plane to read, or to write, in a cycle."""
    cycles, octet = g.folds[region, place, 1], g.folds[region, place, 2]
    planes = g.planes[g.folds[region, place, 8], int(writes)]
    # Of column 0; that of the last one is as many behind it.
    late = _STEP_TO_PLANE_WRITE + g.folds[region, place, 3]
    step = since - (late if writes else _STEP_TO_PLANE_READ)
    least = max(0, step - first - count + 1)
    latest = min(step - first, cycles - 1)
    if latest < least:
        return False
    for number in range(1, planes[0] + 1):
        if latest - (latest - planes[number]) % octet >= least:
            return True
    return False


@inlined
def reads_results(g: Gta, lane: int, bank: int, now: int) -> bool:
    """Whether the array reads results of a lane's bank in this cycle."""
    region, row, col = g.places[lane, 0], g.places[lane, 1], g.places[lane, 2]
    record = g.regions[region]
    forget(g, region, now)
    bottom = row == record.rows // ROWS - 1
    for number in range(record.folds_out, record.folds_in):
        place = number % FOLDS
        fold = g.folds[region, place]
        since = now - fold[0] - COLS * col
        if fold[6] == VECTORS:
            if _planes(g, region, place, since, False, bank, 1):
                return True
        elif fold[4] == 0:
            continue
        elif fold[6] == FLOATS:
            if 0 <= since - ROWS * row - _READ_FLOATS - bank < ROWS:
                return True
        elif bottom and _reads_integer(g, region, place, since, bank):
            return True
    return False


@inlined
def writes_results(g: Gta, lane: int, now: int) -> bool:
    """Whether it writes results of any of a lane's banks."""
    region, row, col = g.places[lane, 0], g.places[lane, 1], g.places[lane, 2]
    record = g.regions[region]
    forget(g, region, now)
    bottom = row == record.rows // ROWS - 1
    for number in range(record.folds_out, record.folds_in):
        place = number % FOLDS
        fold = g.folds[region, place]
        since = now - fold[0] - COLS * col
        if fold[6] == VECTORS:
            if _planes(g, region, place, since, True, 0, COLS):
                return True
        elif fold[6] == FLOATS:
            since -= ROWS * row + fold[1] + _WRITE_FLOATS + g.c.stages
            rows = min(max(fold[5] - ROWS * row, 0), ROWS)
            if rows and 0 <= since < rows + COLS - 1:
                return True
        elif bottom and _integers(g, region, place, since - _WRITE):
            return True
    return False
