"""State of the cycle model of managers, as arrays that compiled code works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..dram import Channels, MemoryModel, Timing, channels, timing
from ..parts import QUEUE, SKID, SPLITTER, fields

RING = 256
"""Places of a ring: more than bursts that are under way at a manager."""

_DEEP = 16
"""Least depth of a writer's address queue that is a memory."""


@dataclass(frozen=True, kw_only=True)
class Reader:
    """A ``BurstReader`` of the hardware.

    Parameters
    ----------
    burst, buffer: beats of its longest burst, of its buffer
    outstanding: bursts that may be under way
    manager: that it is on
    """

    burst: int
    buffer: int
    outstanding: int
    manager: int = 0


@dataclass(frozen=True, kw_only=True)
class Writer:
    """A ``BurstWriter`` of the hardware, on the last manager.

    Parameters
    ----------
    burst, buffer, outstanding: as of a reader
    registers: that a beat passes from the writer to the manager
    """

    burst: int
    buffer: int
    outstanding: int
    registers: int = 0


class Shape(NamedTuple):
    """The constants of a simulation, in numbers for compiled code.

    ``readers``, ``managers``: how many; ``loads``: of the first managers, which have readers;
    ``stores``: the writer's manager; ``beat``: bytes; of the writer ``burst``, ``buffer``: beats;
    ``addresses``, ``deep``: its queue of addresses, whether it is a memory; ``registers``: to the
    manager.
    """

    readers: int
    managers: int
    loads: int
    stores: int
    beat: int
    burst: int
    buffer: int
    addresses: int
    deep: int
    registers: int
    flat: int
    latency: int
    access_bytes: int
    page_bytes: int
    read_queue: int
    write_queue: int


_READER = np.dtype(
    [
        *fields("burst", "buffer", "outstanding"),
        # The splitter, the burst on its way to the arbiter.
        ("request", SPLITTER),
        *fields("issued", "issued_place", "issued_beats"),
        # Bursts under way, beats of the buffer that are promised; the buffer.
        *fields("under", "reserved"),
        ("beats", QUEUE),
        # Events of this cycle: the request, and whether it is accepted; whether the beat at the
        # output is taken; the arbiter's answer; whether a beat comes, and the last one of its
        # burst.
        *fields("asks", "ask_place", "ask_beats", "accepts", "takes"),
        *fields("granted", "comes", "comes_last"),
        # Bursts that a DRAM has taken, and that it has sent.
        *fields("bursts", "whole"),
    ]
)
_MANAGER = np.dtype(
    [
        # The arbiter: the input served last, its registers: reader, place and beats of a burst.
        *fields("served"),
        ("requests", SKID),
        # Bursts that the memory sends, by count; beats of the first one that were sent.
        *fields("sends_in", "sends_out", "sending"),
    ]
)
_WRITER = np.dtype(
    [
        # Events of this cycle: the request, and whether it is accepted; whether a beat is offered,
        # and whether one would be taken.
        *fields("asks", "ask_place", "ask_beats", "accepts", "beat", "takes"),
        # The splitter; the burst at `aw`; the buffer.
        ("request", SPLITTER),
        *fields("aw", "aw_place", "aw_beats"),
        ("beats", QUEUE),
        # Addresses that wait for a response: without a memory the level alone counts.
        ("addresses", QUEUE),
        # Beats without a burst; bursts at `aw` taken, whose data are sent; beats sent of the first;
        # the beat at `w`.
        *fields("stored", "lengths_in", "lengths_out", "sent", "w", "w_last"),
        # Bursts whose data have come to the memory, that it has taken; responses.
        *fields("arrived", "written", "answers_in", "answers_out"),
    ]
)


class Managers(NamedTuple):
    """Everything.

    ``readers``; ``managers``; ``members`` [manager, input] -> reader; ``inputs`` [manager];
    ``writer`` [0]; ``sends`` [manager, n] -> (reader, beats, cycle); ``asked`` [reader, n] ->
    (beats, parts that a DRAM has not served); ``lengths`` [n] -> (place, beats); ``answers`` [n]:
    cycle.
    """

    c: Shape
    readers: Any
    managers: Any
    members: Any
    inputs: Any
    writer: Any
    sends: Any
    asked: Any
    lengths: Any
    answers: Any
    dram: Channels
    times: Timing


def managers(
    readers: Sequence[Reader],
    writer: Writer,
    count: int,
    *,
    beat: int,
    memory: MemoryModel,
    gigahertz: float,
    turns: tuple[int, ...] = (),
) -> Managers:
    """Managers behind a reset, or at the end of a job.

    Parameters
    ----------
    readers: in the order in which those of a manager are served
    count: of managers
    beat: bytes of a beat
    memory: behind each manager
    gigahertz: clock of the accelerator
    turns: by manager, the input that was served last; 0 behind a reset
    """
    deep = writer.outstanding >= _DEEP
    c = Shape(
        readers=len(readers),
        managers=count,
        loads=1 + max(one.manager for one in readers),
        stores=count - 1,
        beat=beat,
        burst=writer.burst,
        buffer=writer.buffer,
        addresses=writer.outstanding - deep,
        deep=int(deep),
        registers=writer.registers,
        flat=int(memory.flat),
        latency=memory.latency,
        access_bytes=memory.access_bytes,
        page_bytes=memory.page_bytes,
        read_queue=memory.read_queue,
        write_queue=memory.write_queue,
    )
    its = [[n for n, one in enumerate(readers) if one.manager == at] for at in range(count)]
    members = np.zeros((count, max(1, *map(len, its))), np.int64)
    for number, inputs in enumerate(its):
        members[number, : len(inputs)] = inputs
    of_readers = np.zeros(len(readers), _READER)
    for name in ("burst", "buffer", "outstanding"):
        of_readers[name] = [getattr(one, name) for one in readers]
    of_managers, of_writer = np.zeros(count, _MANAGER), np.zeros(1, _WRITER)
    of_writer["takes"] = 1
    if turns:
        of_managers["served"] = turns
    return Managers(
        c=c,
        readers=of_readers,
        managers=of_managers,
        members=members,
        inputs=np.array([len(inputs) for inputs in its], np.int64),
        writer=of_writer,
        sends=np.zeros((count, RING, 3), np.int64),
        asked=np.zeros((len(readers), RING, 2), np.int64),
        lengths=np.zeros((RING, 2), np.int64),
        answers=np.zeros(RING, np.int64),
        dram=channels(memory, count),
        times=timing(memory, gigahertz),
    )
