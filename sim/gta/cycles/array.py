"""Cycle model of the lanes of a region, joined: ``FoldSequencer`` and the ends of commands."""

from __future__ import annotations

from ....hw.spec.gta import COLS, ROWS
from ...timing.compiled import inlined
from .state import FLOATS, FOLDS, INTEGERS, RING, VECTORS, Gta

# Cycles in which the array itself reads, or writes, results: accesses from outside wait.
#
# With integers a lane at the lower edge of a region produces results of its columns one after the
# other, with floats every lane does, row by row. The cycles are known when a fold begins, and are
# looked up when an access from outside asks.


_WORK_TO_DONE = 6
"""Cycles from a vector operation's last one to its end, beside one for each column."""

_VECTOR_TAIL = 14
"""Cycles from a vector operation's last one to the quiet, beside what adders take."""


@inlined
def vectors_quiet(g: Gta, region: int) -> bool:
    r = g.regions[region]
    quiet: bool = (r.v_waits | r.v_left | r.v_tail) == 0
    return quiet


@inlined
def vector_tail(g: Gta, region: int) -> int:
    """Cycles that the lanes are not quiet behind the command that they have."""
    tail: int = _VECTOR_TAIL + g.commands[g.regions[region].command].behind
    return tail


@inlined
def _work(g: Gta, region: int, now: int) -> None:
    """A command of vectors begins in the next cycle."""
    r = g.regions[region]
    command = g.commands[r.command]
    forget(g, region, now)
    fold = g.folds[region, r.folds_in % FOLDS]
    fold[0], fold[1], fold[2], fold[6] = now + 1, command.cycles, command.octet, VECTORS
    fold[3], fold[8] = command.late, command.planes
    done = now + 1 + command.last + r.cols + _WORK_TO_DONE
    # Late writes are complete then, too.
    fold[7] = done
    r.folds_in += 1
    r.v_results, r.v_end = command.results, command.results + command.written
    g.dones[region, r.dones_in % RING] = done
    r.dones_in += 1
    r.v_left = command.cycles


@inlined
def _meets(g: Gta, region: int) -> bool:
    """The command that waits reads results that the one before may not have written when it could
    begin."""
    r = g.regions[region]
    command = g.commands[r.command]
    later = r.v_results < command.results < r.v_end
    meets: bool = command.reads != 0 and (later or r.v_near != 0)
    return meets


@inlined
def vector_step(g: Gta, region: int, start: bool, now: int) -> None:
    """A cycle of ``VectorSequencer``, in which a command is taken or not."""
    r = g.regions[region]
    works, begins = r.v_left != 0, r.v_waits != 0 and r.v_left <= 1
    if begins and _meets(g, region):
        begins = r.v_left == 0 and r.v_tail == 0
    if r.v_near:
        r.v_near -= 1
    if works:
        r.v_tail = vector_tail(g, region)
        r.v_left -= 1
    elif r.v_tail:
        r.v_tail -= 1
    if begins:
        _work(g, region, now)
        r.v_waits = 0
        r.v_near = COLS - 1
    if r.v_early:
        r.v_early -= 1
    if start:
        r.v_waits = 1
        r.v_early = COLS - 1


_WRITE = 3
"""Cycles from the read of a result to its write, of integers."""

_READ_FLOATS, _WRITE_FLOATS = 3, 5
"""Cycles from the last limbs of the first product of row 0 to the first read of a sum; from those
of the last product to the first write, beside the adder's stages."""

_STEP_TO_PLANE_READ, _STEP_TO_PLANE_WRITE = 3, 6
"""Cycles from a step of a vector operation to the read, and the write, of its plane in column 0;
sums of floats are read a cycle later."""


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
    """Returns whether a fold has a step in a lane that completes a result, ``since`` cycles after
    column 0's first step of the region."""
    steps, limbs = g.folds[region, place, 1], g.folds[region, place, 2]
    for column in range(limbs - 1, COLS, limbs):
        step = since - g.delays[column]
        if g.folds[region, place, 3] <= step < steps and step % limbs == limbs - 1:
            return True
    return False


@inlined
def _reads_integer(g: Gta, region: int, place: int, since: int, bank: int) -> bool:
    """Returns whether a fold reads a sum of a lane's bank in a cycle. The banks of a group are read
    in turn; sums that are read two at a time, in every other turn."""
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
    """Returns whether an octet in some of a lane's columns reads, or writes, a plane in a cycle."""
    cycles, octet = g.folds[region, place, 1], g.folds[region, place, 2]
    planes = g.planes[g.folds[region, place, 8], int(writes)]
    # Cycles of column 0; the last column is as many behind it.
    late = g.folds[region, place, 3]
    step = since - (_STEP_TO_PLANE_WRITE + late if writes else _STEP_TO_PLANE_READ + (late > 0))
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
    """Returns whether the array reads results of a lane's bank in this cycle."""
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
    """Returns whether the array writes results to any of a lane's banks in this cycle."""
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


_TAIL = 20
"""Cycles, beside two for each row, from when a fold could follow the last one to the quiet."""

_WEIGHTS_TO_STEP, _SUMS_TO_STEP = 3, 4
"""Cycles from a fold's begin to its first results, beside two for each row; from that of the fold
behind, with a second rank beside one for each."""

_STEP_TO_DONE = 4
"""Cycles from the last step of the last lane's last column to the end of the command."""

_ROW_TO_DONE = 21
"""Cycles from the last lane's last limbs of row 0 to the end, beside the adder's, of floats."""


@inlined
def _quiet(g: Gta, region: int) -> bool:
    r = g.regions[region]
    quiet: bool = (r.fresh | r.active | r.stay | r.tail) == 0
    return quiet


@inlined
def array_busy(g: Gta, now: int) -> bool:
    """Returns whether any lane is busy; each runs 8 cycles after the one on its left."""
    for region in range(g.c.regions):
        r = g.regions[region]
        if not (_quiet(g, region) and vectors_quiet(g, region)) or now < r.quiet_at + r.cols - COLS:
            return True
    return False


@inlined
def region_ready(g: Gta, region: int, number: int) -> bool:
    """Returns whether the lanes at the left edge accept a command in this cycle."""
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
        first = begins + g.c.second_rank * r.rows + _SUMS_TO_STEP
        left_out = r.rows - r.fold_rows
        _add(g, region, first, r.rows, left_out, r.fold_reads, r.fold_rows, r.fold_last)
    if not go:
        return
    rows = command.rows_last if r.row == command.row_folds - 1 else r.rows
    first_row = r.row == 0
    last = r.row == command.row_folds - 1 and r.col == command.col_folds - 1
    if command.floats:
        # The last limbs of a chain of one product, in row 0 of the first lane.
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
