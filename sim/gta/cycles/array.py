"""Cycle model of the lanes of a region, joined: ``FoldSequencer`` and the ends of commands."""

from __future__ import annotations

from ....hw.spec.gta import COLS, ROWS
from ...timing.compiled import inlined
from .results import forget
from .state import FLOATS, FOLDS, INTEGERS, RING, Gta
from .vectors import vector_step, vectors_quiet

__all__ = ["array_busy", "region_ready", "region_step"]

_TAIL = 20
"""Cycles, beside two for each row, from when a fold could follow the last one to the quiet."""

_WEIGHTS_TO_STEP, _SUMS_TO_STEP = 3, 4
"""From a fold's begin to its first results, beside two for each row; from that of the fold behind,
beside one for each."""

_STEP_TO_DONE = 4
"""From the last step of the last lane's last column to the end of the command."""

_ROW_TO_DONE = 21
"""From the last limbs of the last lane's row 0 to the end, beside the adder's stages, of floats."""


@inlined
def _quiet(g: Gta, region: int) -> bool:
    r = g.regions[region]
    quiet: bool = (r.fresh | r.active | r.stay | r.tail) == 0
    return quiet


@inlined
def array_busy(g: Gta, now: int) -> bool:
    """Whether a lane is not quiet; each is 8 cycles behind the one on its left."""
    for region in range(g.c.regions):
        r = g.regions[region]
        if not (_quiet(g, region) and vectors_quiet(g, region)) or now < r.quiet_at + r.cols - COLS:
            return True
    return False


@inlined
def region_ready(g: Gta, region: int, number: int) -> bool:
    """Whether the lanes at the left edge take a command in this cycle."""
    r = g.regions[region]
    same: bool = g.commands[r.command].same == g.commands[number].same
    if g.commands[number].simd:
        if r.v_waits or r.v_early or not _quiet(g, region):
            return False
        return same or vectors_quiet(g, region)
    if r.fresh or r.active or r.wait > 2 or not vectors_quiet(g, region):
        return False
    return (same and r.steady != 0) or _quiet(g, region)


@inlined
def _add(
    g: Gta, region: int, first: int, steps: int, begin: int, reads: int, rows: int, last: int
) -> None:
    """Results of a fold, from the cycle of column 0's first step in the first lane on."""
    r = g.regions[region]
    command = g.commands[r.command]
    fold = g.folds[region, r.folds_in % FOLDS]
    fold[0], fold[1], fold[2], fold[3] = first, steps, command.limbs, begin
    fold[4], fold[5], fold[6] = reads, rows, FLOATS if command.floats else INTEGERS
    fold[8] = command.every
    # Sums that stayed leave from the last row's on.
    fold[9], fold[10] = 0 if command.weights else r.fold_first, not command.weights
    if command.floats:
        end = first + steps + r.rows + r.cols - ROWS - COLS
        done = end + _ROW_TO_DONE + g.c.stages
        fold[7] = done
    else:
        done = first + steps + r.cols - 1 + g.c.widest + _STEP_TO_DONE
        fold[7] = done
    r.folds_in += 1
    if last:
        g.dones[region, r.dones_in % RING] = done
        r.dones_in += 1


@inlined
def _fold(g: Gta, region: int, go: bool, now: int) -> None:
    """A fold begins in the next cycle; or an empty one, for the sums that stayed."""
    r = g.regions[region]
    command = g.commands[r.command]
    begins = now + 1
    forget(g, region, now)
    if r.stay:
        # Rows that are not in use have no results, and leave first.
        first = begins + r.rows + _SUMS_TO_STEP
        left_out = r.rows - r.fold_rows
        _add(g, region, first, r.rows, left_out, r.fold_reads, r.fold_rows, r.fold_last)
    if not go:
        return
    rows = command.rows_last if r.row == command.row_folds - 1 else r.rows
    first_row = r.row == 0
    last = r.row == command.row_folds - 1 and r.col == command.col_folds - 1
    if command.floats:
        # Of row 0 of the first lane, the last limbs of a chain of one product.
        first = begins + 1 + command.product
        steps = command.cycles - command.products
        _add(g, region, first, steps, 0, command.use_c != 0, rows, last)
    elif command.weights:
        first = begins + 2 * r.rows + _WEIGHTS_TO_STEP
        reads = command.use_c != 0 or not first_row
        _add(g, region, first, command.cycles, 0, reads, rows, last)
    r.fold_rows, r.fold_last, r.fold_reads = rows, last, command.use_c
    r.fold_first = (r.row + 1) * (r.rows // command.limbs) - 1
    # The next one.
    if command.lateral:
        r.col += 1
        if r.col == command.col_folds:
            r.col = 0
            r.row += 1
    else:
        r.row += 1
        if r.row == command.row_folds:
            r.row = 0
            r.col += 1


@inlined
def region_step(g: Gta, region: int, start: int, now: int) -> bool:
    """A cycle, in which command ``start`` is taken, if that is not negative; returns whether the
    oldest command ends."""
    r = g.regions[region]
    ended = r.dones_out < r.dones_in and g.dones[region, r.dones_out % RING] == now
    r.dones_out += ended
    simd = start >= 0 and g.commands[start].simd != 0
    if simd or not vectors_quiet(g, region) or r.v_early:
        vector_step(g, region, simd, now)
        if simd:
            r.command = start
        if vectors_quiet(g, region):
            r.quiet_at = now + 1
    if simd or (start < 0 and _quiet(g, region)):
        return ended
    command = g.commands[r.command]
    free = r.wait == 0
    go = r.active != 0 and free
    close = r.active == 0 and r.fresh == 0 and r.stay != 0 and free
    if go or close:
        _fold(g, region, go, now)
    ends = go and (r.row == command.row_folds or r.col == command.col_folds)
    if r.fresh:
        r.active = 1
    elif ends:
        r.active = 0
    if go or close:
        r.stay = go and command.weights == 0 and command.floats == 0
        r.tail = 2 * r.rows + _TAIL
    elif free and r.tail:
        r.tail -= 1
    if go:
        r.wait = command.interval - 1
    elif close:
        r.wait = r.rows - 1
    elif r.wait:
        r.wait -= 1
    r.fresh = start >= 0
    if start >= 0:
        r.command = start
        r.steady = g.commands[start].steady
        r.row = r.col = 0
    if _quiet(g, region):
        r.quiet_at = now + 1
    return ended
