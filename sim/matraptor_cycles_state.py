"""State of the cycle model, as arrays that compiled code works on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..hw.spec.matraptor import MatRaptorConfig
from .dram import MemoryModel
from .matraptor_cycles_plan import Plan

__all__ = ["Latency", "Shape", "State", "begin", "latency", "shape", "state"]

_UNITS = 4


class Shape(NamedTuple):
    """A :class:`MatRaptorConfig` in numbers for compiled code."""

    lanes: int
    channels: int
    channel_lanes: int
    queues: int
    queue_depth: int
    outstanding: int
    slots: int
    burst_beats: int
    beat_bytes: int
    beat_entries: int
    block_entries: int
    block_pairs: int
    interleave: int
    entry_bytes: int
    flat: int
    flat_latency: int
    access_bytes: int
    page_bytes: int
    read_queue: int
    write_queue: int


class Latency(NamedTuple):
    """Cycles through the parts of a lane, and how much fits between them.

    ``walk``, ``lookup``, ``beats``: to a lane's port from a block of A, an entry of A, the pair of
    a row of B; ``bus``: from there
    to the memory; ``answer``: from the memory's beat to the reader's output; ``left``,
    ``product``: from a loader's unpacker to the next unit;
    ``append``, ``sum``: from an entry that is appended, that is merged, to the output of its queue;
    ``result``: from phase II to the writer; ``write``: from a complete
    run to the bus; ``start``, ``finish``: of the job. ``*_depth``: of the queues between units.
    """

    walk: int
    lookup: int
    beats: int
    bus: int
    answer: int
    left: int
    product: int
    append: int
    sum: int
    result: int
    write: int
    start: int
    finish: int
    rows_depth: int
    left_depth: int
    context_depth: int
    product_depth: int
    result_depth: int
    write_beats: int


_LANE = np.dtype(
    [
        (name, np.int64)
        for name in (
            # The loader of A: rows and blocks of pairs asked for, pairs taken, rows and blocks of
            # entries asked for, rows and tokens that have left.
            *("row_block", "block", "row_paired", "row", "row_left", "row_unpacked", "token_a"),
            # The loader of B: tokens looked up, rows asked for and beats of the last, tokens,
            # entries and beats that have left.
            *("token_lookup", "token_row", "beat_next", "beat_end"),
            *("token_out", "entry_out", "row_beats", "products_in", "products_out"),
            # The processing element.
            *("token_pe", "entry_pe", "mode", "target", "helper", "partials", "merge_set"),
            *("merge_row", "out_set", "results_in", "results_out"),
            # The writer.
            *("write_row", "write_beats", "ended", "last_response", "finished"),
            # Arbiters: whose turn it was; what is offered to the lane.
            *("mux", "port_count", "beat_mux", "offer", "offered"),
            # What is counted.
            *("products", "merge_steps", "results", "conflicts"),
        )
    ]
)
_READER = np.dtype(
    [
        (name, np.int64)
        for name in (*("issued", "head", "taken", "popped", "bytes", "first", "waiting", "sent"),)
    ]
)
_CHANNEL = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("ar_mux", "offer", "offers", "head", "count", "sent", "end"),
            *("write_head", "write_count", "write_left"),
        )
    ]
)


class State(NamedTuple):
    """Everything that changes.

    ``lanes``, ``readers`` [lane, unit], ``channels``: counters. ``slot_beats``, ``slot_arrived``
    [lane, unit, slot], ``beat_time`` [lane, unit, place]: readers' slots. ``asked`` [lane, unit,
    place], ``port`` [lane, place] -> (channel, address, beats, tag, since): requests on their
    way. ``answers`` [channel, place] -> (ready, tag, beats). ``writes`` [channel, place] -> (lane,
    address, beats, ready). ``*_time`` [lane, place]: when tokens become visible. ``queue_*`` [lane,
    set, queue]: columns, first, end, when it was written last (by partial row), when its latest
    entries can be read; ``set_*`` [lane, set]: being emptied, from when, entries. ``run_*`` [lane,
    kind, slot]: runs of beats being packed. ``pointer`` [lane, slot].
    """

    lanes: Any
    readers: Any
    channels: Any
    slot_beats: Any
    slot_arrived: Any
    beat_time: Any
    asked: Any
    port: Any
    answers: Any
    writes: Any
    paired_time: Any
    row_time: Any
    asked_time: Any
    spans_time: Any
    left_time: Any
    product_time: Any
    result_time: Any
    queue_column: Any
    queue_first: Any
    queue_end: Any
    queue_written: Any
    queue_time: Any
    set_full: Any
    set_since: Any
    set_left: Any
    run_open: Any
    run_beats: Any
    run_filled: Any
    run_address: Any
    pointer: Any


RECENT = 32
"""Writes of a queue whose times are kept: more than an entry's way into it takes."""
ASKED = 8
"""Requests between a loader and the port of its lane, for each reader."""
RING = 64
"""Places in rings of times: more than tokens between two units."""
LONG_RING = 512
"""And in those of queues as deep as a reader has slots."""


