"""Rows of vectors to memory."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import address_layout, response_layout, write_layout
from ...axi.supervision import Supervision, supervise
from ...channels.striped_writer import StripedWriter
from ...spec.elementwise.instructions import SCALARS, VECTORS
from ...spec.sida import SidaConfig
from ...stream.deep_queue import DeepQueue
from ...stream.fork import Fork
from ...stream.output_register import OutputRegister
from ..elementwise.layouts import stored_layout, values_layout
from ..layouts import count_bits
from .row_join import RowJoin, piece_bytes

__all__ = ["VectorWriter"]

_REQUESTS = 4
"""That wait for their channel where their number is no power of two: as long as that takes."""


class VectorWriter(wiring.Component):
    """Writes rows of vectors, lines or rows at once, whichever are larger, and nothing behind a
    vector's last element: a row or a line a cycle, whichever is larger, if the channels take it.

    Parameters
    ----------
    config: the accelerator's

    Members
    -------
    bases: in; where vectors begin, multiples of a line; constant while anything is under way
    columns: in; elements of each of these vectors, likewise
    stored: see ``stored_layout``. The rows of a vector come ascending, from the first to the last,
        however vectors are mixed; the rows of a block may come more than once, the last time counts
    scalars: values of so many elements as there are scalars, from the first to the last; not while
        anything of ``stored`` is under way
    scalars_base: in; where they go, as ``bases``
    sent: out; bytes that leave in this cycle
    aw, w, b: of each channel (arrays)
    stop, idle, error, error_address: see ``Supervision``; ``idle``: everything is in memory but
        rows whose line is not complete; after ``stop`` vectors and scalars begin again
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        channels = config.channels
        super().__init__(
            {
                "bases": In(data.ArrayLayout(config.addr_bits, VECTORS)),
                "columns": In(count_bits(config)),
                "stored": In(stream.Signature(stored_layout(config))),
                "scalars": In(stream.Signature(values_layout(config))),
                "scalars_base": In(config.addr_bits),
                "sent": Out(range(config.line_bytes + 1)),
                "aw": Out(stream.Signature(address_layout(config.addr_bits))).array(channels),
                "w": Out(stream.Signature(write_layout(config.data_bits))).array(channels),
                "b": In(stream.Signature(response_layout())).array(channels),
                **Supervision(config.addr_bits).members,
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.join = join = RowJoin(config)
        m.submodules.fork = fork = Fork(join.o.payload.shape(), 2, eager=True)
        m.submodules.writer = writer = StripedWriter(
            config.geometry,
            line_blocks=config.line_blocks,
            bytes_bits=piece_bytes(config).bit_length(),
            outstanding=config.outstanding,
            requests=_REQUESTS,
            blocks=2,
        )
        self._take(m, join)
        wiring.connect(m, join.o, fork.i)
        extents, pieces = fork.o
        m.d.comb += [
            join.clear.eq(self.stop),
            fork.clear.eq(self.stop),
            writer.request.valid.eq(extents.valid),
            extents.ready.eq(writer.request.ready),
            writer.request.payload.address.eq(extents.payload.address),
            writer.request.payload.bytes.eq(extents.payload.bytes),
        ]
        self._send(m, pieces, writer)
        supervise(m, self, [writer], busy=join.busy)
        for name in ("aw", "w", "b"):
            for mine, port in zip(getattr(writer, name), getattr(self, name), strict=True):
                wiring.connect(m, mine, wiring.flipped(port))
        return m

    def _take(self, m: Module, join: RowJoin) -> None:
        """Rows of vectors, or of the scalars, which are held where the first vector is."""
        config = self._config
        stored, o = self.stored.payload, join.i.payload
        scalar = Signal(range(SCALARS))
        m.d.comb += [
            join.i.valid.eq(self.stored.valid | self.scalars.valid),
            self.stored.ready.eq(join.i.ready),
            self.scalars.ready.eq(join.i.ready & ~self.stored.valid),
        ]
        with m.If(self.stored.valid):
            m.d.comb += [
                o.slot.eq(stored.vector),
                o.origin.eq(Array(self.bases[n] for n in range(VECTORS))[stored.vector]),
                o.columns.eq(self.columns),
                o.base.eq(stored.row.base),
                o["values"].eq(stored.row["values"]),
            ]
        with m.Else():
            m.d.comb += [
                o.origin.eq(self.scalars_base),
                o.columns.eq(SCALARS),
                o.base.eq(scalar),
                o["values"].eq(self.scalars.payload),
            ]
        with m.If(self.stop):
            m.d.sync += scalar.eq(0)
        with m.Elif(self.scalars.valid & self.scalars.ready):
            # It is a power of two, and so begins again behind the last one.
            m.d.sync += scalar.eq(scalar + config.pes)

    def _send(self, m: Module, pieces: stream.Interface, writer: StripedWriter) -> None:
        """Lines of the pieces; a piece waits here until its request has come to the writer."""
        config = self._config
        count = piece_bytes(config) // config.line_bytes
        piece = data.StructLayout(
            {"bytes": len(pieces.payload.bytes), "data": len(pieces.payload.data)}
        )
        queue: OutputRegister | DeepQueue
        if config.channels & (config.channels - 1):
            queue = DeepQueue(piece, _REQUESTS)
        else:
            queue = OutputRegister(piece, clearable=True)
        m.submodules.pieces = queue
        m.d.comb += [
            queue.clear.eq(self.stop),
            queue.i.valid.eq(pieces.valid),
            pieces.ready.eq(queue.i.ready),
            queue.i.payload.bytes.eq(pieces.payload.bytes),
            queue.i.payload.data.eq(pieces.payload.data),
            writer.i.valid.eq(queue.o.valid),
        ]
        found = queue.o.payload
        left: Value = found.bytes
        line: Value = found.data
        if count > 1:
            number = Signal(range(count))
            left = Signal(len(found.bytes), name="left")
            m.d.comb += left.eq(found.bytes - number * config.line_bytes)
            line = found.data.word_select(number, 8 * config.line_bytes)
            with m.If(self.stop | (queue.o.valid & queue.o.ready)):
                m.d.sync += number.eq(0)
            with m.Elif(writer.i.valid & writer.i.ready):
                m.d.sync += number.eq(number + 1)
        ends = left <= config.line_bytes
        moved = writer.i.valid & writer.i.ready
        m.d.comb += [
            writer.i.payload.eq(line),
            queue.o.ready.eq(writer.i.ready & ends),
            self.sent.eq(Mux(moved, Mux(ends, left, config.line_bytes), 0)),
        ]
