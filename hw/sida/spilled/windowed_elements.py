"""Buffers elements on chip for the second product, where w is in memory."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any, Final

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.queue import DeepQueue
from ...stream.ring import moved_count
from ..elementwise.layouts import values_layout
from ..elementwise.row_packer import RowPacker
from ..held.held_elements import HeldElements
from ..held.layouts import place_bits
from ..held.panel_control import PanelControl
from ..layouts import count_bits, results_layout
from ..operators import identity, semiring_range
from .cached_sums import EXCHANGES, CachedSums, row_values_layout
from .exchanged_rows import RowSpill
from .row_exchange import RowExchange


class FirstRows(wiring.Component):
    """Packs the results of columns into rows; transposed, sends rows of the semiring's identity.

    Results never wait, see :class:`RowPacker`.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    start: in, a pulse: a pass begins
    columns, semiring, transposed: in; of the matrix, at least 1; the number of the semiring among
        ``config.operators``; see above; constant during a pass
    valid, results: in; see :func:`results_layout`, columns ascending
    o: stream, see :func:`row_values_layout`, in order; anything behind the last column
    ends: out; where the rows end that were taken
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "start": In(1),
                "columns": In(count_bits(config)),
                "semiring": In(semiring_range(config.operators)),
                "transposed": In(1),
                "valid": In(1),
                "results": In(results_layout(config)),
                "o": Out(stream.Signature(row_values_layout(config))),
                "ends": Out(count_bits(config)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, row = self.config, self.o.payload
        m.submodules.packer = packer = RowPacker(config)
        nothing = Signal(config.format.bits)
        # Rows of the identity are to come.
        empty = Signal()
        takes = Signal()
        following = Signal(len(self.ends) + 1)
        m.d.comb += [
            packer.valid.eq(self.valid & ~self.transposed),
            packer.results.eq(self.results),
            packer.columns.eq(self.columns),
            packer.clear.eq(self.clear),
            packer.o.ready.eq(self.o.ready),
            nothing.eq(identity(config.operators, config.format, self.semiring)),
            self.o.valid.eq(empty | packer.o.valid),
            row.place.eq(self.ends >> config.pes.bit_length() - 1),
            takes.eq(self.o.valid & self.o.ready),
            following.eq(self.ends + config.pes),
        ]
        for given, value in zip(packer.o.payload, row["values"], strict=True):
            m.d.comb += value.eq(Mux(empty, nothing, given))
        with m.If(takes):
            m.d.sync += [self.ends.eq(following), empty.eq(empty & (following < self.columns))]
        with m.If(self.start):
            m.d.sync += [self.ends.eq(0), empty.eq(self.transposed)]
        with m.If(self.clear):
            m.d.sync += empty.eq(0)
        return m


class SumStream(wiring.Component):
    """Fetches all rows of w, in order, as far as its capacity allows.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    start: in, a pulse: begins with the first row
    columns: in; elements of w, at least 1, constant from ``start`` on
    fetch: stream of the rows' numbers
    fetched: stream of their values, always ready
    busy: out; rows that come are its own
    o: stream of rows of w
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        values = stream.Signature(values_layout(config))
        super().__init__(
            {
                "start": In(1),
                "columns": In(count_bits(config)),
                "fetch": Out(stream.Signature(place_bits(config))),
                "fetched": In(values),
                "busy": Out(1),
                "o": Out(values),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        shift = config.pes.bit_length() - 1
        m.submodules.rows = rows = DeepQueue(values_layout(config), EXCHANGES)
        wiring.connect(m, wiring.flipped(self.fetched), rows.i)
        wiring.connect(m, rows.o, wiring.flipped(self.o))
        # Rows that were asked for, and did not leave yet.
        inside = Signal(range(EXCHANGES + 1))
        asks = Signal()
        last = Signal()
        moved = Signal()
        left = Signal()
        m.d.comb += [
            self.fetch.valid.eq(asks & (inside != EXCHANGES)),
            moved.eq(self.fetch.valid & self.fetch.ready),
            left.eq(self.o.valid & self.o.ready),
            last.eq(self.fetch.payload == (self.columns - 1)[shift : len(self.columns)]),
            self.busy.eq(asks | (inside != 0)),
            rows.clear.eq(self.clear),
        ]
        m.d.sync += inside.eq(moved_count(inside, moved, left))
        with m.If(moved):
            m.d.sync += [self.fetch.payload.eq(self.fetch.payload + 1), asks.eq(~last)]
        with m.If(self.start):
            m.d.sync += [self.fetch.payload.eq(0), asks.eq(1)]
        with m.If(self.clear):
            m.d.sync += [asks.eq(0), inside.eq(0)]
        return m


class WindowedElements(HeldElements):
    """Buffers elements as :class:`HeldElements` does, but with w in memory.

    ``vector_words`` elements of w are on chip. The sums are the same, bit for bit, whatever their
    number.

    First values go to memory; a row of w, ``pes`` elements, comes on chip when an element is to be
    added to it, and goes back when another row needs its place, and at the end. A panel is used
    when what its columns begin with is in memory. z is taken no further than first values are.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    start, ..., clear: see :class:`HeldElements`; ``done``: w is in memory
    fetch: stream of the numbers of rows of w that are wanted
    fetched: stream of those rows, in that order; each is taken, whatever else waits
    spill: stream of rows that are to be written, see :func:`row_values_layout`. None that is on its
        way to memory is wanted
    spilled: in, a pulse for each row, in order, not before it was taken: it is in memory
    reads: in, a pulse, while ``done``: w is to be given
    w: stream of its rows, ascending; anything behind its last element
    missed: out; so many rows came on chip; of a pass, kept until the next one begins
    """

    def _members_of_w(self) -> dict[str, Any]:
        config = self.config
        values = values_layout(config)
        return {
            "fetch": Out(stream.Signature(place_bits(config))),
            "fetched": In(stream.Signature(values)),
            "spill": Out(stream.Signature(row_values_layout(config))),
            "spilled": In(1),
            "reads": In(1),
            "w": Out(stream.Signature(values)),
            "missed": Out(32),
        }

    def _bank_of_w(self) -> Any:
        return CachedSums(self.config)

    def _connect_w(
        self, m: Module, control: PanelControl, sums: list[Any], row: Signal
    ) -> list[Value]:
        """Connects initial values to memory, and rows of w between memory and the banks.

        See :class:`HeldElements`.
        """
        m.submodules.first = first = FirstRows(self.config)
        m.submodules.exchange = exchange = RowExchange(self.config)
        m.submodules.spill = spill = RowSpill(self.config)
        m.submodules.rows_of_w = rows = SumStream(self.config)
        for part in (first, exchange, spill, rows):
            m.d.comb += part.clear.eq(self.clear)
        self._exchange_rows(m, exchange, sums)
        self._move_rows(m, exchange, spill, rows)
        self._finish(m, control, exchange, rows)
        wiring.connect(m, first.o, spill.first)
        m.d.comb += [
            first.start.eq(self.start),
            first.columns.eq(self.columns),
            first.semiring.eq(self.semiring),
            first.transposed.eq(self.transposed),
            first.valid.eq(self.first_valid),
            first.results.eq(self.first),
        ]
        with m.If(spill.first_written):
            m.d.sync += control.first_columns.eq(control.first_columns + self.config.pes)
        with m.If(self.start):
            m.d.sync += control.first_columns.eq(0)
        needed = Signal(2)
        m.d.comb += needed.eq(reduce(or_, (part.sides for part in sums)))
        side = row[(self.config.subtensor - 1).bit_length()]
        return [
            row < control.z_end,
            self.transposed | (row < first.ends),
            ~needed.bit_select(side, 1),
        ]

    def _exchange_rows(self, m: Module, exchange: RowExchange, sums: list[Any]) -> None:
        """Connects the banks' requests for rows, and the answers, to the exchange."""
        for n, part in enumerate(sums):
            m.d.comb += [
                part.opens.eq(exchange.opens),
                exchange.wants[n].eq(part.wants),
                exchange.wants[self.config.pes + n].eq(part.wants_ahead),
                part.answered.eq(exchange.answered[n]),
                exchange.uses[n].eq(part.uses),
                part.tags.eq(exchange.tags),
                part.holds.eq(exchange.holds),
                part.reads.eq(exchange.reads),
                part.place.eq(exchange.place),
                exchange.values[n].eq(part.value),
                part.first.valid.eq(exchange.first.valid),
                part.first.place.eq(exchange.first.place),
                part.first.value.eq(exchange.first["values"][n]),
            ]
        with m.If(self.start | self.clear):
            m.d.sync += self.missed.eq(0)
        with m.Elif(exchange.missed):
            m.d.sync += self.missed.eq(self.missed + 1)

    def _move_rows(
        self, m: Module, exchange: RowExchange, spill: RowSpill, rows: SumStream
    ) -> None:
        """Between them and memory: rows are fetched for the banks, or, at the end, to be given."""
        wiring.connect(m, exchange.victims, spill.victims)
        wiring.connect(m, spill.o, wiring.flipped(self.spill))
        wiring.connect(m, rows.o, wiring.flipped(self.w))
        m.d.comb += [
            spill.written.eq(self.spilled),
            exchange.written.eq(spill.victim_written),
            self.fetch.valid.eq(Mux(rows.busy, rows.fetch.valid, exchange.fetch.valid)),
            self.fetch.payload.eq(Mux(rows.busy, rows.fetch.payload, exchange.fetch.payload)),
            rows.fetch.ready.eq(self.fetch.ready & rows.busy),
            exchange.fetch.ready.eq(self.fetch.ready & ~rows.busy),
            rows.fetched.valid.eq(self.fetched.valid & rows.busy),
            exchange.fetched.valid.eq(self.fetched.valid & ~rows.busy),
            rows.fetched.payload.eq(self.fetched.payload),
            exchange.fetched.payload.eq(self.fetched.payload),
            self.fetched.ready.eq(Mux(rows.busy, rows.fetched.ready, exchange.fetched.ready)),
        ]

    def _finish(
        self, m: Module, control: PanelControl, exchange: RowExchange, rows: SumStream
    ) -> None:
        """Writes all rows on chip to memory after the last sum."""
        is_clean = Signal()
        m.d.comb += [
            exchange.flush.eq(control.done & ~is_clean),
            self.done.eq(control.done & is_clean),
            rows.start.eq(self.reads),
            rows.columns.eq(self.columns),
        ]
        with m.If(self.start):
            m.d.sync += is_clean.eq(0)
        with m.Elif(exchange.flushed):
            m.d.sync += is_clean.eq(1)
