"""Which blocks have to be read for the entries of rows."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...channels.stripe_walk import span_layout
from ...spec.matraptor import MatRaptorConfig
from ...stream.connect import connect_fields
from ...stream.fork import Fork
from ...stream.output_register import OutputRegister
from ..layouts import row_layout
from .row_pairs import paired_row_layout

__all__ = ["BlockRows", "held_row_layout"]


def held_row_layout(config: MatRaptorConfig) -> data.StructLayout:
    """A row, whether it is the lane's ``last``, its ``length``, the ``place`` of its first
    entry in a block, and whether that block is ``held``: still at hand, not the next one read."""
    place_bits = (config.layout.block_entries - 1).bit_length()
    return data.StructLayout(
        {"row": row_layout(config), "last": 1, "length": 32, "place": place_bits, "held": 1}
    )


class BlockRows(wiring.Component):
    """Turns pairs into spans of whole blocks, but for a block that the row before has read already.

    A row can take its first block over if it begins in the block in which the last row with
    entries ended, not before that row's end. Latency one cycle; a row a cycle.

    Members
    -------
    i: see ``paired_row_layout``
    o: see :func:`held_row_layout`
    spans: see ``span_layout``; what is to be read for these rows, in order
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        self._place_bits = (config.layout.block_entries - 1).bit_length()
        self._ended = data.StructLayout({**dict(_fields(config)), "final": 33})
        super().__init__(
            {
                "i": In(stream.Signature(paired_row_layout(config))),
                "o": Out(stream.Signature(held_row_layout(config))),
                "spans": Out(stream.Signature(span_layout(config.geometry))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, bits = self._config, self._place_bits
        m.submodules.ended = ended = OutputRegister(self._ended, clearable=True)
        m.d.comb += [
            ended.clear.eq(self.clear),
            ended.i.valid.eq(self.i.valid),
            self.i.ready.eq(ended.i.ready),
            # The row's last entry.
            ended.i.payload.final.eq(self.i.payload.pointer + self.i.payload.length - 1),
        ]
        for name, _ in _fields(config):
            m.d.comb += ended.i.payload[name].eq(self.i.payload[name])
        # To the rows, and to the spans if a block has to be read.
        m.submodules.row_fork = fork = Fork(self._ended, 2)
        wiring.connect(m, ended.o, fork.i)
        row = ended.o.payload
        begin, final = row.pointer[bits:], row.final[bits:]
        held = self._held(m, ended)
        some = Signal()
        blocks = Signal(33 - bits + 1)
        needs = Signal()
        m.d.comb += [
            some.eq(row.length != 0),
            blocks.eq(final - begin + ~held),
            needs.eq(some & (blocks != 0)),
            fork.to.eq(Cat(1, needs)),
        ]
        kept, asked = fork.o
        fields = {name: kept.payload[name] for name in ("row", "last", "length")}
        place = kept.payload.pointer[:bits]
        connect_fields(m, kept, self.o, **fields, place=place, held=held)
        beats = Cat(Const(0, (config.burst_beats - 1).bit_length()), blocks)
        channel = asked.payload.channel
        connect_fields(m, asked, self.spans, channel=channel, block=begin + held, beats=beats)
        return m

    def _held(self, m: Module, ended: OutputRegister) -> Signal:
        """Whether the row can take over the block in which the last one ended."""
        row, bits = ended.o.payload, self._place_bits
        some_held = Signal()
        block = Signal(33 - bits, reset_less=True)
        place = Signal(bits, reset_less=True)
        channel = Signal(len(row.channel), reset_less=True)
        held = Signal()
        m.d.comb += held.eq(
            some_held
            & (channel == row.channel)
            & (block == row.pointer[bits:])
            & (row.pointer[:bits] >= place)
        )
        with m.If(self.clear):
            m.d.sync += some_held.eq(0)
        with m.Elif(ended.o.valid & ended.o.ready & row.last):
            m.d.sync += some_held.eq(0)
        with m.Elif(ended.o.valid & ended.o.ready & (row.length != 0)):
            m.d.sync += [
                some_held.eq(~row.final[:bits].all()),
                block.eq(row.final[bits:]),
                place.eq(row.final[:bits] + 1),
                channel.eq(row.channel),
            ]
        return held


def _fields(config: MatRaptorConfig) -> list[tuple[str, object]]:
    return [(name, field.shape) for name, field in paired_row_layout(config)]
