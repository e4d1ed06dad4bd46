"""Rows of vectors to memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Member, Out

from ...axi.layouts import Supervision, address_layout, response_layout, supervise, write_layout
from ...channels.striped_writer import StripedWriter
from ...spec.elementwise.instructions import SCALARS, VECTORS
from ...spec.sida import SidaConfig
from ...stream.fork_join import Fork
from ...stream.queue import DeepQueue
from ...stream.ring import moved_count
from ...stream.stream_registers import OutputRegister
from ..elementwise.layouts import row_layout, stored_layout, values_layout
from ..layouts import count_bits
from .row_lines import RowJoin
from .window_layouts import OPERAND, STORED_KINDS, SUMS, kept_sums_layout, line_layout


class Acknowledgements(wiring.Component):
    """Reports, in the order in which lines left, when they are in memory.

    They are when every channel that got a block has answered as often as it got one until then.
    Answers of a channel arrive in order.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: lines that leave, see :func:`line_layout`; the queue has room for four times as many as
        blocks may be under way in a channel
    answers: in; by channel; a response has come
    complete: out; by kind; a last line of that kind is in memory, and all before it
    busy: out; there are lines that are not
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "i": In(stream.Signature(line_layout(config))),
                "answers": In(config.channels),
                "complete": Out(STORED_KINDS),
                "busy": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        depth = 4 * self.config.outstanding
        m.submodules.lines = lines = DeepQueue(line_layout(self.config), depth)
        wiring.connect(m, wiring.flipped(self.i), lines.i)
        oldest = lines.o.payload
        leaves = Signal()
        there = []
        for channel in range(self.config.channels):
            # Answers that no reported line has used yet.
            answers = Signal(range(depth + 3), name=f"answers_{channel}")
            own = oldest.channels[channel]
            there.append(~own | (answers != 0))
            m.d.sync += answers.eq(moved_count(answers, self.answers[channel], leaves & own))
            with m.If(self.clear):
                m.d.sync += answers.eq(0)
        level = Signal(range(depth + 2))
        m.d.comb += [
            leaves.eq(lines.o.valid & Cat(there).all()),
            lines.o.ready.eq(leaves),
            lines.clear.eq(self.clear),
            self.busy.eq(level != 0),
            self.complete.eq(Mux(leaves & oldest.last, 1 << oldest.kind, 0)),
        ]
        m.d.sync += level.eq(moved_count(level, self.i.valid & self.i.ready, leaves))
        with m.If(self.clear):
            m.d.sync += level.eq(0)
        return m


_REQUESTS = 4
"""Requests queued while their channels are computed: only if these are no power of two."""


def _window_members(config: SidaConfig) -> dict[str, Member]:
    """Returns the ports for vectors in memory; none if vectors are on chip."""
    if not config.windowed:
        return {}
    return {
        "operands": In(stream.Signature(row_layout(config))),
        "operand_base": In(config.addr_bits),
        "sums": In(stream.Signature(kept_sums_layout(config))),
        "sums_base": In(config.addr_bits),
        "complete": Out(STORED_KINDS),
        "sent_windows": Out(range(config.line_bytes + 1)),
    }


@dataclass(frozen=True, kw_only=True)
class _Sent:
    """Writes in progress: queued pieces; whether a line leaves, and ends its piece."""

    queue: OutputRegister | DeepQueue
    moved: Value
    ends: Value


