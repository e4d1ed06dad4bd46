"""Computes the beats that hold the entries of rows; no beat is read twice in succession."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..channels.stripe_walk import span_layout
from ..spec.c2sr_converter import C2srConverterConfig
from ..stream.fork_join import Fork, connect_fields
from ..stream.stream_registers import OutputRegister, SkidBuffer
from .row_places import lane_row_layout, place_layout

_BITS = 32


def asked_row_layout(config: C2srConverterConfig) -> data.StructLayout:
    """Row whose beats are requested: ``length``; the ``place`` of its first entry in its beat (no
    field if a beat is one entry); whether that beat is ``held``, because it is the last one of the
    previous row; and where the row is written, ``to``."""
    fields: dict[str, ShapeLike] = {"length": _BITS, "held": 1, "to": place_layout(config)}
    if config.beat_entries > 1:
        fields["place"] = (config.beat_entries - 1).bit_length()
    return data.StructLayout(fields)


class RowSpans(wiring.Component):
    """Requests exactly the beats of rows. In C2SR a beat that the previous row has already fetched
    is not requested again. Latency two cycles; a row a cycle.

    Members
    -------
    start: in, a pulse while nothing is inside
    to_csr: in; direction of the job; constant from ``start`` on
    i: see ``lane_row_layout``
    o: see :func:`asked_row_layout`
    spans: see ``span_layout``; in order
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "to_csr": In(1),
                "i": In(stream.Signature(lane_row_layout(config))),
                "o": Out(stream.Signature(asked_row_layout(config))),
                "spans": Out(stream.Signature(span_layout(config.geometry))),
                "clear": In(1),
            }
        )

    @property
    def _beat_shift(self) -> int:
        return self._config.beat_entries.bit_length() - 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shift = self._beat_shift
        sized = self._size(m)
        row = sized.payload
        m.submodules.row_fork = fork = Fork(row.shape(), 2, eager=True)
        wiring.connect(m, sized, fork.i)
        kept, asked = fork.o
        held = self._held(m, sized)
        at, span = row.at, self.spans.payload
        beat = Cat(at.entry[shift:], at.block)
        first = Signal(len(beat) + 1, name="first_beat")
        needs = Signal()
        block_bits = self._config.geometry.block_beat_bits
        # `held` arrives late: it selects.
        m.d.comb += [
            first.eq(Mux(held, beat + 1, beat)),
            needs.eq(~(held & row.one_beat)),
            fork.clear.eq(self.clear),
            self.spans.valid.eq(asked.valid & needs),
            asked.ready.eq(self.spans.ready | ~needs),
            span.channel.eq(at.channel),
            span.block.eq(first[block_bits:]),
            span.beats.eq(Mux(held, row.steps, row.steps + 1)),
        ]
        if block_bits:
            m.d.comb += span.beat.eq(first[:block_bits])
        entry = kept.payload
        place = {"place": entry.at.entry[:shift]} if shift else {}
        connect_fields(m, kept, self.o, **place, length=entry.length, to=entry.to, held=held)
        return m

    def _size(self, m: Module) -> Any:
        """Rows with their number of beats; returns the stream of these.

        ``at``: where the row is read; ``to``: where it is written; ``steps``: from the beat of the
        first entry to that of the last; ``one_beat``: both are the same.
        """
        config, shift = self._config, self._beat_shift
        place = place_layout(config)
        beat_bits = _BITS + 1 - shift
        turned = data.StructLayout({"length": _BITS, "at": place, "to": place})
        sized_row = data.StructLayout(
            {
                "length": _BITS,
                "at": place,
                "to": place,
                "steps": beat_bits,
                "one_beat": 1,
            }
        )
        m.submodules.found = found = SkidBuffer(turned, clearable=True)
        m.submodules.sized = sized = OutputRegister(sized_row, clearable=True)
        row = self.i.payload
        flat, own = Value.cast(row.flat), Value.cast(row.own)
        at, to = Mux(self.to_csr, own, flat), Mux(self.to_csr, flat, own)
        connect_fields(m, self.i, found.i, length=row.length, at=at, to=to)
        row = found.o.payload
        # The last entry, counted from the first beat's first.
        last = Signal(_BITS + 1)
        begin = row.at.entry[:shift] if shift else 0
        m.d.comb += last.eq(begin + row.length - 1)
        steps = last[shift:]
        connect_fields(
            m,
            found.o,
            sized.i,
            length=row.length,
            at=row.at,
            to=row.to,
            steps=steps,
            one_beat=steps == 0,
        )
        for part in (found, sized):
            m.d.comb += part.clear.eq(self.clear)
        return sized.o

    def _held(self, m: Module, sized: Any) -> Value:
        """Returns whether the row begins in the beat in which the row before it ended."""
        row, shift = sized.payload, self._beat_shift
        some_held = Signal()
        begin = Cat(row.at.entry[shift:], row.at.block)
        beat = Signal(len(begin) + 1, reset_less=True)
        channel = Signal(len(row.at.channel), reset_less=True)
        held = Signal()
        m.d.comb += held.eq(some_held & (channel == row.at.channel) & (beat == begin))
        with m.If(sized.valid & sized.ready):
            m.d.sync += [
                some_held.eq(self.to_csr),
                beat.eq(begin + row.steps),
                channel.eq(row.at.channel),
            ]
        with m.If(self.start):
            m.d.sync += some_held.eq(0)
        return held
