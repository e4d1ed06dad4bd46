"""Looks up where the row of B is that each entry of A names: its pair, or its pointers in CSR."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import data_layout
from ...channels.array_readers import pair_of
from ...channels.channel_of_row import ChannelOfRow
from ...channels.stripe_walk import span_layout
from ...spec.c2sr import PAIR_BYTES, POINTER_BYTES
from ...spec.matraptor import MatRaptorConfig
from ...stream.fork_join import Fork, Join, connect_fields
from ...stream.stream_registers import OutputRegister
from ..layouts import left_layout, row_layout

_ENDS = ("present", "row_last", "lane_last", "row")
POINTER_BITS = 8 * POINTER_BYTES


def pointer_bits(config: MatRaptorConfig) -> int:
    """Width of a pointer's number in its beat."""
    return (config.beat_bytes // POINTER_BYTES - 1).bit_length()


def pointers_of(beat: Value) -> list[Value]:
    """The pointers of a beat."""
    return [beat[low : low + POINTER_BITS] for low in range(0, len(beat), POINTER_BITS)]


def row_of_b(config: MatRaptorConfig, fields: dict[str, ShapeLike]) -> data.StructLayout:
    ends: dict[str, ShapeLike] = {"present": 1, "row_last": 1, "lane_last": 1}
    row = row_layout(config)
    return data.StructLayout({"a": config.format.bits, **fields, **ends, "row": row})


def asked_row_layout(config: MatRaptorConfig) -> data.StructLayout:
    """``a`` and the row of B that it is for: ``channel``, and which ``pair`` of the beat (no field
    if there is one), or with CSR which ``pointer``; the rest as in ``left_layout``."""
    fields: dict[str, ShapeLike] = {"channel": config.layout.channel_bits}
    pairs = config.beat_bytes // PAIR_BYTES
    if pairs > 1:
        fields["pair"] = (pairs - 1).bit_length()
    if config.csr:
        fields["pointer"] = pointer_bits(config)
    return row_of_b(config, fields)


def described_row_layout(config: MatRaptorConfig) -> data.StructLayout:
    """The same with ``length`` and ``pointer`` of the row of B."""
    fields: dict[str, ShapeLike] = {"channel": config.layout.channel_bits}
    return row_of_b(config, {**fields, "length": 32, "pointer": 32})


class RowLookup(wiring.Component):
    """Requests the pair of the row of B that each entry of A names, or its two pointers in CSR.

    One entry a cycle, in as many cycles as ``ChannelOfRow`` takes.

    Members
    -------
    csr: (``csr``) in; B has pointers. Constant while there are tokens
    i: see ``left_layout``
    o: see ``asked_row_layout``; every token, in order
    spans: see ``span_layout``; one for each that is ``present``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(left_layout(config))),
                "o": Out(stream.Signature(asked_row_layout(config))),
                "spans": Out(stream.Signature(span_layout(config.geometry))),
                "clear": In(1),
                **({"csr": In(1)} if config.csr else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        carried = left_layout(config)
        m.submodules.locate = locate = ChannelOfRow(config.index_bits, config.channels, carried)
        # Rows go to the row queue, and to the spans if a row of B exists.
        m.submodules.row_fork = fork = Fork(locate.o.payload.shape(), 2)
        wiring.connect(m, locate.o, fork.i)
        beat_bits = (config.beat_bytes // PAIR_BYTES).bit_length() - 1
        block_bits = (config.layout.block_pairs - 1).bit_length()
        m.d.comb += [
            locate.clear.eq(self.clear),
            locate.i.valid.eq(self.i.valid),
            self.i.ready.eq(locate.i.ready),
            locate.i.payload.row.eq(self.i.payload.column),
            locate.i.payload.carried.eq(self.i.payload),
            fork.to.eq(Cat(1, locate.o.payload.carried.present)),
        ]
        kept, asked = fork.o
        token, place = kept.payload.carried, asked.payload
        row = {name: token[name] for name in ("present", "row_last", "lane_last", "row")}
        if beat_bits:
            row["pair"] = kept.payload.index[:beat_bits]
        if config.csr:
            row["pointer"] = token.column[: pointer_bits(config)]
        connect_fields(m, kept, self.o, **row, a=token.value, channel=kept.payload.channel)
        span = {"channel": place.channel, "block": place.index[block_bits:], "beats": 1}
        if config.burst_beats > 1:
            span["beat"] = place.index[beat_bits:block_bits]
        connect_fields(m, asked, self.spans, **span)
        if config.csr:
            self._pointers(m, locate, place)
        return m

    def _pointers(self, m: Module, locate: ChannelOfRow, place: data.View) -> None:
        """The block of the pointers in place of the row, and the beats there: two if a row's
        pointers are in two."""
        config, span = self._config, self.spans.payload
        block_bits = (config.interleave // POINTER_BYTES).bit_length() - 1
        number, beat_bits = place.carried.column, pointer_bits(config)
        with m.If(self.csr):
            m.d.comb += [
                locate.i.payload.row.eq(self.i.payload.column[block_bits:]),
                span.block.eq(place.index),
                span.beats.eq(Mux(number[:beat_bits].all(), 2, 1)),
            ]
            if config.burst_beats > 1:
                m.d.comb += span.beat.eq(number[beat_bits:block_bits])


class PointerPairs(wiring.Component):
    """Puts length and pointer of a row of B in the place of its two pointers.

    A row's pointers are in one beat, or in two if the first is the last word of its beat. What
    leaves is one beat, of which the lowest 64 bits are a pair as C2SR has it. No latency; a row a
    cycle, or in two cycles. A row whose pointers descend leaves as an empty one.

    Members
    -------
    enable: in; 0: beats pass as they are. Constant while there are beats
    wanted: in; the next beat is of the row at hand
    number: in; of the row's first pointer, in its beat
    row: in; the row of A that names the row of B
    beats: the pointers' beats
    o: the pairs
    error, error_row: out; pointers have descended and no ``clear`` since; ``row`` of the first
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        beat = stream.Signature(data_layout(config.data_bits))
        super().__init__(
            {
                "enable": In(1),
                "wanted": In(1),
                "number": In(pointer_bits(config)),
                "row": In(row_layout(config)),
                "beats": In(beat),
                "o": Out(beat),
                "error": Out(1),
                "error_row": Out(row_layout(config)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words = pointers_of(self.beats.payload.data)
        # The first pointer was the last word of the beat before.
        second = Signal()
        before = Signal(POINTER_BITS, reset_less=True)
        begins = Signal(POINTER_BITS)
        ends = Signal(POINTER_BITS)
        descends = Signal()
        keeps = Signal()
        m.d.comb += [
            keeps.eq(self.enable & self.wanted & self.number.all() & ~second),
            begins.eq(Mux(second, before, Array(words)[self.number])),
            ends.eq(Mux(second, words[0], Array([*words[1:], words[0]])[self.number])),
            descends.eq(ends < begins),
            self.o.valid.eq(self.beats.valid & ~keeps),
            self.beats.ready.eq(keeps | self.o.ready),
            self.o.payload.eq(self.beats.payload),
        ]
        with m.If(self.enable):
            length = Mux(descends, 0, (ends - begins)[:POINTER_BITS])
            m.d.comb += self.o.payload.data[: 2 * POINTER_BITS].eq(Cat(length, begins))
        with m.If(self.beats.valid & keeps):
            m.d.sync += [second.eq(1), before.eq(words[-1])]
        with m.Elif(self.o.valid & self.o.ready):
            m.d.sync += second.eq(0)
            with m.If(self.enable & descends & ~self.error):
                m.d.sync += [self.error.eq(1), self.error_row.eq(self.row)]
        with m.If(self.clear):
            m.d.sync += [second.eq(0), self.error.eq(0)]
        return m


class PairedRows(wiring.Component):
    """Joins rows of B and the beats with their pairs. One row per cycle, latency one cycle.

    Members
    -------
    i: see :func:`asked_row_layout`
    beats: one for each row that is ``present``
    csr: (``csr``) in; the pair is the first of its beat, whatever the row is
    o: see :func:`described_row_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(asked_row_layout(config))),
                "beats": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(described_row_layout(config))),
                "clear": In(1),
                **({"csr": In(1)} if config.csr else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.described = described = OutputRegister(
            described_row_layout(config), clearable=True
        )
        wiring.connect(m, described.o, wiring.flipped(self.o))
        shapes = {"row": self.i.payload.shape(), "beat": self.beats.payload.shape()}
        m.submodules.row_join = join = Join(shapes)
        wiring.connect(m, wiring.flipped(self.i), join.i_row)
        wiring.connect(m, wiring.flipped(self.beats), join.i_beat)
        asked = join.o.payload.row
        number = asked.pair if config.beat_bytes > PAIR_BYTES else Const(0)
        if config.csr:
            number = Mux(self.csr, 0, number)
        length, pointer = pair_of(join.o.payload.beat.data, number)
        m.d.comb += [
            join.needs_beat.eq(self.i.payload.present),
            described.clear.eq(self.clear),
        ]
        row = {name: asked[name] for name in ("a", "channel", *_ENDS)}
        connect_fields(m, join.o, described.i, **row, length=length, pointer=pointer)
        return m
