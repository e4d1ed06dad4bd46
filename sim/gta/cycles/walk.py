"""Cycle model of what LOADs and STOREs have in common: the rows of commands that wait their turn.

A command goes to those who ask for its rows, and to those who walk them, as soon as either takes
it; so rows of the next one are asked for while those of one are still moved.
"""

from __future__ import annotations

from ...timing.compiled import inlined
from .commands import EXECUTE
from .state import Gta

__all__ = ["advance", "begin", "take_command", "walk_busy"]


@inlined
def walk_busy(g: Gta, which: int) -> bool:
    """Whether rows are to be asked for, or a command is there."""
    w = g.walks[which]
    busy: bool = (w.left | w.held) != 0
    return busy


@inlined
def begin(g: Gta, which: int, finished: bool) -> None:
    """From the command that is walked to the next one, in the cycle behind it."""
    w = g.walks[which]
    if finished:
        w.active = 0
    elif w.held:
        if not w.active:
            command = g.commands[w.held_command]
            w.rows_left, w.bytes_left, w.at = command.rows, command.row_bytes, 0
            w.lane, w.entry, w.bank = command.first, 0, 0
        w.active = 1


@inlined
def advance(g: Gta, which: int, step: int) -> bool:
    """A step of some bytes; returns whether it was the command's last."""
    w = g.walks[which]
    if w.bytes_left > step:
        w.bytes_left -= step
        w.at += step
        return False
    command = g.commands[w.held_command]
    ends: bool = w.rows_left == 1
    w.rows_left -= 1
    w.bytes_left, w.at = command.row_bytes, 0
    w.bank += command.banks
    if w.bank >= 8:
        w.bank -= 8
        w.lane += command.step
        w.entry += 1
        if w.entry == command.lanes:
            w.lane, w.entry = command.first, 0
    return ends


@inlined
def take_command(g: Gta, which: int, kind: int, accepts: bool, finished: bool) -> None:
    """The end of a cycle: rows are asked for one by one, if ``accepts`` one was taken; commands
    come from their queue, and leave when they are ``finished``."""
    w = g.walks[which]
    m = g.m[0]
    valid = m.valid[kind] != 0 and m.wants[kind] == 0
    number = g.order[kind, m.got[kind]] if valid else 0
    asks_free = w.left == 0 or (w.left == 1 and accepts)
    keeps_free = w.spare == 0
    asks = valid and w.asked == 0
    keeps = valid and w.kept == 0
    free = (asks_free or w.asked != 0) and (keeps_free or w.kept != 0)
    m.pops[kind] = valid and free
    if valid and not free:
        w.asked |= asks_free
        w.kept |= keeps_free
    else:
        w.asked = w.kept = 0
    if asks and asks_free:
        command = g.commands[number]
        w.left, w.place, w.beats = command.rows, command.place, command.beats
        w.stride = command.stride
    elif w.left and accepts:
        w.place += w.stride
        w.left -= 1
    put = keeps and keeps_free
    if finished or w.held == 0:
        w.held_command = w.spare_command if w.spare else number
        w.held = w.spare != 0 or put
        w.spare = 0
    elif put:
        w.spare, w.spare_command = 1, number


assert EXECUTE == 1
