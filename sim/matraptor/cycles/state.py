"""State of the cycle model, as arrays that compiled code works on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ....hw.spec.c2sr import COLUMN_BYTES, POINTER_BYTES
from ....hw.spec.matraptor import MatRaptorConfig
from ...timing.dram import MemoryModel
from .cache_contents import Contents, cache_arrays, contents
from .plan import Plan
from .reasons import REASONS

UNITS = 5
"""Readers of a lane, that of values in CSR included."""
SLOT, TAG = 512, 512
"""More than slots of a reader, than beats of a burst: tags hold lane, reader, slot and beats."""


def _fields(*names: str) -> Any:
    return np.dtype([(name, np.int64) for name in names])


class Shape(NamedTuple):
    """A configuration in numbers for compiled code; ``ranged``: its job has a range of columns;
    ``a_csr``, ``b_csr``: its A, its B is in CSR; ``*_apart``:
    with columns and values apart; ``ports``: of the crossbar; ``flat_stages``:
    registers that find the channel of a span."""

    lanes: int
    channels: int
    channel_lanes: int
    queues: int
    queue_depth: int
    queue_sets: int
    row_queue: int
    beat_queue: int
    outstanding: int
    a_bursts: int
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
    cache_sets: int
    cache_skipped: int
    cache_waiting: int
    fill_tag: int
    tag_step: int
    ranged: int
    ports: int
    a_csr: int
    b_csr: int
    a_apart: int
    b_apart: int
    block_columns: int
    block_values: int
    block_pointers: int
    beat_pointers: int
    flat_stages: int


class Latency(NamedTuple):
    """Cycles through the parts of a lane, and how much fits between them.

    ``place``: through the division by the number of channels, 0 if it is none; ``multiply``,
    ``result``: through the multiplier and the tree of adders, which stand still as a whole;
    ``append``, ``sum``: from an entry that is appended, that is merged, to the output of its queue;
    ``start``, ``finish``: of the job. ``*_depth``: of the queues between units, ``buffer_depth``
    and ``writes`` those of a burst writer, in beats and in bursts that wait for their response.
    """

    place: int
    multiply: int
    append: int
    sum: int
    result: int
    start: int
    finish: int
    rows_depth: int
    context_depth: int
    buffer_depth: int
    writes: int
    stream_depth: int
    stream_rows_depth: int


_LANE = _fields(
    # The loader of A: rows and blocks of pairs asked for, pairs taken, rows whose blocks of entries
    # are asked for, rows (and when last) and tokens that have left.
    *("row_block", "block", "row_paired", "row", "row_unpacked", "row_left_at", "token_a"),
    # The loader of B: tokens into the division, asked for (and when the last one went on), the
    # one whose pair is there; rows of B asked for, and done (and when last); rows with their pair.
    *("token_placed", "token_lookup", "token_row", "row_taken_at", "described"),
    *("kept_in", "kept_out", "kept_out_at", "entry_out"),
    # Before and behind the comparison with the range of columns.
    *("kept_came", "kept_waits", "kept_present"),
    # In CSR: when the last token went on, whether the first of two beats of pointers is taken.
    *("token_taken_at", "half"),
    # Products into the register before the multiplier, the multiplier, the one behind it, and out;
    # the multiplier's steps.
    *("products_in", "multiplied", "products_made", "products_out", "multiplier"),
    # The processing element; results into the adders, out of them, and to the writer, and the
    # adders' steps.
    *("token_pe", "entry_pe", "mode", "target", "helper", "partials", "merge_set"),
    # Rows that have ended in phase I, and in phase II.
    *("rows_in", "rows_out"),
    *("merge_row", "out_set", "results_in", "results_made", "results_out", "adders"),
    # The writer: what is on its way to the packers (two kinds), and in their registers.
    *("write_row", "packed", "ended_at", "finished"),
    # Readers that have a request for the port; the port; whose turn it was, at both ends.
    *("asking", "mux", "port_count", "beat_mux", "offer", "offered"),
    # Counters.
    *("products", "merge_steps", "results", "conflicts"),
    # Reasons of its cycles: products it is to take, why phase I took none when it last did not,
    # whether phase II has a result that is not taken, when a read of it was last taken.
    *("due", "held_by", "stuck", "granted_at"),
)
_READER = _fields(
    # Bursts issued and taken, beats of the first one that are taken, all beats taken, bytes.
    # The slot of that one, and when its next beat is at the output.
    *("issued", "head", "taken", "popped", "bytes", "slot", "next_at"),
    # Spans that came and went on; what is left of the one that is cut into bursts; whether a burst
    # of it waits in the skid buffer, with its channel, beat and beats; a request.
    *("span_in", "span_out", "channel", "beat", "left"),
    *("skid_channel", "skid_beat", "skid_beats", "request"),
)
_CHANNEL = _fields(
    *("ar_mux", "offer", "offers", "granted_at", "head", "count", "sent"),
    # Bytes that the memory has moved, in whole accesses.
    *("read", "written"),
    # Bursts: asked for, in the order of their data, waiting for the response; beats left.
    *("writing", "aw_mux", "turn_in", "turn_out", "turn_left", "answer_in", "answer_out"),
)
_WRITER = _fields(
    # The packer: its run, whether a beat is begun; its registers.
    *("open", "beats", "filled", "address", "beat_ready", "run_ready", "run_address", "run_beats"),
    # The burst writer: runs that came and went on, the burst at its port.
    *("run_in", "run_out", "burst", "burst_address", "burst_beats"),
    # Beats that came, that are issued, that have left the buffer (and when last); those whose
    # burst's turn is fixed, and whether one is being sent; responses to come.
    *("stored", "issued", "loaded", "loaded_at", "granted", "grant_at", "sending", "owed"),
)


class State(NamedTuple):
    """Everything that changes.

    ``lanes``, ``readers`` [lane, unit], ``channels``, ``writers`` [lane, kind, slot]: counters.
    ``spans`` [lane, unit, place] -> (channel, beat, beats, since), ``requests`` [lane, unit] and
    ``port`` [lane, place] -> (channel, address, beats, tag, since): requests on their way.
    ``slot_beats``, ``slot_arrived`` [lane, unit, slot], ``beat_time`` [lane, unit, place]: readers'
    slots. ``answers`` [channel, place] -> (ready, tag, beats); ``beats`` [channel, lane, place] ->
    (since, tag) behind them, ``beats_in``, ``beats_out``: how many. ``row_since``, ``row_filled``
    [lane, place]: rows that wait for phase II, and whether they have a set. ``*_time``: when
    tokens become visible; ``kept`` [lane, place]: tokens with a row of B, or at a row's end;
    ``product_step``, ``result_step``: when they came, in steps of the pipeline, and what they are.
    ``queue_*`` [lane, set, queue]: columns, first, end, when it was written last (by partial row),
    when its latest entries can be read; ``set_*`` [lane, set]: being emptied, from when, entries.
    ``words`` [lane, kind, place] -> (since, slot, address, what it ends) and ``word_*`` [lane,
    kind]: on their way to the packers. ``runs`` [lane, kind, slot, place] -> (since, address,
    beats); ``turns``, ``write_answers`` [channel, place] -> (since, lane, kind, slot, ...).
    ``pointer`` [lane, slot]. ``spent`` [lane, reason]: cycles. ``requests_made``: how many have
    reached memory, and ``request_log`` [number] -> (cycle, channel, address, bytes, write), as many
    as fit. The others: see `cache_arrays`.
    """

    lanes: Any
    readers: Any
    channels: Any
    writers: Any
    spans: Any
    requests: Any
    port: Any
    slot_beats: Any
    slot_arrived: Any
    beat_time: Any
    answers: Any
    beats: Any
    beats_in: Any
    beats_out: Any
    paired_time: Any
    row_time: Any
    left_time: Any
    dealt_time: Any
    placed_time: Any
    asked_time: Any
    kept: Any
    kept_time: Any
    product_step: Any
    result_step: Any
    queue_column: Any
    queue_first: Any
    queue_end: Any
    queue_written: Any
    queue_time: Any
    row_since: Any
    row_filled: Any
    set_full: Any
    set_since: Any
    set_left: Any
    words: Any
    word_in: Any
    word_out: Any
    runs: Any
    turns: Any
    write_answers: Any
    pointer: Any
    spent: Any
    requests_made: Any
    request_log: Any
    caches: Any
    cache_port: Any
    cache_bus: Any
    cache_entries: Any
    cache_misses: Any
    cache_arrived: Any
    cache_times: Any
    cache_window: Any
    kept_block: Any
    kept_way: Any
    kept_phase: Any
    kept_done: Any


NEVER = 1 << 62
RECENT = 32
"""Writes of a queue whose times are kept: more than an entry's way into it takes."""
RING = 64
"""Places in rings of times: more than tokens between two units."""
_STAGES = RING - 4
LONG_RING = 2048
"""And in those of queues as deep as the stream of A has rows, at most four times a reader's
slots."""
_AHEAD = 2
"""Rows that a queue holds besides those in its memory."""
SPANS = 2
"""Spans between a loader and the place where they are cut, runs between a packer and a burst."""
SPAN_RING = 8
"""More than those, and the registers that find the channels of spans."""
WORDS = 3
"""Words on their way to a packer: two in the placer, one in the skid buffer before it."""


