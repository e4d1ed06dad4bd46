"""Beats and entries of rows in CSR, whose columns and values may be in arrays of their own."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import data_layout
from ...channels.array_readers import entry_of, walked_place, word_of
from ...channels.stripe_walk import span_layout
from ...spec.c2sr import COLUMN_BYTES
from ...spec.matraptor import MatRaptorConfig
from ...stream.fork_join import Fork, connect_fields
from ...stream.stream_registers import OutputRegister, SkidBuffer
from ..layouts import left_layout, product_layout, row_layout
from .a_loader import paired_row_layout
from .b_lookup import described_row_layout, row_of_b


class Words:
    """Words of an array: bits of a word's number within a beat and within a block."""

    def __init__(self, config: MatRaptorConfig, word_bytes: int) -> None:
        self.beat_bits = (config.beat_bytes // word_bytes).bit_length() - 1
        self.block_bits = (config.interleave // word_bytes).bit_length() - 1

    def ends_beat(self, place: Value) -> Value:
        """Returns whether a word is the last of its beat."""
        return place[: self.beat_bits].all() if self.beat_bits else Const(1)


def entry_words(config: MatRaptorConfig) -> Words:
    return Words(config, config.layout.entry_bytes)


def column_words(config: MatRaptorConfig) -> Words:
    return Words(config, COLUMN_BYTES)


def value_words(config: MatRaptorConfig) -> Words:
    return Words(config, config.format.bits // 8)


def _place_bits(config: MatRaptorConfig) -> int:
    """Bits of a word's number within a block, of the array whose words are smallest."""
    return max(each(config).block_bits for each in (entry_words, column_words, value_words))


def split_row_layout(config: MatRaptorConfig) -> data.StructLayout:
    """``a``, ``length`` of the row of B and the ``place`` of its first entry, low bits of its
    number; the rest as in ``product_layout``."""
    return row_of_b(config, {"length": 32, "place": _place_bits(config)})


def span_of(config: MatRaptorConfig, words: Words, pointer: Value, length: Value) -> dict[str, Any]:
    """The span of the beats with these words, but for its channel."""
    low = words.beat_bits
    place = pointer[:low] if low else Const(0, 1)
    through = length + place + ((1 << low) - 1)
    span = {"block": pointer[words.block_bits :], "beats": through[low:]}
    if config.burst_beats > 1:
        span["beat"] = pointer[low : words.block_bits]
    return span


def choose(select: Value, first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of one of two spans."""
    return {name: Mux(select, second[name], first[name]) for name in first}


class SplitProductRows(wiring.Component):
    """Requests the beats of rows of B, from one array or from two. One row per cycle, no latency.

    An empty row is dropped, unless the row of A ends with it.

    Members
    -------
    split: in; columns and values are in arrays of their own. Constant while there are rows
    i: see ``described_row_layout``
    o: see :func:`split_row_layout`
    spans, value_spans: see ``span_layout``; one of each for each row that is ``present``, of values
        only if they are ``split``
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        spans = stream.Signature(span_layout(config.geometry))
        super().__init__(
            {
                "split": In(1),
                "i": In(stream.Signature(described_row_layout(config))),
                "o": Out(stream.Signature(split_row_layout(config))),
                "spans": Out(spans),
                "value_spans": Out(spans),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, row = self._config, self.i.payload
        m.submodules.row_fork = fork = Fork(row.shape(), 3)
        wiring.connect(m, wiring.flipped(self.i), fork.i)
        some = Signal()
        m.d.comb += [
            some.eq(row.present & (row.length != 0)),
            fork.to.eq(Cat(some | row.row_last, some, some & self.split)),
        ]
        kept, asked, values = fork.o
        fields = {
            name: kept.payload[name] for name in ("a", "length", "row_last", "lane_last", "row")
        }
        place = kept.payload.pointer[: _place_bits(config)]
        connect_fields(m, kept, self.o, **fields, place=place, present=some)
        pointer, length = asked.payload.pointer, asked.payload.length
        span = choose(
            self.split,
            span_of(config, entry_words(config), pointer, length),
            span_of(config, column_words(config), pointer, length),
        )
        channel = asked.payload.channel
        connect_fields(m, asked, self.spans, **span, channel=channel)
        span = span_of(config, value_words(config), values.payload.pointer, values.payload.length)
        connect_fields(m, values, self.value_spans, **span, channel=channel)
        return m


class SplitRowProducts(wiring.Component):
    """Sends the entries of each row of B with the entry of A. No latency; one token per cycle.

    Members
    -------
    split: in; ``beats`` has columns, ``values`` has values. Constant while there are rows
    i: see :func:`split_row_layout`
    beats, values: those of each row that is ``present``
    o: see ``product_layout``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        beat = stream.Signature(data_layout(config.data_bits))
        super().__init__(
            {
                "split": In(1),
                "i": In(stream.Signature(split_row_layout(config))),
                "beats": In(beat),
                "values": In(beat),
                "o": Out(stream.Signature(product_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, row, token = self._config, self.i.payload, self.o.payload
        # After the first entry of a row.
        within = Signal()
        next_left = Signal(len(row.length), reset_less=True)
        left = Signal(len(row.length))
        ends = Signal()
        moved = Signal()
        present = Signal()
        place = walked_place(m, row.place, within=within, moved=moved)
        value, column = split_entry(config, self.split, self.beats, self.values, place)
        beat_ends, values_end = beats_end(config, self.split, place)
        m.d.comb += [
            left.eq(Mux(within, next_left, row.length)),
            ends.eq(~row.present | (left == 1)),
            present.eq(self.beats.valid & (self.values.valid | ~self.split)),
            self.o.valid.eq(self.i.valid & (present | ~row.present)),
            moved.eq(self.o.valid & self.o.ready),
            self.i.ready.eq(moved & ends),
            self.beats.ready.eq(moved & row.present & (ends | beat_ends)),
            self.values.ready.eq(moved & row.present & self.split & (ends | values_end)),
            token.a.eq(row.a),
            token.b.eq(value),
            token.column.eq(column),
            token.b_last.eq(ends & row.present),
            token.present.eq(row.present),
            token.row_last.eq(ends & row.row_last),
            token.lane_last.eq(ends & row.lane_last),
            token.row.eq(row.row),
        ]
        with m.If(moved):
            m.d.sync += [within.eq(~ends), next_left.eq(left - 1)]
        with m.If(self.clear):
            m.d.sync += within.eq(0)
        return m


def split_entry(
    config: MatRaptorConfig, split: Value, beats: Any, values: Any, place: Value
) -> tuple[Value, Value]:
    """Value and column of an entry: from one beat, or if ``split`` from one of each array."""
    first, second = beats.payload.data, values.payload.data
    bits = [each(config).beat_bits for each in (entry_words, column_words, value_words)]
    number, of_column, of_value = (place[:low] if low else Const(0, 1) for low in bits)
    value, column = entry_of(config.layout, first, number)
    far_column = word_of(first, of_column, 8 * COLUMN_BYTES)[: config.index_bits]
    far_value = word_of(second, of_value, config.format.bits)
    return Mux(split, far_value, value), Mux(split, far_column, column)


def beats_end(config: MatRaptorConfig, split: Value, place: Value) -> tuple[Value, Value]:
    """Whether an entry is the last of its beat of entries or columns, and of values."""
    of_entry, of_column = (each(config).ends_beat(place) for each in (entry_words, column_words))
    return Mux(split, of_column, of_entry), value_words(config).ends_beat(place)


def stream_row_layout(config: MatRaptorConfig) -> data.StructLayout:
    """A row of A: whether it is the ``last``, its ``length``, the ``place`` of its first entry, low
    bits of its number."""
    return data.StructLayout(
        {"row": row_layout(config), "last": 1, "length": 32, "place": _place_bits(config)}
    )


class StreamRows(wiring.Component):
    """Requests the blocks of the entries of rows that follow each other, each once. Latency one
    cycle; a row a cycle.

    Members
    -------
    start: in, a pulse while nothing is inside
    split: in; columns and values are in arrays of their own. Constant while there are rows
    i: see ``paired_row_layout``
    o: see :func:`stream_row_layout`
    spans, value_spans: see ``span_layout``; blocks of all channels together
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        spans = stream.Signature(span_layout(config.geometry))
        super().__init__(
            {
                "start": In(1),
                "split": In(1),
                "i": In(stream.Signature(paired_row_layout(config))),
                "o": Out(stream.Signature(stream_row_layout(config))),
                "spans": Out(spans),
                "value_spans": Out(spans),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        # With the row's last entry.
        shapes = {name: field.shape for name, field in paired_row_layout(config)}
        ended_layout = data.StructLayout({**shapes, "final": 33})
        m.submodules.ended = ended = OutputRegister(ended_layout, clearable=True)
        source = self.i.payload
        final = source.pointer + source.length - 1
        fields = {name: source[name] for name in shapes}
        connect_fields(m, self.i, ended.i, **fields, final=final)
        m.submodules.row_fork = fork = Fork(ended_layout, 3)
        wiring.connect(m, ended.o, fork.i)
        row = ended.o.payload
        some = Signal()
        moved = Signal()
        m.d.comb += [
            ended.clear.eq(self.clear),
            some.eq(row.length != 0),
            moved.eq(ended.o.valid & ended.o.ready & some),
        ]
        kept, asked, values = fork.o
        fields = {name: kept.payload[name] for name in ("row", "last", "length")}
        place = kept.payload.pointer[: _place_bits(config)]
        connect_fields(m, kept, self.o, **fields, place=place)
        entries, columns = (each(config).block_bits for each in (entry_words, column_words))
        first = Mux(self.split, row.pointer[columns:], row.pointer[entries:])
        last = Mux(self.split, row.final[columns:], row.final[entries:])
        needs = self._request(m, "block", moved, first, last, asked, self.spans)
        shift = value_words(config).block_bits
        first, last = row.pointer[shift:], row.final[shift:]
        more = self._request(m, "value", moved, first, last, values, self.value_spans)
        m.d.comb += fork.to.eq(Cat(1, some & needs, some & more & self.split))
        return m

    def _request(
        self, m: Module, name: str, moved: Value, first: Value, last: Value, source: Any, spans: Any
    ) -> Value:
        """The blocks that no row before has requested; returns whether there are any."""
        begun = Signal(name=f"{name}_begun")
        following = Signal(33, name=f"following_{name}", reset_less=True)
        begin = Signal(33, name=f"begin_{name}")
        count = Signal(33, name=f"count_{name}")
        m.d.comb += [begin.eq(Mux(begun, following, first)), count.eq(last + 1 - begin)]
        with m.If(moved):
            m.d.sync += [begun.eq(1), following.eq(last + 1)]
        with m.If(self.start):
            m.d.sync += begun.eq(0)
        beats = Cat(Const(0, (self._config.burst_beats - 1).bit_length()), count)
        connect_fields(m, source, spans, block=begin, beats=beats)
        return count != 0


class StreamEntries(wiring.Component):
    """Sends the entries of rows that follow each other, or a token for a row without entries.
    Latency one cycle; one token per cycle, except for beats before the first and after the last
    row.

    Members
    -------
    start: in, a pulse while nothing is inside
    split: in; ``beats`` has columns, ``values`` has values. Constant while there are rows
    i: see :func:`stream_row_layout`
    beats, values: whole blocks
    o: see ``left_layout``; ``lane_last`` is that of the last row
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        beat = stream.Signature(data_layout(config.data_bits))
        super().__init__(
            {
                "start": In(1),
                "split": In(1),
                "i": In(stream.Signature(stream_row_layout(config))),
                "beats": In(beat),
                "values": In(beat),
                "o": Out(stream.Signature(left_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.sent = sent = SkidBuffer(left_layout(config), clearable=True)
        wiring.connect(m, sent.o, wiring.flipped(self.o))
        row, token = self.i.payload, sent.i.payload
        within = Signal()
        # The last row has gone.
        after = Signal()
        next_left = Signal(len(row.length), reset_less=True)
        left = Signal(len(row.length))
        empty = Signal()
        ends = Signal()
        moved = Signal()
        present = Signal()
        place = walked_place(m, row.place, within=within, moved=moved)
        value, column = split_entry(config, self.split, self.beats, self.values, place)
        beat_ends, values_end = beats_end(config, self.split, place)
        entry, of_column, of_value = (
            place[words.beat_bits : words.block_bits]
            for words in (each(config) for each in (entry_words, column_words, value_words))
        )
        wants = self.i.valid & ~empty
        beat = Mux(self.split, of_column, entry)
        here = self._head(m, "beat", self.beats, wants, after, beat, moved & beat_ends)
        values = self._head(m, "value", self.values, wants, after, of_value, moved & values_end)
        m.d.comb += [
            left.eq(Mux(within, next_left, row.length)),
            empty.eq(~within & (row.length == 0)),
            ends.eq(empty | (left == 1)),
            present.eq(here & (values | ~self.split)),
            moved.eq(self.i.valid & ~empty & present & sent.i.ready),
            sent.clear.eq(self.clear),
            sent.i.valid.eq(self.i.valid & (empty | present)),
            self.i.ready.eq(sent.i.valid & sent.i.ready & ends),
            token.value.eq(value),
            token.column.eq(column),
            token.present.eq(~empty),
            token.row_last.eq(ends),
            token.lane_last.eq(ends & row.last),
            token.row.eq(row.row),
        ]
        with m.If(moved):
            m.d.sync += [within.eq(~ends), next_left.eq(left - 1)]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += after.eq(row.last)
        with m.If(self.clear | self.start):
            m.d.sync += [within.eq(0), after.eq(0)]
        return m

    def _head(
        self, m: Module, name: str, beats: Any, wants: Value, after: Value, beat: Value, used: Value
    ) -> Value:
        """Drops beats before that of the first entry, and after the last row all; returns whether
        the entry's beat is at the front. ``used``: it is taken."""
        index = Signal(max(1, len(beat)), name=f"{name}_index")
        reached = Signal(name=f"{name}_reached")
        m.d.comb += [
            reached.eq((index == beat) if len(beat) else 1),
            beats.ready.eq(after | (wants & ~reached) | used),
        ]
        with m.If(beats.valid & beats.ready):
            m.d.sync += index.eq(index + 1)
        with m.If(self.clear | self.start):
            m.d.sync += index.eq(0)
        return beats.valid & reached
