"""Cycle model of transfers: the list of commands, rows to the lanes (LOADs) and from them (STOREs).

A command goes to those who ask for its rows, and to those who walk them, as soon as either takes
it; so rows of the next one are asked for while those of one are still moved.
"""

from __future__ import annotations

from typing import Any

from ...timing.compiled import inlined
from ...timing.parts import queue_step, ring_step, skid_full, skid_put
from .array import reads_results, writes_results
from .state import LIST, OPERANDS, PARTS, Gta

_DEPTH = 4
_WAIT, _CHECK, _OFFER = range(3)


@inlined
def wants(g: Gta, kind: int) -> int:
    """Returns a mask of the kinds that a queue's first command waits for; 0 without a command."""
    m = g.m[0]
    found = 0
    if m.queues[kind].valid:
        command = g.commands[g.order[kind, m.got[kind]]]
        for other in range(3):
            if m.complete[other] < command.needs[other]:
                found |= 1 << other
    return found


@inlined
def check_step(g: Gta) -> None:
    """A cycle of the check, and of what puts beats of the list together to commands before it."""
    m, r = g.m[0], g.b.readers[LIST]
    for kind in range(3):
        m.puts[kind] = 0
    passes = False
    if m.state == _WAIT:
        if m.cut:
            m.state = _CHECK
            m.wait = g.commands[m.number].check - 1
    elif m.state == _CHECK:
        m.wait -= 1
        if m.wait == 0:
            m.state = _OFFER
    else:
        kind = g.commands[m.number].kind
        if m.queues[kind].level != _DEPTH:
            passes = True
            m.puts[kind] = 1
            m.state = _WAIT
            m.number += 1
            m.left -= 1
    free = m.cut == 0 or passes
    enough = m.words == g.c.words - 1
    wanted = m.asked_left != 0
    r.takes = wanted and (free or not enough)
    moves = r.beats.valid != 0 and r.takes != 0
    if free:
        m.cut = moves and enough
        m.asked_left -= m.cut
    if moves:
        m.words = 0 if enough else m.words + 1


@inlined
def offers_in_vain(g: Gta) -> bool:
    """Returns whether the next command waits for its full queue, or no command is arriving."""
    m = g.m[0]
    if m.state == _OFFER:
        full: bool = m.queues[g.commands[m.number].kind].level == _DEPTH
        # Beats of the one behind it may still come together.
        return full and (
            g.b.readers[LIST].beats.valid == 0 or (m.words == g.c.words - 1 and m.cut != 0)
        )
    return m.state == _WAIT and m.cut == 0 and g.b.readers[LIST].beats.valid == 0


@inlined
def queues_step(g: Gta) -> None:
    """A cycle of the queues: what was put in and taken out."""
    m = g.m[0]
    for kind in range(3):
        queue_step(m.queues[kind], m.puts[kind] != 0, m.pops[kind] != 0)
        m.got[kind] += m.pops[kind]
        m.passed[kind] += m.puts[kind]
        m.puts[kind] = m.pops[kind] = 0


@inlined
def walk_busy(g: Gta, which: int) -> bool:
    """Returns whether rows are to be requested, or a command is present."""
    w = g.walks[which]
    busy: bool = (w.left | w.held | w.command.valid) != 0
    return busy


@inlined
def begin(g: Gta, which: int, finished: bool) -> None:
    """Advances the walk from its command to the next one, in the cycle after it."""
    w = g.walks[which]
    if finished:
        w.active = 0
    elif w.command.valid:
        if not w.active:
            command = g.commands[w.command.place]
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
    command = g.commands[w.command.place]
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
def ask(w: Any, port: Any) -> None:
    """Offers a walk's next request to its reader or writer."""
    port.asks = (w.left | w.held) != 0
    port.ask_place = w.held_place if w.held else w.place
    port.ask_beats = w.held_beats if w.held else w.beats


@inlined
def take_command(g: Gta, which: int, kind: int, accepts: bool, finished: bool) -> None:
    """The end of a cycle: rows are asked for one by one, if ``accepts`` one was taken, or else
    waits; commands come from their queue, and leave when they are ``finished``."""
    w = g.walks[which]
    m = g.m[0]
    if w.held:
        w.held = not accepts
        accepts = False
    elif w.left and not accepts:
        w.held, w.held_place, w.held_beats = 1, w.place, w.beats
        accepts = True
    valid = m.queues[kind].valid != 0 and m.wants[kind] == 0
    number = g.order[kind, m.got[kind]] if valid else 0
    asks_free = w.left == 0 or (w.left == 1 and accepts)
    keeps_free = w.command.spare == 0
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
    if finished:
        w.command.valid = 0
    if not skid_full(w.command) and keeps:
        skid_put(w.command, 0, number, 0)


