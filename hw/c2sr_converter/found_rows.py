"""Reads the index of a matrix: row pointers of CSR, or pairs of C2SR; and finds the rows."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..axi.layouts import Supervision, beat_layout, data_layout, routed_layout, supervise
from ..channels.array_readers import array_reader, pair_of
from ..channels.stripe_walk import BLOCK_BITS, FlatBlocks, StripeWalk, span_layout
from ..spec.c2sr import PAIR_BYTES
from ..spec.c2sr_converter import POINTER_BYTES, C2srConverterConfig
from ..stream.stream_registers import SkidBuffer

_BITS = 32


def found_row_layout() -> data.StructLayout:
    """A row: ``length``, ``pointer`` to its first entry, counted in its channel (in CSR: in all),
    and whether it is ``wrong``: it ends before it begins, or row 0 does not begin at 0."""
    return data.StructLayout({"length": _BITS, "pointer": _BITS, "wrong": 1})


def found_rows_layout(config: C2srConverterConfig) -> data.StructLayout:
    """Consecutive ``rows``, as many as ``some`` has bits set, from the first one on: all of them
    but in the ``last`` transfer. The number of the first is a multiple of ``step_rows``."""
    rows = data.ArrayLayout(found_row_layout(), config.step_rows)
    return data.StructLayout({"rows": rows, "some": config.step_rows, "last": 1})


def _ends(m: Module, name: str, start: Value, rows: Value, step: int, moved: Value) -> Signal:
    """Returns how many rows are left, and decrements it by ``step``."""
    left = Signal(_BITS, name=name)
    with m.If(moved):
        m.d.sync += left.eq(Mux(left > step, left - step, 0))
    with m.If(start):
        m.d.sync += left.eq(rows)
    return left


def _some(left: Value, step: int) -> Value:
    """A bit for each row of a step that is one of those that are left."""
    return Cat(left > number for number in range(step))


class RowPointers(wiring.Component):
    """Requests whole blocks of row pointers and converts them to rows. ``step_rows`` rows per
    cycle, two cycles of latency.

    Members
    -------
    start: in, a pulse while no row is left
    rows: in; of the matrix, at least 1; constant from ``start`` on
    spans: see ``span_layout``; a block each
    beats: those; data after the last pointer is dropped
    o: see :func:`found_rows_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "rows": In(_BITS),
                "spans": Out(stream.Signature(span_layout(config.geometry))),
                "beats": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(found_rows_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        step = self._config.step_rows
        self._ask(m)
        active = Signal()
        first = Signal()
        moved = Signal()
        # Pointers to the rows of the next transfer, and to those behind them.
        kept = Signal(data.ArrayLayout(_BITS, step), reset_less=True)
        wrong_begin = Signal(reset_less=True)
        words = self._words(m, active)
        left = _ends(m, "rows_left", self.start, self.rows, step, moved)
        some = Signal(step)
        # A step of fewer rows ends with the pointers that are kept.
        needed = Signal()
        m.d.comb += [
            some.eq(_some(left, step)),
            needed.eq(some.all()),
            self.o.valid.eq(active & ~first & (words.valid | ~needed)),
            self.o.payload.some.eq(some),
            self.o.payload.last.eq(left <= step),
            moved.eq(self.o.valid & self.o.ready),
            words.ready.eq(~active | first | (self.o.ready & needed)),
        ]
        behind = words.payload[:_BITS]
        for number, row in enumerate(self.o.payload.rows):
            end = behind if number == step - 1 else kept[number + 1]
            length = Signal(_BITS + 1, name=f"length_{number}")
            m.d.comb += [
                length.eq(end - kept[number]),
                row.pointer.eq(kept[number]),
                row.length.eq(length),
                row.wrong.eq(length[_BITS] | (wrong_begin if number == 0 else 0)),
            ]
        with m.If(words.valid & words.ready):
            m.d.sync += [Value.cast(kept).eq(words.payload), first.eq(0)]
            m.d.sync += wrong_begin.eq(first & (behind != 0))
        with m.If(moved & self.o.payload.last):
            m.d.sync += active.eq(0)
        with m.If(self.start | self.clear):
            m.d.sync += [active.eq(self.start), first.eq(1)]
        return m

    def _ask(self, m: Module) -> None:
        block_pointers = self._config.interleave // POINTER_BYTES
        shift = block_pointers.bit_length() - 1
        left = Signal(_BITS + 1 - shift, name="blocks_to_ask")
        m.submodules.blocks = blocks = FlatBlocks(self._config.geometry)
        wiring.connect(m, blocks.spans, wiring.flipped(self.spans))
        m.d.comb += [blocks.start.eq(self.start), blocks.want.eq(left != 0)]
        with m.If(blocks.taken):
            m.d.sync += left.eq(left - 1)
        with m.If(self.start):
            # rows + 1 pointers.
            m.d.sync += left.eq((self.rows + block_pointers).shift_right(shift))
        with m.If(self.clear):
            m.d.sync += left.eq(0)

    def _words(self, m: Module, active: Value) -> Any:
        """The pointers in groups of ``step_rows``, in a stream, the first ones while ``active``."""
        beat, bits = self.beats.payload.data, _BITS * self._config.step_rows
        count = len(beat) // bits
        number = Signal(range(count))
        m.submodules.words = words = SkidBuffer(bits, clearable=True)
        m.d.comb += [
            words.clear.eq(self.start | self.clear),
            words.i.valid.eq(active & self.beats.valid),
            words.i.payload.eq(
                Array(beat[bits * index : bits * (index + 1)] for index in range(count))[number]
            ),
            self.beats.ready.eq(~active | (words.i.ready & (number == count - 1))),
        ]
        with m.If(words.i.valid & words.i.ready):
            m.d.sync += number.eq(number + 1)
        with m.If(self.start):
            m.d.sync += number.eq(0)
        return words.o


class StripePairs(wiring.Component):
    """Requests beats of pairs from all channels round robin, and extracts the rows' pairs.

    A round is ``chunk_beats`` beats of each channel. Two rounds fit inside, so that the rows of one
    leave while the next one arrives. A beat per cycle; ``step_rows`` rows per cycle, if a beat has
    so many pairs.

    Members
    -------
    start: in, a pulse while no row is left
    rows: in; of the matrix, at least 1, sampled with ``start``
    spans: see ``span_layout``; ``chunk_beats`` beats each
    beats: those
    o: see :func:`found_rows_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "rows": In(_BITS),
                "spans": Out(stream.Signature(span_layout(config.geometry))),
                "beats": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(found_rows_layout(config))),
                "clear": In(1),
            }
        )

    @property
    def _beat_pairs(self) -> int:
        return self._config.beat_bytes // PAIR_BYTES

    @property
    def _chunk_pairs(self) -> int:
        return self._config.chunk_beats * self._beat_pairs

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._ask(m)
        # Rounds that have arrived, and those whose rows have all left.
        arrived = Signal(2)
        left = Signal(2)
        memories = self._receive(m, arrived, left)
        self._send(m, memories, arrived, left)
        with m.If(self.start | self.clear):
            m.d.sync += [arrived.eq(0), left.eq(0)]
        return m

    def _ask(self, m: Module) -> None:
        """Requests a chunk from each channel that has rows, then the next one from each."""
        config, span = self._config, self.spans.payload
        group = config.channels * self._chunk_pairs
        # Rows whose pairs are not requested yet, those of this round's channels included.
        left = Signal(_BITS, name="rows_to_ask")
        channel = Signal(config.layout.channel_bits, name="asked_channel")
        chunk_bits = (config.geometry.block_beats // config.chunk_beats).bit_length() - 1
        chunk = Signal(BLOCK_BITS + chunk_bits)
        ends = Signal(name="round_ends")
        m.d.comb += [
            self.spans.valid.eq(left != 0),
            span.channel.eq(channel),
            span.block.eq(chunk[chunk_bits:]),
            span.beats.eq(config.chunk_beats),
            ends.eq((channel == config.channels - 1) | (left == channel + 1)),
        ]
        if chunk_bits:
            m.d.comb += span.beat.eq(chunk[:chunk_bits] * config.chunk_beats)
        with m.If(self.spans.valid & self.spans.ready):
            m.d.sync += channel.eq(channel + 1)
            with m.If(ends):
                m.d.sync += [channel.eq(0), left.eq(Mux(left > group, left - group, 0))]
                m.d.sync += chunk.eq(chunk + 1)
        with m.If(self.start):
            m.d.sync += [left.eq(self.rows), channel.eq(0), chunk.eq(0)]
        with m.If(self.clear):
            m.d.sync += left.eq(0)

    def _receive(self, m: Module, arrived: Signal, left: Signal) -> list[Any]:
        """Stores the beats by channel. Returns the memories' read ports: memory ``k`` has the
        channels ``k``, ``k + step_rows``, ..."""
        config = self._config
        step, beats, channels = config.step_rows, config.chunk_beats, config.channels
        beat = Signal(range(max(2, beats)), name="arriving_beat")
        channel = Signal(config.layout.channel_bits, name="arriving_channel")
        rows = Signal(_BITS, name="rows_to_arrive")
        put = Signal()
        beat_last = Signal()
        round_last = Signal()
        m.d.comb += [
            self.beats.ready.eq((arrived - left)[:2] != 2),
            put.eq(self.beats.valid & self.beats.ready),
            beat_last.eq(beat == beats - 1),
            round_last.eq((channel == channels - 1) | (rows == channel + 1)),
        ]
        with m.If(put):
            m.d.sync += beat.eq(Mux(beat_last, 0, beat + 1))
            with m.If(beat_last):
                m.d.sync += channel.eq(channel + 1)
                with m.If(round_last):
                    m.d.sync += [channel.eq(0), arrived.eq(arrived + 1)]
                    m.d.sync += rows.eq(rows - channels * self._chunk_pairs)
        with m.If(self.start):
            m.d.sync += [beat.eq(0), channel.eq(0), rows.eq(self.rows)]
        ports = []
        for number in range(step):
            memory = Memory(shape=config.data_bits, depth=2 * self._bank_depth, init=[])
            m.submodules[f"pairs_{number}"] = memory
            write = memory.write_port()
            mine = channel[0] == number if step > 1 else 1
            m.d.comb += [
                write.en.eq(put & mine),
                write.addr.eq(self._place(arrived, channel, beat)),
                write.data.eq(self.beats.payload.data),
            ]
            ports.append(memory.read_port(domain="comb"))
        return ports

    @property
    def _bank_depth(self) -> int:
        """Words of a memory for a round: a power of two of beats for a power of two of channels."""
        of_channel = 1 << (self._config.chunk_beats - 1).bit_length()
        channels = self._config.channels // self._config.step_rows
        return of_channel << (channels - 1).bit_length()

    def _place(self, number: Value, channel: Value, beat: Value) -> Value:
        """The word of a beat in its memory."""
        config = self._config
        beat_bits = (config.chunk_beats - 1).bit_length()
        shift = config.step_rows.bit_length() - 1
        channel_bits = (config.channels // config.step_rows - 1).bit_length()
        return Cat(beat[:beat_bits], channel[shift : shift + channel_bits], number[:1])

    def _send(self, m: Module, memories: list[Any], arrived: Signal, left: Signal) -> None:
        """Rows in order: the channels' first pairs, their second ones, and so on."""
        config = self._config
        step = config.step_rows
        moved = Signal()
        rows = _ends(m, "rows_left", self.start, self.rows, step, moved)
        pair = Signal(range(max(2, self._chunk_pairs)))
        channel = Signal(config.layout.channel_bits)
        wraps = Signal()
        m.d.comb += [
            self.o.valid.eq((rows != 0) & (arrived != left)),
            self.o.payload.some.eq(_some(rows, step)),
            self.o.payload.last.eq(rows <= step),
            moved.eq(self.o.valid & self.o.ready),
            wraps.eq(channel == config.channels - step),
        ]
        shift = self._beat_pairs.bit_length() - 1
        for port, row in zip(memories, self.o.payload.rows, strict=True):
            m.d.comb += port.addr.eq(self._place(left, channel, pair[shift:]))
            length, pointer = pair_of(port.data, pair[:shift])
            m.d.comb += [row.length.eq(length), row.pointer.eq(pointer)]
        with m.If(moved):
            m.d.sync += channel.eq(channel + step)
            with m.If(wraps):
                m.d.sync += [channel.eq(0), pair.eq(pair + 1)]
                with m.If(pair == self._chunk_pairs - 1):
                    m.d.sync += [pair.eq(0), left.eq(left + 1)]
        with m.If(self.start):
            m.d.sync += [channel.eq(0), pair.eq(0)]
        with m.If(self.clear):
            m.d.sync += rows.eq(0)


class IndexReader(wiring.Component):
    """Reads row pointers or pairs, and sends the rows in order.

    Members
    -------
    start: in, a pulse when ``idle``
    to_csr: in; pairs, not row pointers; constant from ``start`` on
    rows: in; of the matrix, at least 1; likewise
    base: in; flat address of the array; likewise
    o: see ``found_rows_layout``
    ar, r: the bus
    read_beat: out, a pulse: a beat has come over the bus
    stop, idle, error, error_address: see ``Supervision``
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        geometry, slot_bits = config.geometry, config.slot_bits
        request = routed_layout(geometry.addr_bits, geometry.channel_bits, slot_bits)
        beat = beat_layout(geometry.data_bits, slot_bits)
        super().__init__(
            {
                "start": In(1),
                "to_csr": In(1),
                "rows": In(32),
                "base": In(geometry.addr_bits),
                "o": Out(stream.Signature(found_rows_layout(config))),
                "ar": Out(stream.Signature(request)),
                "r": In(stream.Signature(beat, always_ready=True)),
                "read_beat": Out(1),
                **Supervision(geometry.addr_bits).members,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.reader = reader = array_reader(config.geometry, config.outstanding)
        m.submodules.walk = walk = StripeWalk(config.geometry)
        m.submodules.asked = asked = SkidBuffer(walk.i.payload.shape(), clearable=True)
        # The crossbar's grants go no further back than here.
        m.submodules.requests = requests = SkidBuffer(
            reader.request.payload.shape(), clearable=True
        )
        # Behind the memory's access.
        m.submodules.read = read = SkidBuffer(reader.o.payload.shape(), clearable=True)
        m.submodules.pairs = pairs = StripePairs(config)
        m.submodules.pointers = pointers = RowPointers(config)
        wiring.connect(m, asked.o, walk.i)
        wiring.connect(m, walk.o, requests.i)
        wiring.connect(m, requests.o, reader.request)
        wiring.connect(m, reader.o, read.i)
        wiring.connect(m, reader.ar, wiring.flipped(self.ar))
        wiring.connect(m, wiring.flipped(self.r), reader.r)
        for used, part in ((self.to_csr, pairs), (~self.to_csr, pointers)):
            m.d.comb += [part.start.eq(self.start & used), part.rows.eq(self.rows)]
        with m.If(self.to_csr):
            self._find(m, pairs, read.o, asked)
        with m.Else():
            self._find(m, pointers, read.o, asked)
        busy = Signal()
        with m.If(self.stop):
            m.d.sync += busy.eq(0)
        with m.Elif(self.start):
            m.d.sync += busy.eq(1)
        with m.Elif(self.o.valid & self.o.ready & self.o.payload.last):
            m.d.sync += busy.eq(0)
        supervise(m, self, [reader], busy=busy)
        m.d.comb += [
            walk.base.eq(self.base),
            self.read_beat.eq(self.r.valid & self.r.ready),
        ]
        parts: list[Any] = [asked, walk, requests, read, pairs, pointers]
        for part in parts:
            m.d.comb += part.clear.eq(self.stop)
        return m

    def _find(
        self, m: Module, part: StripePairs | RowPointers, beats: Any, asked: SkidBuffer
    ) -> None:
        """Connects the component that finds the rows, while it is active."""
        for source, sink in ((part.spans, asked.i), (beats, part.beats), (part.o, self.o)):
            m.d.comb += [
                sink.valid.eq(source.valid),
                sink.payload.eq(source.payload),
                source.ready.eq(sink.ready),
            ]
