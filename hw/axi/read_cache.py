"""A cache of memory that is only read, in front of one memory channel."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..stream.multiplex import RoundRobin
from ..stream.queue import DeepQueue, Queue
from ..stream.ring import NO_COLLISIONS, moved_count
from ..stream.stream_registers import SkidBuffer
from .cache_tags import CacheShape, CacheTags
from .layouts import address_layout, beat_layout, data_layout
from .ordered_reader import OrderedReader

__all__ = ["EVENTS", "CacheShape", "ReadCache"]

EVENTS = ("hit", "miss", "merged", "eviction")
"""What a lookup may be; an eviction is a miss, too."""

_MISSES = 4
"""Misses between the lookup and the reader of blocks."""
_SLVERR = 2


def entry_layout(shape: CacheShape, beat_bits: int, id_bits: int) -> data.StructLayout:
    """A read that waits for its block: its ``set`` and ``way``, whether the block is filled for it
    (``miss``) and in which ``phase``; the first ``beat``, the ``length`` (beats less one), the
    ``id``."""
    beats = max(1, beat_bits)
    return data.StructLayout(
        {
            "way": shape.way_bits,
            "set": shape.set_bits,
            "miss": 1,
            "phase": 1,
            "beat": beats,
            "length": beats,
            "id": id_bits,
        }
    )


class CacheBlocks(wiring.Component):
    """Keeps the data of blocks, fills them, and answers reads; all in the order of the reads.

    A fill is written while the reads before it, up to two, are answered, unless these are of the
    block that it replaces. If one of its beats has failed, all are marked so, in a second pass.

    Parameters
    ----------
    shape: see :class:`CacheShape`
    data_bits, id_bits: widths of the bus

    Members
    -------
    i: reads, see :func:`entry_layout`
    fills: the blocks of all misses
    o: the beats
    filled: out; valid: a fill is done; its ``set``, ``way`` and ``phase``
    empty: out; nothing is inside
    """

    def __init__(self, shape: CacheShape, *, data_bits: int, id_bits: int) -> None:
        self._shape, self._data_bits = shape, data_bits
        self._beats = shape.block_bytes * 8 // data_bits
        self._beat_bits = beat_bits = (self._beats - 1).bit_length()
        self._entry = entry_layout(shape, beat_bits, id_bits)
        line = {"set": shape.set_bits, "way": shape.way_bits}
        super().__init__(
            {
                "i": In(stream.Signature(self._entry)),
                "fills": In(stream.Signature(data_layout(data_bits, failed=True))),
                "o": Out(stream.Signature(beat_layout(data_bits, id_bits))),
                "filled": Out(data.StructLayout({"valid": 1, **line, "phase": 1})),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # A block that is written is not read: the fill waits for the reads before it.
        m.submodules.blocks = blocks = Memory(
            shape=self._data_bits + 1,
            depth=self._shape.sets * self._shape.ways * self._beats,
            init=[],
            attrs=NO_COLLISIONS,
        )
        m.submodules.window = window = SkidBuffer(self._entry)
        self._fill(m, blocks, window)
        self._answer(m, blocks, window)
        m.d.comb += self.empty.eq(~self.i.valid & ~window.o.valid & ~self.o.valid)
        return m

    def _address(self, entry: data.View, beat: Value) -> Value:
        return Cat(beat[: self._beat_bits], entry.way, entry.set)

    def _fill(self, m: Module, blocks: Memory, window: SkidBuffer) -> None:
        """Passes reads on to the window, a miss once its block is written."""
        entry, beat = self.i.payload, self.fills.payload
        line = Cat(entry.way, entry.set)
        write = blocks.write_port()
        index = Signal(max(1, self._beat_bits), name="filled_beat")
        failed = Signal()
        marks = Signal()
        last = Signal()
        fails = Signal()
        ends = Signal()
        steps = Signal()
        # The lines of the last two reads that went on, and how many of them are in the window.
        lines = [Signal(len(line), name=f"line_{age}", reset_less=True) for age in range(2)]
        held = Signal(range(3))
        blocked = Signal()
        passes = Signal()
        m.d.comb += [
            blocked.eq(((held != 0) & (lines[0] == line)) | (held[1] & (lines[1] == line))),
            last.eq(index == self._beats - 1),
            fails.eq(failed | (beat.failed & ~marks)),
            ends.eq(last & (marks | ~fails)),
            steps.eq(
                self.i.valid & entry.miss & ~blocked & (self.fills.valid | marks)
                & (window.i.ready | ~ends)
            ),
            self.fills.ready.eq(steps & ~marks),
            write.en.eq(steps),
            write.addr.eq(self._address(entry, index)),
            write.data.eq(Cat(beat.data, marks)),
            window.i.valid.eq(
                self.i.valid & (~entry.miss | (~blocked & (self.fills.valid | marks) & ends))
            ),
            window.i.payload.eq(entry),
            passes.eq(window.i.valid & window.i.ready),
            self.i.ready.eq(passes),
            self.filled.valid.eq(passes & entry.miss),
            self.filled.set.eq(entry.set),
            self.filled.way.eq(entry.way),
            self.filled.phase.eq(entry.phase),
        ]  # fmt: skip
        with m.If(steps):
            m.d.sync += [
                index.eq(Mux(last, 0, index + 1)),
                failed.eq(fails & ~ends),
                marks.eq(Mux(last, fails & ~ends, marks)),
            ]
        with m.If(passes):
            m.d.sync += [lines[0].eq(line), lines[1].eq(lines[0])]
        m.d.sync += held.eq(moved_count(held, passes, window.o.valid & window.o.ready))

    def _answer(self, m: Module, blocks: Memory, window: SkidBuffer) -> None:
        """Reads the beats of the first read of the window."""
        entry = window.o.payload
        read = blocks.read_port()
        index = Signal(max(1, self._beat_bits), name="answered_beats")
        valid = Signal()
        last = Signal(reset_less=True)
        id_ = Signal(len(entry.id), reset_less=True, name="id")
        ends = Signal(name="answer_ends")
        m.d.comb += [
            ends.eq(index == entry.length),
            read.en.eq(window.o.valid & (self.o.ready | ~valid)),
            read.addr.eq(self._address(entry, (entry.beat + index)[: len(index)])),
            window.o.ready.eq(read.en & ends),
            self.o.valid.eq(valid),
            self.o.payload.data.eq(read.data[: self._data_bits]),
            self.o.payload.response.eq(Mux(read.data[self._data_bits], _SLVERR, 0)),
            self.o.payload.last.eq(last),
            self.o.payload.id.eq(id_),
        ]
        with m.If(read.en):
            m.d.sync += [index.eq(Mux(ends, 0, index + 1)), last.eq(ends), id_.eq(entry.id)]
        m.d.sync += valid.eq(read.en | (valid & ~self.o.ready))


class ReadCache(wiring.Component):
    """Keeps blocks of memory on chip, for the reads whose ID has a certain bit set.

    A read is looked up, and waits in a queue. A miss reads its whole block from memory; up to
    ``outstanding`` are in flight. Blocks enter the memory of blocks in the order of the queue, and
    reads are answered in it. So a block never replaces another one that a read before it needs, and
    a read of a block in flight waits for it in the queue (its miss is merged). The least recently
    used block of a set is replaced. Other reads pass by, with their IDs; both take turns at ``r``.

    One read a cycle; a miss takes as many cycles as a block has beats. A hit takes five cycles from
    ``ar`` to ``r`` if nothing is before it. A read that passes by waits one cycle at ``bus_ar``.

    If a beat of a block comes with an error, every read of that block answers with an error in all
    its beats, until ``flush``.

    Parameters
    ----------
    shape: see :class:`CacheShape`
    addr_bits, data_bits, id_bits: widths of the bus
    cached_bit: bit of an ID that reads through the cache have set
    fill_id: ID of the first of ``outstanding`` reads of blocks, which has that bit set
    outstanding: blocks in flight, a power of two, at least 2
    waiting: reads that may wait for their block, at least 4

    Members
    -------
    ar, r: reads, none of which crosses a block's boundary if it is cached
    bus_ar, bus_r: the channel
    flush: in, a pulse; forgets all blocks, while no cached read is inside. Those that come wait for
        as many cycles as there are sets
    drop: in; valid: memory has been written at ``address``; its block is forgotten. Ignored while
        blocks are forgotten anyway
    idle: out; no cached read is inside
    forgets: out; blocks are being forgotten, by ``flush`` or a reset
    the members of ``EVENTS``: out, pulses: what the lookup of a read was
    """

    def __init__(
        self,
        shape: CacheShape,
        *,
        addr_bits: int,
        data_bits: int,
        id_bits: int,
        cached_bit: int,
        fill_id: int,
        outstanding: int,
        waiting: int,
    ) -> None:
        if not fill_id >> cached_bit & 1 or fill_id % outstanding:
            raise ValueError(f"`fill_id` must have bit {cached_bit} and be aligned, not {fill_id}")
        self._shape, self._cached_bit, self._fill_id = shape, cached_bit, fill_id
        self._addr_bits, self._data_bits, self._id_bits = addr_bits, data_bits, id_bits
        self._outstanding, self._waiting = outstanding, waiting
        self._beats = shape.block_bytes * 8 // data_bits
        self._beat_bits = (self._beats - 1).bit_length()
        self._block_bits = addr_bits - shape.block_shift
        request = stream.Signature(address_layout(addr_bits, id_bits))
        beat = stream.Signature(beat_layout(data_bits, id_bits))
        super().__init__(
            {
                "ar": In(request),
                "r": Out(beat),
                "bus_ar": Out(request),
                "bus_r": In(beat),
                "flush": In(1),
                "drop": In(data.StructLayout({"valid": 1, "address": addr_bits})),
                "idle": Out(1),
                "forgets": Out(1),
                **{name: Out(1) for name in EVENTS},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shape, request = self._shape, self.ar.payload
        m.submodules.tags = tags = CacheTags(shape, self._block_bits)
        m.submodules.misses = misses = Queue(self._block_bits, _MISSES)
        layout = entry_layout(shape, self._beat_bits, self._id_bits)
        m.submodules.entries = entries = DeepQueue(layout, self._waiting)
        m.submodules.blocks = blocks = CacheBlocks(
            shape, data_bits=self._data_bits, id_bits=self._id_bits
        )
        m.submodules.fills = fills = OrderedReader(
            addr_bits=self._addr_bits,
            data_bits=self._data_bits,
            channel_bits=0,
            outstanding=self._outstanding,
            burst_beats=self._beats,
            marks_failures=True,
        )
        wiring.connect(m, entries.o, blocks.i)
        wiring.connect(m, fills.o, blocks.fills)
        looks = Signal()
        free = Signal()
        first = request.address[(self._data_bits // 8).bit_length() - 1 : shape.block_shift]
        entry, found, block = entries.i.payload, tags.found, Signal(self._block_bits)
        beat, length = (Signal.like(entry.beat, name=name) for name in ("beat", "length"))
        id_ = Signal(self._id_bits, name="id")
        m.d.sync += [
            block.eq(tags.block),
            beat.eq(first),
            length.eq(request.length),
            id_.eq(request.id),
        ]
        m.d.comb += [
            tags.look.eq(looks),
            tags.block.eq(request.address[shape.block_shift :]),
            tags.flush.eq(self.flush),
            tags.drop.valid.eq(self.drop.valid),
            tags.drop.number.eq(self.drop.address[shape.block_shift :]),
            tags.filled.eq(blocks.filled),
            self.forgets.eq(tags.walking),
            entries.i.valid.eq(tags.valid),
            *(entry[name].eq(found[name]) for name in ("way", "set", "miss", "phase")),
            entry.beat.eq(beat),
            entry.length.eq(length),
            entry.id.eq(id_),
            misses.i.valid.eq(tags.valid & found.miss),
            misses.i.payload.eq(block),
            fills.request.valid.eq(misses.o.valid),
            misses.o.ready.eq(fills.request.ready),
            fills.request.payload.address.eq(Cat(Const(0, shape.block_shift), misses.o.payload)),
            fills.request.payload.length.eq(self._beats - 1),
            self.hit.eq(tags.valid & ~found.miss & ~found.pending),
            self.merged.eq(tags.valid & ~found.miss & found.pending),
            self.miss.eq(tags.valid & found.miss),
            self.eviction.eq(tags.valid & found.evicts),
        ]
        waiting = self._count(m, looks, free, tags, misses, entries)
        m.d.comb += self.idle.eq((waiting == 0) & blocks.empty & fills.idle)
        self._request(m, looks, free & tags.ready, fills)
        self._respond(m, fills, blocks)
        return m

    def _count(
        self,
        m: Module,
        looks: Value,
        free: Value,
        tags: CacheTags,
        misses: Queue,
        entries: DeepQueue,
    ) -> Value:
        """Whether another lookup is ``free`` to begin: what it may need is there, so that it never
        waits. Returns the number of reads whose block is not at hand."""
        reserved = Signal(range(_MISSES + 1))
        waiting = Signal(range(self._waiting + 1))
        hits = tags.valid & ~tags.found.miss
        asked = misses.o.valid & misses.o.ready
        m.d.sync += [
            reserved.eq(reserved + looks - hits - asked),
            waiting.eq(moved_count(waiting, looks, entries.o.valid & entries.o.ready)),
        ]
        m.d.comb += free.eq((reserved != _MISSES) & (waiting != self._waiting))
        return waiting

    def _request(self, m: Module, looks: Value, free: Value, fills: OrderedReader) -> None:
        """Reads to the lookup; others, in turn with the reads of blocks, to the bus."""
        layout = address_layout(self._addr_bits, self._id_bits)
        m.submodules.requests = requests = RoundRobin(layout, 2)
        passing, fill = requests.i
        cached = self.ar.payload.id[self._cached_bit]
        asked = fills.ar.payload
        high = Const(self._fill_id >> fills.slot_bits, self._id_bits - fills.slot_bits)
        m.d.comb += [
            looks.eq(self.ar.valid & cached & free),
            self.ar.ready.eq(Mux(cached, free, passing.ready)),
            passing.valid.eq(self.ar.valid & ~cached),
            passing.payload.eq(self.ar.payload),
            fill.valid.eq(fills.ar.valid),
            fills.ar.ready.eq(fill.ready),
            fill.payload.address.eq(asked.address),
            fill.payload.length.eq(asked.length),
            fill.payload.id.eq(Cat(asked.id, high)),
            self.bus_ar.valid.eq(requests.o.valid),
            self.bus_ar.payload.eq(requests.o.payload.payload),
            requests.o.ready.eq(self.bus_ar.ready),
        ]

    def _respond(self, m: Module, fills: OrderedReader, blocks: CacheBlocks) -> None:
        """Beats of blocks to the fills, others to the reader, in turn with those of the cache."""
        m.submodules.arrived = arrived = SkidBuffer(
            self.bus_r.payload.shape(), output_register=False
        )
        wiring.connect(m, wiring.flipped(self.bus_r), arrived.i)
        beat, fill = arrived.o.payload, fills.r.payload
        cached = beat.id[self._cached_bit]
        passes = Signal()
        # In turn, but for a beat that was offered, which stays.
        stays = Signal()
        passed = Signal()
        m.d.sync += stays.eq(self.r.valid & ~self.r.ready)
        with m.If(self.r.valid):
            m.d.sync += passed.eq(passes)
        waits = arrived.o.valid & ~cached
        m.d.comb += [
            passes.eq(Mux(stays, passed, waits & ~(blocks.o.valid & passed))),
            arrived.o.ready.eq(cached | (self.r.ready & passes)),
            fills.r.valid.eq(arrived.o.valid & cached),
            fill.data.eq(beat.data),
            fill.response.eq(beat.response),
            fill.last.eq(beat.last),
            fill.id.eq(beat.id[: fills.slot_bits]),
            self.r.valid.eq(passes | blocks.o.valid),
            self.r.payload.eq(Mux(passes, Value.cast(beat), Value.cast(blocks.o.payload))),
            blocks.o.ready.eq(self.r.ready & ~passes),
        ]