def shape(config: MatRaptorConfig, memory: MemoryModel) -> Shape:
    layout = config.layout
    return Shape(
        lanes=config.lanes,
        channels=config.channels,
        channel_lanes=config.channel_lanes,
        queues=config.queues,
        queue_depth=config.queue_depth,
        queue_sets=config.queue_sets,
        row_queue=config.row_queue,
        beat_queue=config.beat_queue,
        outstanding=config.outstanding,
        a_bursts=config.a_bursts,
        # A beat of the last one may still wait at the reader's output.
        slots=(1 << config.slot_bits) + 1,
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
        cache_sets=config.cache_sets,
        cache_skipped=config.cache_skipped_bits,
        cache_waiting=config.cache_waiting,
        # Tags of blocks name the lane behind the last one.
        fill_tag=config.read_ports * UNITS * SLOT * TAG + config.burst_beats,
        tag_step=TAG,
        ranged=0,
        ports=config.read_ports,
        a_csr=0,
        b_csr=0,
        a_apart=0,
        b_apart=0,
        block_columns=config.interleave // COLUMN_BYTES,
        block_values=config.interleave * 8 // config.format.bits,
        block_pointers=config.interleave // POINTER_BYTES,
        beat_pointers=config.beat_bytes // POINTER_BYTES,
        flat_stages=3 if config.csr and config.channels & (config.channels - 1) else 0,
    )


