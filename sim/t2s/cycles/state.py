"""State of the cycle model, as arrays that compiled code works on.

Words are counted, not looked at: what a function waits for does not depend on what they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...timing.bursts.state import Managers
from ...timing.parts import record

MOVES, JOINS, ELEMENT = range(3)
"""Kinds of processes: a word from a queue to another one; one from each of some to each of others;
an element."""

ALWAYS, LAST, NEVER = range(3)
"""Times at which a process takes a word from a queue, or puts one into it: with every word that it
moves, with the last of a segment, or never."""


QUEUE = record(
    # Words that it holds at most, and now; whether there is room, too, if one is taken in the same
    # cycle; whether it holds none, and has a word only while one is put.
    *("depth", "level", "passes", "wire"),
    # In this cycle: whether a word is taken, and put.
    *("took", "put"),
)
PROCESS = record(
    "kind",
    # Moves: segments, and where it is in them. Others: queues from which it takes; an element's
    # number.
    *("first", "count", "at", "left"),
    # Others: queues to which it puts.
    *("puts", "put_count"),
)
SEGMENT = record("words", "take", "take_when", "put", "put_when")
ELEMENTS = record(
    # Operations of all its sums, the first of them that complete some, and where it is.
    *("period", "completes", "at"),
    # Cycles from an operation to its sum; sums; whether operations wait for those before; which of
    # the last ones completed a sum, and which there were; of these how many, of the others those
    # whose results have not left.
    *("latency", "sums", "waits", "completing", "begun", "under", "owed"),
    # Set if results leave while the next sums are computed; else set while complete ones leave.
    *("overlaps", "drains"),
    # The queue of results, and the one at its output; of its ports the last ones that are for
    # operations that begin a sum.
    *("results", "output", "start_takes", "start_puts"),
)
IMAGE = record(
    # The walk: loops, whether addresses are left, the beat at hand.
    *("loops", "running", "place"),
    # Beats and words of a run, bytes of a word; how often each is sent, and which time it is.
    *("beats", "run", "word", "repeats", "number"),
    # Runs that were requested and are not over, and how many may be.
    *("under", "most"),
    # The queue on its array's side.
    "queue",
    # A loader's gearbox: bytes, words of the run that are left, the word at its output.
    *("level", "left", "valid", "last"),
    # An unloader's packer, beside its bytes: words of the run that came, whether all did.
    *("words", "complete"),
)
MACHINE = record("busy", "first", "latest")


class Array(NamedTuple):
    """Everything.

    ``m`` [0]; ``queues``; ``processes``, so that what takes from a queue stands before what puts
    there; ``offers``: those that pass words on without a register, the other way; ``segments``;
    ``ports``: queues, by the number that processes have; ``elements``; ``images``: of the loaders,
    then of the unloader; ``trips``, ``strides``, ``numbers``, ``begins`` [image, loop]: of a walk,
    in beats, outermost loop first.
    """

    m: Any
    queues: Any
    processes: Any
    offers: Any
    segments: Any
    ports: Any
    elements: Any
    images: Any
    trips: Any
    strides: Any
    numbers: Any
    begins: Any
    b: Managers
