"""Cycle model of ``VectorSequencer``: commands of vectors, one after the other."""

from __future__ import annotations

from ....hw.spec.gta import COLS
from ...timing.compiled import inlined
from .results import forget
from .state import FOLDS, RING, VECTORS, Gta

__all__ = ["vector_step", "vector_tail", "vectors_quiet"]

_WORK_TO_DONE = 6
"""From a vector operation's last cycle to its end, beside one for each column."""

_TAIL = 14
"""Cycles from a vector operation's last one to the quiet, beside what adders take."""


@inlined
def vectors_quiet(g: Gta, region: int) -> bool:
    r = g.regions[region]
    quiet: bool = (r.v_waits | r.v_left | r.v_tail) == 0
    return quiet


@inlined
def vector_tail(g: Gta, region: int) -> int:
    """Cycles that the lanes are not quiet behind the command that they have."""
    tail: int = _TAIL + g.commands[g.regions[region].command].behind
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
    # What is written late is over then, too.
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
