"""Cycle model of striped memory: what a channel's memory does with bursts.

A flat memory sends a burst's first beat ``latency`` cycles after its address was taken, a beat a
cycle, in order; and its response to a write so many cycles after the last beat. A DRAM's reads come
in the order in which its controller serves them; writes are answered as by the flat memory, when
they are in its queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ....hw.spec.channels import ChannelGeometry
from ..compiled import inlined
from ..dram import FLAT, Channels, MemoryModel, Timing, channels, push, serve, timing
from ..parts import SKID, fields, record

BEHIND = 8
"""Requests that a channel of a reader may be behind another one."""

NEVER = 1 << 62
"""A cycle that does not come."""

DIVISION = 3
"""Registers through the division by a number of channels that is no power of two."""

_BUFFER_BLOCKS = 4
_DEEP = 16
"""Sizes of the hardware's writers: blocks of a buffer, and the least depth of an address queue that
is a memory."""


@dataclass(frozen=True, kw_only=True)
class Reader:
    """A ``StripedReader`` of the hardware: its parameters."""

    line_blocks: int
    outstanding: int
    requests: int = 64


@dataclass(frozen=True, kw_only=True)
class Writer:
    """A ``StripedWriter`` of the hardware: its parameters."""

    line_blocks: int
    outstanding: int
    requests: int = 1
    blocks: int = 1


class Shape(NamedTuple):
    """The constants of a simulation, in numbers for compiled code.

    ``stages``: registers from a request to the fork, of which three divide by a number of channels
    that is no power of two. ``buffer``, ``addresses``: depths of queues of a channel's writer;
    ``deep``: the latter is a memory. ``shared``: readers share a channel by an interconnect, whose
    inputs are ``groups`` of them. ``requests``: that wait in the writer for their channel;
    ``skids``: two blocks wait before each.
    """

    readers: int
    groups: int
    channels: int
    stages: int
    shared: int
    block_shift: int
    interleave: int
    block_beats: int
    beat_shift: int
    line_blocks: int
    requests: int
    skids: int
    buffer: int
    addresses: int
    deep: int
    flat: int
    latency: int
    access_bytes: int
    page_bytes: int
    read_queue: int
    write_queue: int


_READER = record(
    *("line_blocks", "outstanding", "requests"),
    # Events of this cycle: whether a request would be taken, and the one that is; a line is taken.
    *("accepts", "asked", "block", "blocks", "channel", "takes"),
    # Requests inside, those that are at their output and in the queue before it, its output.
    *("pending", "line", "last", "waits", "waiting", "waiting_out"),
    *("within", "next_left", "next_channel"),
    # Masks of channels: those whose queue is full (bit `channels`: that of the lines), those that
    # have received the run at the fork.
    *("full", "forked"),
    # Beats that came.
    "beats",
)
_UNIT = record(
    # Runs: at the output of the queue, in it; what is left of the one that is asked for.
    *("waits", "waiting", "waiting_out", "within", "next_block", "next_blocks"),
    # Slots in use, the next one, the one that is read next; whether a block is at the output.
    *("used", "slot", "read_slot", "valid"),
    # The request at `ar`.
    *("asks", "ask_block", "ask_slot"),
    "beats",
)
_CHANNEL = np.dtype(
    [
        # Requests of all readers at `ar`, and in the interconnect's registers: reader, block, slot.
        *fields("asking", "turn"),
        ("requests", SKID),
        # When `r` is free; what the memory has moved, in bytes.
        *fields("free_at", "read", "written"),
    ]
)
_JOINT = np.dtype([*fields("turn"), ("requests", SKID)])
"""A group's interconnect before a channel's: as there."""
_WRITER = record(
    # Events of this cycle: whether a line would be taken, whether one is; the extent that is.
    *("accepts", "puts", "asked", "ask_block", "ask_left"),
    # The extent at hand; how many are being divided.
    *("active", "channel", "block", "left", "inside"),
    # Channels that have something inside; bytes of lines.
    *("busy", "bytes"),
)
_STORE = np.dtype(
    [
        # A block and the one behind it: number and beats; what of it was taken.
        ("blocks", SKID),
        *fields("index", "asked", "sent"),
        # The splitter's request and its burst, the burst at `aw`.
        *fields("request", "request_beats", "request_block"),
        *fields("burst", "burst_beats", "burst_block", "aw", "aw_beats", "aw_block"),
        # Beats without a burst, in the buffer, at its output; addresses in their queue and at its
        # output.
        *fields("stored", "buffered", "beat", "addresses", "address"),
        # Bursts whose data are being sent, the beat of the first one, and the beat at `w`.
        *fields("lengths_in", "lengths_out", "sending"),
        *fields("w", "w_last", "w_first", "w_beats", "w_block"),
        # Responses to come.
        *fields("answers_in", "answers_out"),
    ]
)


class Bus(NamedTuple):
    """Everything: what does not change is in ``c``, and the fields of sizes.

    ``readers``; ``units`` [reader, channel]; ``channels``; ``located`` [reader, stage] -> (valid,
    block, blocks, channel), the last one a spare; ``lines`` [reader, place] -> (blocks, channel):
    runs whose lines are to be put together; ``shares`` [reader, channel, place] -> (block, blocks);
    ``whole`` [reader, channel, slot]: from which cycle on the block is there. ``members`` [group]
    -> (first reader, readers); ``joints`` [group, channel]. ``writer`` [0]; ``divided`` [stage] ->
    (valid, block, left): extents whose block is divided by the channels; ``stores`` [channel];
    ``lengths`` [channel, place] -> (beats, block); ``answers`` [channel, place]: cycle.
    """

    c: Shape
    readers: Any
    units: Any
    channels: Any
    located: Any
    lines: Any
    shares: Any
    whole: Any
    members: Any
    joints: Any
    writer: Any
    divided: Any
    stores: Any
    lengths: Any
    answers: Any
    dram: Channels
    times: Timing


def _shape(
    geometry: ChannelGeometry, groups: Sequence[int], writer: Writer, memory: MemoryModel,
    shared: bool,
) -> Shape:  # fmt: skip
    deep = writer.outstanding >= _DEEP
    odd = geometry.channels & (geometry.channels - 1) != 0
    return Shape(
        readers=sum(groups),
        groups=len(groups),
        channels=geometry.channels,
        stages=DIVISION + 1 if odd else 1,
        shared=int(shared),
        block_shift=geometry.block_shift,
        interleave=geometry.interleave,
        block_beats=geometry.block_beats,
        beat_shift=geometry.beat_shift,
        line_blocks=writer.line_blocks,
        requests=writer.requests,
        skids=int(writer.blocks == 2),
        buffer=_BUFFER_BLOCKS * geometry.block_beats,
        addresses=writer.outstanding - deep,
        deep=int(deep),
        flat=int(memory.flat),
        latency=memory.latency,
        access_bytes=memory.access_bytes,
        page_bytes=memory.page_bytes,
        read_queue=memory.read_queue,
        write_queue=memory.write_queue,
    )


def bus(
    geometry: ChannelGeometry,
    *,
    readers: Sequence[Reader],
    writer: Writer | None = None,
    memory: MemoryModel = FLAT,
    gigahertz: float = 2.0,
    shared: bool = True,
    groups: Sequence[int] | None = None,
) -> Bus:
    """Readers and a writer of lines after reset, and the memory behind them.

    Parameters
    ----------
    geometry: of the memory's channels
    readers: in the order in which they have their turns
    writer: if there is one
    memory: each channel's
    gigahertz: clock of the accelerator
    shared: whether readers have an interconnect before each channel; without it there is one reader
    groups: how many readers, in their order, come to each of its inputs; several by an interconnect
        of their own. None: one to each

    Raises ValueError if a block does not fit a page, if several readers share nothing, or if groups
    are not of the readers.
    """
    groups = [1] * len(readers) if groups is None else groups
    if sum(groups) != len(readers):
        raise ValueError(f"`groups` must be of {len(readers)} readers, not {sum(groups)}")
    if not memory.flat and memory.page_bytes < geometry.interleave:
        raise ValueError(
            f"`page_bytes` must be at least `interleave`, {geometry.interleave}, "
            f"not {memory.page_bytes}"
        )
    if not shared and len(readers) != 1:
        raise ValueError(f"`readers` must be one if they are not `shared`, not {len(readers)}")
    count, ways = len(readers), geometry.channels
    slots = max(reader.outstanding for reader in readers)
    requests = max(reader.requests for reader in readers)
    store = writer or Writer(line_blocks=1, outstanding=1)
    # Places of a ring are told apart by the low bits of a count.
    bursts = 1 << store.outstanding.bit_length()

    def zeros(*size: int) -> Any:
        return np.zeros(size, np.int64)

    c = _shape(geometry, groups, store, memory, shared)
    records = np.zeros(count, _READER)
    for made, reader in zip(records, readers, strict=True):
        made["line_blocks"] = reader.line_blocks
        made["outstanding"] = reader.outstanding
        made["requests"] = reader.requests
        made["accepts"] = 1
    return Bus(
        c=c,
        readers=records,
        units=np.zeros((count, ways), _UNIT),
        channels=np.zeros(ways, _CHANNEL),
        located=zeros(count, c.stages + 1, 4),
        # One more is at the output of such a queue.
        lines=zeros(count, requests + 1, 2),
        shares=zeros(count, ways, BEHIND + 1, 2),
        whole=np.full((count, ways, slots), NEVER),
        members=np.array([[sum(groups[:n]), size] for n, size in enumerate(groups)], np.int64),
        joints=np.zeros((len(groups), ways), _JOINT),
        writer=np.zeros(1, _WRITER),
        divided=zeros(DIVISION, 3),
        stores=np.zeros(ways, _STORE),
        lengths=zeros(ways, bursts, 2),
        answers=zeros(ways, bursts),
        dram=channels(memory, ways),
        times=timing(memory, gigahertz),
    )


_SLOTS = 1 << 16
"""More than a reader has; a tag is a reader and a slot."""


@inlined
def _send(b: Bus, channel: int, reader: int, slot: int, soonest: int) -> None:
    """A block's beats at ``r``, one a cycle, the first not before ``soonest``."""
    record = b.channels[channel]
    end = max(soonest, record.free_at) + b.c.block_beats
    record.free_at = end
    b.whole[reader, channel, slot] = end


