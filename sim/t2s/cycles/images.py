"""Cycle model of loaders and of the unloader: walks over images, beats to words and back."""

from __future__ import annotations

from typing import Any

from ...timing.bursts.reader import reader_step
from ...timing.bursts.writer import writer_step
from ...timing.compiled import inlined
from ...timing.gearbox import gear
from .state import Array

__all__ = ["load", "offer_word", "store", "unload"]


@inlined
def _walk(g: Array, image: int) -> None:
    """To the next run: each loop that is entered takes those inside to where it begins."""
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
    """Whether a word is taken for the last time."""
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
    r.takes, _ = gear(i, True, i.run, i.word, g.b.c.beat, r.valid != 0, taken)
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