def shape(config: MatRaptorConfig, memory: MemoryModel) -> Shape:
    layout = config.layout
    return Shape(
        lanes=config.lanes,
        channels=config.channels,
        channel_lanes=config.channel_lanes,
        queues=config.queues,
        queue_depth=config.queue_depth,
        outstanding=config.outstanding,
        slots=config.outstanding + ASKED,
        burst_beats=config.burst_beats,
        beat_bytes=config.beat_bytes,
        beat_entries=config.beat_entries,
        block_entries=layout.block_entries,
        block_pairs=layout.block_pairs,
        interleave=layout.interleave,
        entry_bytes=layout.entry_bytes,
        flat=int(memory.flat),
        flat_latency=memory.latency,
        access_bytes=memory.access_bytes,
        page_bytes=memory.page_bytes,
        read_queue=memory.read_queue,
        write_queue=memory.write_queue,
    )


def latency(config: MatRaptorConfig) -> Latency:
    """Of the hardware in ``hw/matraptor``."""
    levels = (config.queues - 1).bit_length()
    divided = 0 if config.channels & (config.channels - 1) == 0 else 3
    return Latency(
        walk=4,
        lookup=divided + 4,
        beats=5,
        bus=1,
        answer=3,
        left=1,
        product=config.multiplier_stages + 2,
        append=2,
        sum=config.adder_stages + 2,
        result=levels * config.adder_stages,
        write=8,
        start=2,
        finish=4,
        rows_depth=config.outstanding + 1,
        left_depth=1,
        context_depth=config.outstanding + 5,
        product_depth=config.multiplier_stages + 3,
        result_depth=levels * config.adder_stages,
        write_beats=4 * config.burst_beats * config.lane_channels,
    )


def state(config: MatRaptorConfig) -> State:
    """Of a machine after reset."""
    lanes, channels, slots = config.lanes, config.channels, config.outstanding + ASKED
    bursts = lanes * _UNITS * slots
    runs = (lanes, 2, config.lane_channels)
    sets = (lanes, 2)
    queues = (*sets, config.queues)

    def zeros(*size: int) -> Any:
        return np.zeros(size, np.int64)

    return State(
        lanes=np.zeros(lanes, _LANE),
        readers=np.zeros((lanes, _UNITS), _READER),
        channels=np.zeros(channels, _CHANNEL),
        slot_beats=zeros(lanes, _UNITS, slots),
        slot_arrived=zeros(lanes, _UNITS, slots),
        beat_time=zeros(lanes, _UNITS, slots * config.burst_beats),
        asked=zeros(lanes, _UNITS, ASKED, 5),
        port=zeros(lanes, 2, 5),
        answers=zeros(channels, bursts + 1, 3),
        writes=zeros(channels, lanes * (4 * config.burst_beats + 4) * config.lane_channels, 4),
        paired_time=zeros(lanes, RING),
        row_time=zeros(lanes, LONG_RING),
        asked_time=zeros(lanes, LONG_RING),
        spans_time=zeros(lanes, LONG_RING),
        left_time=zeros(lanes, RING),
        product_time=zeros(lanes, RING),
        result_time=zeros(lanes, RING),
        queue_column=np.zeros((*queues, config.queue_depth), np.int32),
        queue_first=zeros(*queues),
        queue_end=zeros(*queues),
        queue_written=zeros(*queues),
        queue_time=zeros(*queues, RECENT),
        set_full=zeros(*sets),
        set_since=zeros(*sets),
        set_left=zeros(*sets),
        run_open=zeros(*runs),
        run_beats=zeros(*runs),
        run_filled=zeros(*runs),
        run_address=zeros(*runs),
        pointer=zeros(lanes, config.lane_channels),
    )


def begin(machine: State, work: Plan) -> None:
    """Put each lane at the beginning of its sequences."""
    lanes = machine.lanes
    for names, first in (
        (("block",), work.block_start),
        (
            ("row", "row_block", "row_paired", "row_unpacked", "merge_row", "write_row"),
            work.row_start,
        ),
        (
            ("token_a", "token_lookup", "token_row", "token_out", "token_pe"),
            work.token_start,
        ),
    ):
        for name in names:
            lanes[name] = first[:-1]
    lanes["helper"] = machine.queue_column.shape[2] - 1
