"""Cycle model of all that lies between loaders and the unloader."""

from __future__ import annotations

from typing import Any

from ...timing.bursts.bus import reader_step, writer_step
from ...timing.compiled import inlined
from ...timing.parts import gear
from .network import ALWAYS, ELEMENT, LAST, MOVES, Array


@inlined
def _walk(g: Array, image: int) -> None:
    """Advances an image to its next run; each loop that advances restarts those inside it."""
    i = g.images[image]
    loop = i.loops - 1
    while loop >= 0:
        if g.numbers[image, loop] != g.trips[image, loop]:
            break
        g.numbers[image, loop] = 1
        loop -= 1
    if loop < 0:
        i.running = 0
        return
    g.numbers[image, loop] += 1
    g.begins[image, loop] += g.strides[image, loop]
    i.place = g.begins[image, loop]
    for inside in range(loop + 1, i.loops):
        g.begins[image, inside] = i.place


@inlined
def offer_word(g: Array, image: int) -> None:
    """The word at a loader's output."""
    i = g.images[image]
    g.queues[i.queue].level = i.valid


@inlined
def _word_taken(i: Any, took: bool) -> bool:
    """Tells whether a word is taken for the last time."""
    if not took:
        return False
    if i.number + 1 != i.repeats:
        i.number += 1
        return False
    i.number = 0
    return True


@inlined
def load(g: Array, image: int) -> None:
    """A cycle of a loader and its reader, when it is known whether its word is taken."""
    i, r = g.images[image], g.b.readers[image]
    taken = _word_taken(i, g.queues[i.queue].took != 0)
    brought = taken and i.last != 0
    r.takes, _ = gear(i, True, i.run, i.word, g.b.c.beat, r.beats.valid != 0, taken)
    r.asks = i.running != 0 and i.under != i.most
    r.ask_place = i.place
    r.ask_beats = i.beats
    reader_step(g.b, image)
    asked = r.asks != 0 and r.accepts != 0
    if asked:
        _walk(g, image)
    i.under += int(asked) - int(brought)


@inlined
def unload(g: Array) -> None:
    """A cycle of the packer: which word is taken, which beat is handed over."""
    i, w = g.images[len(g.images) - 1], g.b.writer[0]
    beat = g.b.c.beat
    full = i.level >= beat
    offers = (full or i.complete != 0) and i.under != 0
    leaves = offers and w.takes != 0
    ends = leaves and i.complete != 0 and i.level <= beat
    left = i.level
    if leaves:
        left = i.level - beat if full else 0
    w.beat = offers
    i.last = ends
    if g.queues[i.queue].level and left < beat and (not i.complete or ends):
        g.queues[i.queue].took = 1
        i.level = left + i.word
        i.words = i.words + 1 if i.words + 1 != i.run else 0
        i.complete = i.words == 0
    else:
        i.level = left
        i.complete = i.complete != 0 and not ends


@inlined
def store(g: Array, now: int) -> None:
    """A cycle of the unloader's requests, and of the writer."""
    image = len(g.images) - 1
    i, w = g.images[image], g.b.writer[0]
    w.asks = i.running != 0 and i.under != i.most
    w.ask_place = i.place
    w.ask_beats = i.beats
    writer_step(g.b, now)
    asked = w.asks != 0 and w.accepts != 0
    if asked:
        _walk(g, image)
    i.under += int(asked) - i.last


@inlined
def _there(g: Array, queue: int) -> bool:
    """Tells whether a word is at a queue's output."""
    there: bool = g.queues[queue].level != 0
    return there


@inlined
def _ready(g: Array, queue: int) -> bool:
    """Tells whether a queue accepts a word, once it is known whether one is taken from it."""
    q = g.queues[queue]
    ready: bool = q.level - (q.took & q.passes) < q.depth
    return ready


@inlined
def _set(g: Array, queue: int, there: bool) -> None:
    """Sets whether a word is at the end of a queue that is a wire."""
    q = g.queues[queue]
    if q.wire:
        q.level = there