@inlined
def _page(b: Bus, block: int) -> int:
    """Returns the page in its channel of a block of flat memory."""
    return block // b.c.channels * b.c.interleave // b.c.page_bytes


@inlined
def _accesses(b: Bus, beats: int) -> int:
    """Returns the number of accesses that move so many beats from the start of a block."""
    return ((beats << b.c.beat_shift) - 1) // b.c.access_bytes + 1


@inlined
def free_for_read(b: Bus, channel: int) -> bool:
    """Returns whether the memory accepts an address."""
    return b.c.flat != 0 or b.dram.count[channel, 0] < b.c.read_queue


@inlined
def read(b: Bus, channel: int, reader: int, slot: int, block: int, now: int) -> None:
    """The memory takes the address of a block."""
    if b.c.flat:
        b.channels[channel].read += b.c.interleave
        _send(b, channel, reader, slot, now + b.c.latency)
    else:
        accesses = _accesses(b, b.c.block_beats)
        b.channels[channel].read += accesses * b.c.access_bytes
        push(b.dram, channel, 0, _page(b, block), accesses, reader * _SLOTS + slot)
    b.units[reader, channel].beats += b.c.block_beats
    b.readers[reader].beats += b.c.block_beats


@inlined
def free_for_data(b: Bus, channel: int) -> bool:
    """Returns whether the memory accepts the first beat of a burst."""
    return b.c.flat != 0 or b.dram.count[channel, 1] < b.c.write_queue


@inlined
def write(b: Bus, channel: int, block: int, beats: int) -> None:
    """The memory has all beats of a burst."""
    if b.c.flat:
        b.channels[channel].written += beats << b.c.beat_shift
    else:
        accesses = _accesses(b, beats)
        b.channels[channel].written += accesses * b.c.access_bytes
        push(b.dram, channel, 1, _page(b, block), accesses, 0)


@inlined
def serve_dram(b: Bus, channel: int, now: int) -> None:
    """The controller's next access, if it is time to decide on one."""
    if b.dram.count[channel, 0] + b.dram.count[channel, 1]:
        tag, wrote, ready = serve(b.times, b.dram, channel, float(now))
        if tag >= 0 and not wrote:
            soonest = int(ready + b.times.controller) + 1
            _send(b, channel, tag // _SLOTS, tag % _SLOTS, soonest)