_STORES = 1
_WAITING = 8
_LAST, _ENDS, _HALF, _SHORT = 1, 2, 4, 8
"""Flags of a part: it is the last one of its row, or of its command; it is 8 bytes in memory, or
counts no more than 8."""


@inlined
def gather_busy(g: Gta) -> bool:
    """Returns whether a part is in flight."""
    m = g.m[0]
    busy = (m.owed | m.narrow | m.beat) != 0
    if g.c.octets > 1:
        return busy or m.at != 0
    return busy


@inlined
def _is_read(g: Gta, now: int) -> bool:
    """Returns whether the array reads a bank that holds the next part."""
    w = g.walks[_STORES]
    command = g.commands[w.command.place]
    bank = w.bank + w.at // command.element % command.banks
    if reads_results(g, w.lane, bank, now):
        return True
    return command.parts == 2 and reads_results(g, w.lane, bank + 1, now)


@inlined
def _build(g: Gta) -> bool:
    """Parts to beats; returns whether one at the narrower's output is taken."""
    m = g.m[0]
    takes = g.b.writer[0].takes != 0
    free = m.beat == 0 or takes
    m.sent += m.beat != 0 and takes and m.beat_ends != 0
    part = m.narrow_part
    half = (part & _HALF) != 0
    if g.c.octets == 1:
        ends = m.upper != 0 or half or (part & _SHORT) != 0
        taken = m.narrow != 0 and free and ends
        if m.narrow != 0 and free:
            m.upper = not ends
        if free:
            m.beat = m.narrow
            m.beat_ends = (part & _ENDS) != 0 and ends
        return taken
    following = m.at + (1 if half else 2)
    sends = following >= g.c.octets or (part & _LAST) != 0
    taken = m.narrow != 0 and (free or not sends)
    if free:
        m.beat = m.narrow != 0 and sends
        m.beat_ends = (part & _ENDS) != 0
    if taken:
        m.at = 0 if sends else following
    return taken


@inlined
def gather(g: Gta, now: int) -> bool:
    """A cycle of the way from the lanes to the writer, which has said whether it ``takes`` the
    beat at the end; returns whether a STORE's last part is being read."""
    m, w = g.m[0], g.walks[_STORES]
    taken = _build(g)
    # The narrower, and the queue before it.
    free = m.narrow == 0 or taken
    passes = m.waiting.valid != 0 and free
    if free:
        m.narrow = m.waiting.valid
        m.narrow_part = g.parts[m.waiting.at]
    # Two cycles through the memory; 0 is no part.
    if m.read_2:
        g.parts[m.waiting.tail] = m.read_2 >> 1
    ring_step(m.waiting, PARTS - 1, m.read_2 != 0, passes)
    m.read_2 = m.read_1
    m.read_1 = 0
    issues = False
    finished = False
    if w.active and m.owed != _WAITING:
        if _is_read(g, now):
            m.waits = 1
        else:
            issues = True
            part = 0
            if w.bytes_left <= 16:
                part |= _LAST
                if w.rows_left == 1:
                    part |= _ENDS
            if w.bytes_left <= 8:
                part |= _SHORT
            if g.commands[w.command.place].narrow:
                part |= _HALF
            m.read_1 = part << 1 | 1
            finished = advance(g, _STORES, 16)
    m.owed += int(issues) - int(passes)
    begin(g, _STORES, finished)
    return finished


_LOADS = 0


@inlined
def deal(g: Gta, now: int) -> bool:
    """A cycle of the way from the reader to the lanes; returns whether a LOAD's last chunk is on
    its way."""
    m, w, r = g.m[0], g.walks[_LOADS], g.b.readers[OPERANDS]
    ready = True
    m.loaded = 0
    if m.chunk:
        ready = m.chunk_result == 0 or not writes_results(g, m.chunk_lane, now)
        if not ready:
            m.waits = 1
        elif m.chunk_ends:
            m.loaded = 1
    moves = r.beats.valid != 0 and w.active != 0 and ready
    r.takes = 0
    finished = False
    if ready:
        m.chunk = moves
    if moves:
        last_of_row = w.bytes_left <= g.c.chunk
        last_of_beat = (w.at + g.c.chunk) % g.b.c.beat == 0
        r.takes = last_of_row or last_of_beat
        m.chunk_lane = w.lane
        m.chunk_result = g.commands[w.command.place].result
        finished = advance(g, _LOADS, g.c.chunk)
        m.chunk_ends = finished
    begin(g, _LOADS, finished)
    return finished