@inlined
def offer(g: Array) -> None:
    """Sets the words at the ends of all wires, which store nothing."""
    for index in range(len(g.offers)):
        p = g.processes[g.offers[index]]
        if p.kind == MOVES:
            for number in range(p.first, p.first + p.count):
                _set(g, g.segments[number].put, False)
            s = g.segments[p.first + p.at]
            _set(g, s.put, _there(g, s.take))
        elif p.kind == ELEMENT:
            e = g.elements[p.at]
            _set(g, e.results, e.drains != 0 and e.completing == 0)
        else:
            there = True
            for number in range(p.first, p.first + p.count):
                there = there and _there(g, g.ports[number])
            _set(g, g.ports[p.puts], there)


@inlined
def _move(g: Array, number: int) -> None:
    """Moves a word, if one is available and fits."""
    p = g.processes[number]
    s = g.segments[p.first + p.at]
    if not _there(g, s.take) or not _ready(g, s.put):
        return
    ends = p.left == 1
    if s.take_when == ALWAYS or (ends and s.take_when == LAST):
        g.queues[s.take].took = 1
    if s.put_when == ALWAYS or (ends and s.put_when == LAST):
        g.queues[s.put].put = 1
    if ends:
        p.at = p.at + 1 if p.at + 1 < p.count else 0
        p.left = g.segments[p.first + p.at].words
    else:
        p.left -= 1


@inlined
def _all_move(g: Array, number: int, count: int, put_count: int) -> bool:
    """A word from each of so many queues and one to each of so many, if all can; whether they
    did."""
    p = g.processes[number]
    for port in range(p.first, p.first + count):
        if not _there(g, g.ports[port]):
            return False
    for port in range(p.puts, p.puts + put_count):
        if not _ready(g, g.ports[port]):
            return False
    for port in range(p.first, p.first + count):
        g.queues[g.ports[port]].took = 1
    for port in range(p.puts, p.puts + put_count):
        g.queues[g.ports[port]].put = 1
    return True


@inlined
def _result(g: Array, element: int) -> bool:
    """A sum that leaves from where it is, once all are complete; whether one does."""
    e = g.elements[element]
    leaves: bool = e.drains != 0 and e.completing == 0 and _ready(g, e.results)
    if leaves:
        g.queues[e.results].put = 1
    return leaves


@inlined
def _operate(g: Array, number: int) -> bool:
    """Advances an element by one cycle; returns whether an operation starts."""
    p = g.processes[number]
    e = g.elements[p.at]
    completes = e.at >= e.completes
    room = e.owed != e.sums or not completes if e.overlaps else not e.drains
    begins = False
    if room and (not e.waits or e.under != e.sums):
        if e.at < e.sums:
            begins = _all_move(g, number, p.count, p.put_count)
        else:
            begins = _all_move(g, number, p.count - e.start_takes, p.put_count - e.start_puts)
    done = e.latency - 1
    e.under += int(begins) - (e.begun >> done & 1)
    if e.overlaps:
        leaves = g.queues[e.output].took != 0
        if e.completing >> done & 1:
            g.queues[e.results].put = 1
    else:
        leaves = _result(g, p.at)
    mask = (1 << e.latency) - 1
    e.begun = (e.begun << 1 | int(begins)) & mask
    e.completing = (e.completing << 1 | int(begins and completes)) & mask
    e.owed += int(begins and completes) - int(leaves)
    if not e.overlaps:
        e.drains = e.owed != 0 if e.drains else e.owed == e.sums
    if begins:
        e.at = e.at + 1 if e.at + 1 < e.period else 0
    return begins


@inlined
def array_step(g: Array) -> bool:
    """Advances all processes by one cycle; returns whether the last element starts an operation."""
    last = len(g.elements) - 1
    busy = False
    for number in range(len(g.processes)):
        p = g.processes[number]
        if p.kind == MOVES:
            _move(g, number)
        elif p.kind == ELEMENT:
            if _operate(g, number) and p.at == last:
                busy = True
        else:
            _all_move(g, number, p.count, p.put_count)
    return busy


@inlined
def queues_step(g: Array) -> None:
    """The end of a cycle."""
    for number in range(len(g.queues)):
        q = g.queues[number]
        q.level += q.put - q.took
        q.took = 0
        q.put = 0