def latency(config: MatRaptorConfig, chosen: Latency | None = None) -> Latency:
    """Returns the latencies of the hardware in ``hw/matraptor``, or those that are ``chosen``.

    Raises ValueError if these are too long for the model.
    """
    if chosen is not None:
        if max(chosen.multiply, chosen.result) > _STAGES:
            raise ValueError(f"pipelines must have at most {_STAGES} stages")
        return chosen
    levels = (config.queues - 1).bit_length()
    divided = 0 if config.channels & (config.channels - 1) == 0 else 3
    whole = config.lanes & (config.lanes - 1) == 0
    return Latency(
        place=divided,
        multiply=config.multiplier_stages,
        append=3,
        sum=config.adder_stages + 3,
        result=levels * config.adder_stages,
        start=2 if whole else 34,
        finish=1,
        rows_depth=config.a_bursts + _AHEAD,
        context_depth=config.outstanding + 4 + _AHEAD,
        buffer_depth=2 * config.burst_beats,
        writes=max(2, config.outstanding // config.channel_lanes),
        stream_depth=config.stream_queue + _AHEAD,
        stream_rows_depth=config.stream_rows + _AHEAD,
    )


def state(config: MatRaptorConfig, kept: Contents | None = None) -> State:
    """Returns the state of a machine after reset, but for what its cache has ``kept``."""
    lanes, channels, slots = config.lanes, config.channels, (1 << config.slot_bits) + 1
    ports = config.read_ports
    bursts = ports * UNITS * slots
    kinds = (lanes, 2)
    writers = (*kinds, config.lane_channels)
    waiting = 2 * config.channel_lanes * (config.outstanding + 2) + 2
    sets = (lanes, config.queue_sets)
    queues = (*sets, config.queues)

    def zeros(*size: int) -> Any:
        return np.zeros(size, np.int64)

    return State(
        lanes=np.zeros(ports, _LANE),
        readers=np.zeros((ports, UNITS), _READER),
        channels=np.zeros(channels, _CHANNEL),
        writers=np.zeros(writers, _WRITER),
        spans=zeros(ports, UNITS, SPAN_RING, 4),
        requests=zeros(ports, UNITS, 4),
        port=zeros(ports, 2, 5),
        slot_beats=zeros(ports, UNITS, slots),
        slot_arrived=zeros(ports, UNITS, slots),
        beat_time=zeros(ports, UNITS, slots * config.burst_beats),
        answers=zeros(channels, bursts + 1, 3),
        beats=zeros(channels, ports, config.beat_queue + 1, 2),
        beats_in=zeros(channels, ports),
        beats_out=zeros(channels, ports),
        paired_time=zeros(ports, RING),
        row_time=zeros(ports, LONG_RING),
        left_time=zeros(ports, RING),
        dealt_time=zeros(lanes, config.stream_queue + RING),
        placed_time=zeros(lanes, RING),
        asked_time=zeros(lanes, LONG_RING),
        kept=zeros(lanes, LONG_RING),
        kept_time=zeros(lanes, LONG_RING),
        product_step=zeros(lanes, RING),
        result_step=zeros(lanes, RING),
        queue_column=np.zeros((*queues, config.queue_depth), np.int32),
        queue_first=zeros(*queues),
        queue_end=zeros(*queues),
        queue_written=zeros(*queues),
        queue_time=zeros(*queues, RECENT),
        row_since=zeros(lanes, RING),
        row_filled=zeros(lanes, RING),
        set_full=zeros(*sets),
        set_since=zeros(*sets),
        set_left=zeros(*sets),
        words=zeros(*kinds, WORDS, 4),
        word_in=zeros(*kinds),
        word_out=zeros(*kinds),
        runs=zeros(*writers, SPANS, 3),
        turns=zeros(channels, waiting, 6),
        write_answers=zeros(channels, waiting, 4),
        pointer=zeros(lanes, config.lane_channels),
        spent=zeros(lanes, len(REASONS)),
        requests_made=zeros(1),
        request_log=zeros(0, 5),
        **cache_arrays(config, slots, kept or contents(config)),
    )


def begin(machine: State, work: Plan, products: Sequence[int]) -> None:
    """Put each lane at the beginning of its sequences; ``products``: that each is to take."""
    lanes = machine.lanes
    own = slice(len(products))
    lanes["due"][own] = products
    for names, first in (
        (("block",), work.block_start),
        (("row", "row_block", "row_paired", "row_unpacked", "merge_row"), work.row_start),
        (("token_a", "token_pe"), work.token_start),
        (("token_placed", "token_lookup", "token_row"), work.ask_start),
        (("write_row",), work.c_start),
    ):
        for name in names:
            lanes[name][own] = first[:-1]
    lanes["helper"] = machine.queue_column.shape[2] - 1
    for name in (
        "described",
        "row_left_at",
        "row_taken_at",
        "kept_out_at",
        "ended_at",
        "token_taken_at",
    ):
        lanes[name] = -1
    for takers in (lanes, machine.channels):
        takers["granted_at"] = -1
    machine.writers["loaded_at"] = -1
    machine.readers["next_at"] = NEVER