class VectorWriter(wiring.Component):
    """Writes rows of vectors, and nothing after a vector's last element.

    It writes lines or rows at once, whichever are larger: one per cycle, if the channels accept it.

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
    operands, operand_base: where vectors are in memory; rows of x, or of z, ascending, and where it
        begins; taken when nothing of ``stored`` is offered
    sums, sums_base: likewise; rows of w, in any order, each to the line of that number, or to as
        many as a row has; see ``kept_sums_layout``
    complete: out, likewise; by kind, ``OPERAND`` and ``SUMS``; a line, or a row, whichever is
        larger, is in memory; in the order in which they came
    sent: out; bytes that leave in this cycle
    sent_windows: out, where vectors are in memory; of these, those of operands and sums
    aw, w, b: of each channel (arrays)
    stop, idle, error, error_address: see ``Supervision``; ``idle``: everything is in memory but
        rows whose line is not complete; after ``stop`` vectors and scalars begin again
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        channels = config.channels
        super().__init__(
            {
                "bases": In(data.ArrayLayout(config.addr_bits, VECTORS)),
                "columns": In(count_bits(config)),
                "stored": In(stream.Signature(stored_layout(config))),
                "scalars": In(stream.Signature(values_layout(config))),
                "scalars_base": In(config.addr_bits),
                **_window_members(config),
                "sent": Out(range(config.line_bytes + 1)),
                "aw": Out(stream.Signature(address_layout(config.addr_bits))).array(channels),
                "w": Out(stream.Signature(write_layout(config.data_bits))).array(channels),
                "b": In(stream.Signature(response_layout())).array(channels),
                **Supervision(config.addr_bits).members,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.join = join = RowJoin(config)
        m.submodules.fork = fork = Fork(join.o.payload.shape(), 2, eager=True)
        m.submodules.writer = writer = StripedWriter(
            config.geometry,
            line_blocks=config.line_blocks,
            bytes_bits=config.piece_bytes.bit_length(),
            outstanding=config.outstanding,
            requests=_REQUESTS,
            blocks=2,
        )
        self._take(m, join)
        busy: Value = join.busy
        acknowledged = None
        if config.windowed:
            self._take_windows(m, join)
            acknowledged = self._acknowledge(m, writer)
            busy = busy | acknowledged.busy
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
        line = self._send(m, pieces, writer)
        if acknowledged is not None:
            self._follow(m, line, writer, acknowledged)
        supervise(m, self, [writer], busy=busy)
        for name in ("aw", "w", "b"):
            for mine, port in zip(getattr(writer, name), getattr(self, name), strict=True):
                wiring.connect(m, mine, wiring.flipped(port))
        return m

    def _take(self, m: Module, join: RowJoin) -> None:
        """Rows of vectors, or of the scalars, which are held where the first vector is."""
        config = self.config
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

    def _take_windows(self, m: Module, join: RowJoin) -> None:
        """Accepts sums, or operands, where the program offers nothing.

        Their lines are held where those of no vector are. A row of w is the last one of its line,
        which has no other row.
        """
        config, o = self.config, join.i.payload
        sums, operands = self.sums, self.operands
        size = config.piece_bytes
        elements = size * 8 // config.format.bits
        place = sums.payload.row.shift_left(size.bit_length() - 1)
        m.d.comb += [
            sums.ready.eq(join.i.ready & ~self.stored.valid),
            operands.ready.eq(join.i.ready & ~self.stored.valid & ~sums.valid),
        ]
        with m.If(~self.stored.valid & (sums.valid | operands.valid)):
            m.d.comb += [join.i.valid.eq(1), o.slot.eq(VECTORS), self.scalars.ready.eq(0)]
            with m.If(sums.valid):
                m.d.comb += [
                    o.kind.eq(SUMS),
                    o.origin.eq(self.sums_base + place),
                    o.columns.eq(elements),
                    o.base.eq(elements - config.pes),
                    o["values"].eq(sums.payload["values"]),
                ]
            with m.Else():
                m.d.comb += [
                    o.kind.eq(OPERAND),
                    o.origin.eq(self.operand_base),
                    o.columns.eq(self.columns),
                    o.base.eq(operands.payload.base),
                    o["values"].eq(operands.payload["values"]),
                ]

    def _acknowledge(self, m: Module, writer: StripedWriter) -> Acknowledgements:
        m.submodules.acknowledged = acknowledged = Acknowledgements(self.config)
        # Answers of the bus after a stop are to lines that were dropped.
        drains = Signal()
        with m.If(self.stop):
            m.d.sync += drains.eq(1)
        with m.Elif(writer.idle):
            m.d.sync += drains.eq(0)
        m.d.comb += [
            acknowledged.clear.eq(self.stop | drains),
            acknowledged.answers.eq(Cat(b.valid & b.ready for b in self.b)),
            self.complete.eq(acknowledged.complete),
        ]
        return acknowledged

    def _send(self, m: Module, pieces: stream.Interface, writer: StripedWriter) -> _Sent:
        """Lines of the pieces; a piece waits here until its request has come to the writer."""
        config = self.config
        count = config.piece_bytes // config.line_bytes
        carried = ("bytes", "data", "kind") if config.windowed else ("bytes", "data")
        piece = data.StructLayout({name: len(pieces.payload[name]) for name in carried})
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
            *(queue.i.payload[name].eq(pieces.payload[name]) for name in carried),
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
        return _Sent(queue=queue, moved=moved, ends=ends)

    def _follow(
        self, m: Module, sent: _Sent, writer: StripedWriter, acknowledged: Acknowledgements
    ) -> None:
        """Lines on their way, as long as there is room to remember them."""
        line, queue = acknowledged.i, sent.queue
        m.d.comb += [
            writer.i.valid.eq(queue.o.valid & line.ready),
            queue.o.ready.eq(writer.i.ready & sent.ends & line.ready),
            line.valid.eq(sent.moved),
            line.payload.kind.eq(queue.o.payload.kind),
            line.payload.channels.eq(writer.wrote),
            line.payload.last.eq(sent.ends),
            self.sent_windows.eq(Mux(queue.o.payload.kind == 0, 0, self.sent)),
        ]
