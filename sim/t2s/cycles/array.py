"""Cycle model of all that lies between loaders and the unloader."""

from __future__ import annotations

from ...timing.compiled import inlined
from .state import ALWAYS, ELEMENT, LAST, MOVES, Array

__all__ = ["array_step", "offer", "queues_step"]


@inlined
def _there(g: Array, queue: int) -> bool:
    """Whether a word is at a queue's output."""
    there: bool = g.queues[queue].level != 0
    return there


@inlined
def _ready(g: Array, queue: int) -> bool:
    """Whether a queue takes a word, once it is known whether one is taken from it."""
    q = g.queues[queue]
    ready: bool = q.level - (q.took & q.passes) < q.depth
    return ready


@inlined
def _set(g: Array, queue: int, there: bool) -> None:
    """Whether there is a word at the end of a queue that is a wire."""
    q = g.queues[queue]
    if q.wire:
        q.level = there


@inlined
def offer(g: Array) -> None:
    """What is at the end of each wire: nothing holds it there."""
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
    """A word, if there is one and room for it."""
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
    """A cycle of an element; whether an operation begins."""
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
    """A cycle of all processes; whether the last element begins an operation."""
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
