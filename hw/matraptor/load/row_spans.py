"""Which beats have to be read for rows of B."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, ShapeLike, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import data_layout
from ...channels.c2sr_words import pair_of
from ...channels.stripe_walk import span_layout
from ...spec.c2sr import PAIR_BYTES
from ...spec.matraptor import MatRaptorConfig
from ...stream.connect import connect_fields
from ...stream.fork import Fork
from ...stream.join import Join
from ...stream.output_register import OutputRegister
from ..layouts import row_layout

__all__ = [
    "PairedRows",
    "ProductRows",
    "asked_row_layout",
    "described_row_layout",
    "product_row_layout",
]

_ENDS = ("present", "row_last", "lane_last", "row")


def _row_of_b(config: MatRaptorConfig, fields: dict[str, ShapeLike]) -> data.StructLayout:
    ends: dict[str, ShapeLike] = {"present": 1, "row_last": 1, "lane_last": 1}
    row = row_layout(config)
    return data.StructLayout({"a": config.format.bits, **fields, **ends, "row": row})


def asked_row_layout(config: MatRaptorConfig) -> data.StructLayout:
    """``a`` and the row of B that it is for: ``channel``, and which ``pair`` of the beat (no field
    if there is one); the rest as in ``left_layout``."""
    fields: dict[str, ShapeLike] = {"channel": config.layout.channel_bits}
    pairs = config.beat_bytes // PAIR_BYTES
    if pairs > 1:
        fields["pair"] = (pairs - 1).bit_length()
    return _row_of_b(config, fields)


def described_row_layout(config: MatRaptorConfig) -> data.StructLayout:
    """The same with ``length`` and ``pointer`` of the row of B."""
    fields: dict[str, ShapeLike] = {"channel": config.layout.channel_bits}
    return _row_of_b(config, {**fields, "length": 32, "pointer": 32})


def product_row_layout(config: MatRaptorConfig) -> data.StructLayout:
    """``a``, ``length`` of the row of B and the ``place`` of its first entry in its beat (no field
    if it has one entry); the rest as in ``product_layout``."""
    fields: dict[str, ShapeLike] = {"length": 32}
    if config.beat_entries > 1:
        fields["place"] = (config.beat_entries - 1).bit_length()
    return _row_of_b(config, fields)


class PairedRows(wiring.Component):
    """Joins rows of B and the beats with their pairs. A row a cycle, latency one cycle.

    Members
    -------
    i: see :func:`asked_row_layout`
    beats: one for each row that is ``present``
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
        length, pointer = pair_of(join.o.payload.beat.data, number)
        m.d.comb += [
            join.needs_beat.eq(self.i.payload.present),
            described.clear.eq(self.clear),
        ]
        row = {name: asked[name] for name in ("a", "channel", *_ENDS)}
        connect_fields(m, join.o, described.i, **row, length=length, pointer=pointer)
        return m


class ProductRows(wiring.Component):
    """Asks for the beats of rows of B. A row a cycle, no latency.

    An empty row is dropped, unless the row of A ends with it.

    Members
    -------
    i: see :func:`described_row_layout`
    o: see :func:`product_row_layout`
    spans: see ``span_layout``; one for each row that is ``present``
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(described_row_layout(config))),
                "o": Out(stream.Signature(product_row_layout(config))),
                "spans": Out(stream.Signature(span_layout(config.geometry))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        beat_bits = config.beat_entries.bit_length() - 1
        block_bits = (config.layout.block_entries - 1).bit_length()
        m.submodules.row_fork = fork = Fork(self.i.payload.shape(), 2)
        wiring.connect(m, wiring.flipped(self.i), fork.i)
        some = Signal()
        through = Signal(34)
        kept, asked = fork.o
        left, right = kept.payload, asked.payload
        place = right.pointer[:beat_bits] if beat_bits else Const(0, 1)
        m.d.comb += [
            some.eq(self.i.payload.present & (self.i.payload.length != 0)),
            fork.to.eq(Cat(some | self.i.payload.row_last, some)),
            through.eq(right.length + place + (config.beat_entries - 1)),
        ]
        row = {name: left[name] for name in ("a", "length", "row_last", "lane_last", "row")}
        if beat_bits:
            row["place"] = left.pointer[:beat_bits]
        connect_fields(m, kept, self.o, **row, present=some)
        span = {"channel": right.channel, "block": right.pointer[block_bits:]}
        if config.burst_beats > 1:
            span["beat"] = right.pointer[beat_bits:block_bits]
        connect_fields(m, asked, self.spans, **span, beats=through[beat_bits:])
        return m
