"""Reads a sparse matrix by columns from memory and forms sets of its elements."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import Supervision, supervise
from ...spec.sida import INDEX_BITS, SidaConfig
from ...stream.gearbox import entry_layout
from ...stream.stream_registers import OutputRegister
from ..layouts import count_bits, set_layout
from .array_entries import ArrayEntries, bus_id_bits, bus_members, connect_bus
from .column_sets import ColumnCut, SetLeaves
from .layouts import job_layout, window_layout


class ColumnEnds(wiring.Component):
    """Makes windows of pointers: where a column ends is where the next one begins.

    A window a cycle; of a matrix of so many columns that its last pointer stands alone in its
    entry, as many windows as entries but one.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: entries of as many pointers as a window has columns, of ``columns + 1`` pointers
    columns, elements: in; of the matrix, constant while entries come
    o: see ``window_layout``; of the first window the first column is bad, too, if it does not
        begin at 0
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        entry = entry_layout((config.pes * INDEX_BITS // 8,))
        super().__init__(
            {
                "i": In(stream.Signature(entry)),
                "columns": In(count_bits(config)),
                "elements": In(INDEX_BITS),
                "o": Out(stream.Signature(window_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self.config.pes
        m.submodules.made = made = OutputRegister(self.o.payload.shape(), clearable=True)
        wiring.connect(m, made.o, wiring.flipped(self.o))
        held = Signal(size * INDEX_BITS, reset_less=True)
        holds = Signal()
        # The held block has the last pointer, and columns of its own.
        closes = Signal()
        goes = Signal()
        alone = Signal()
        m.d.comb += [
            alone.eq(self.columns[: size.bit_length() - 1] == 0),
            made.clear.eq(self.clear),
            made.i.valid.eq(holds & (closes | self.i.valid)),
            self.i.ready.eq(~closes & (~holds | made.i.ready)),
            goes.eq(made.i.valid & made.i.ready),
        ]
        with m.If(self.i.valid & self.i.ready):
            ends = self.i.payload.last & alone
            m.d.sync += [
                held.eq(self.i.payload.data),
                holds.eq(~ends),
                closes.eq(self.i.payload.last & ~alone),
            ]
        with m.Elif(goes):
            m.d.sync += [holds.eq(0), closes.eq(0)]
        with m.If(self.clear):
            m.d.sync += [holds.eq(0), closes.eq(0)]
        self._window(m, held, made.i.payload, goes)
        return m

    def _window(self, m: Module, held: Signal, window: Value, goes: Value) -> None:
        """Forms a window from the pointers that are held and the pointer that arrives."""
        config, size = self.config, self.config.pes
        pointers = [held[n * INDEX_BITS : (n + 1) * INDEX_BITS] for n in range(size)]
        pointers.append(self.i.payload.data[:INDEX_BITS])
        column = Signal(count_bits(config))
        left = Signal.like(column)
        m.d.comb += left.eq(self.columns - column)
        wrong = []
        for n in range(size):
            begin, end, present = pointers[n], pointers[n + 1], window.present[n]
            bad = (end < begin) | (end > self.elements)
            if n == 0:
                bad |= (column == 0) & (begin != 0)
            wrong.append(present & bad)
            m.d.comb += [
                present.eq(left > n),
                window.ends[n].eq(Mux(present, end, self.elements)),
                window.whole[n].eq(~present | (end == self.elements)),
            ]
        m.d.comb += [
            window.bad.eq(Cat(wrong)),
            window.first.eq(column[: config.subtensor.bit_length() - 1] == 0),
            window.last.eq(left <= size),
        ]
        with m.If(goes):
            m.d.sync += column.eq(column + size)
        with m.If(self.clear):
            m.d.sync += column.eq(0)


ARRAYS = ("pointers", "rows", "values")
"""Arrays that are read, in the order of the readers' IDs."""

_INDEX_BYTES = INDEX_BITS // 8


class ColumnLoader(wiring.Component):
    """Reads a matrix by columns (CSC), once, in order.

    It reads the last pointer, which is the number of elements, then pointers, rows and values side
    by side.

    ``pes`` elements a cycle if the channels deliver them: element n is leaf ``n % pes`` of its set.
    Where a step ends, or a set would have more than ``pes`` columns, it goes in two parts, cut
    between columns. Columns without elements go by ``pes`` a cycle, but only columns of one step.

    An ID of the bus is the number of the array (see ``ARRAYS``) above the reader's own.

    Source: Exploiting data reuse with inter-operator dataflow, the SIDA microarchitecture (CSC
    loader).

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    job: see ``job_layout``; constant from ``start`` on
    start: in, a pulse when ``idle``
    o: see ``set_layout``; the last one is final
    pointer_error, row_error, order_error, error_column: see :class:`SetLeaves`; until ``stop``. An
        end behind the last pointer is an error like one that is before the column's begin. What is
        wrong does not leave, nor anything behind it
    read_beats: out; by array, channels that bring it a beat
    ar, r: the bus, arrays by channel
    stop, idle, error, error_address: see ``Supervision``; ``idle``: all sets were taken
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "start": In(1),
                "o": Out(stream.Signature(set_layout(config))),
                "pointer_error": Out(1),
                "row_error": Out(1),
                "order_error": Out(1),
                "error_column": Out(config.place_bits),
                **bus_members(config, ARRAYS),
                **Supervision(config.addr_bits).members,
            }
        )

    @property
    def id_bits(self) -> int:
        """Width of an ID of the bus."""
        return bus_id_bits(self.config, len(ARRAYS))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, pes = self.config, self.config.pes
        most = config.outstanding
        readers = {
            "pointers": (config.pes * _INDEX_BYTES, max(2, most // 4)),
            "rows": (pes * _INDEX_BYTES, most),
            "values": (pes * config.format.bits // 8, most),
        }
        entries = {}
        for name, (entry_bytes, outstanding) in readers.items():
            entries[name] = ArrayEntries(config, entry_bytes, outstanding=outstanding)
            m.submodules[f"{name}_entries"] = entries[name]
        m.submodules.ends = ends = ColumnEnds(config)
        m.submodules.cut = cut = ColumnCut(config)
        m.submodules.leaves = leaves = SetLeaves(config)
        wiring.connect(m, ends.o, cut.windows)
        wiring.connect(m, cut.o, leaves.i)
        wiring.connect(m, leaves.o, wiring.flipped(self.o))
        for part in (ends, cut, leaves):
            m.d.comb += [part.clear.eq(self.stop | self.start), part.columns.eq(self.job.columns)]
        rows, values = entries["rows"].o, entries["values"].o
        m.d.comb += [
            cut.blocks.valid.eq(rows.valid & values.valid),
            rows.ready.eq(cut.blocks.ready & values.valid),
            values.ready.eq(cut.blocks.ready & rows.valid),
            cut.blocks.payload.rows.eq(rows.payload.data),
            cut.blocks.payload.values.eq(values.payload.data),
        ]
        for name in ("pointer_error", "row_error", "order_error", "error_column"):
            m.d.comb += getattr(self, name).eq(getattr(leaves, name))
        self._read(m, entries, ends, cut)
        busy = Signal()
        with m.If(self.stop | (self.o.valid & self.o.ready & self.o.payload.final)):
            m.d.sync += busy.eq(0)
        with m.Elif(self.start):
            m.d.sync += busy.eq(1)
        supervise(m, self, list(entries.values()), busy=busy)
        connect_bus(m, config, self, entries)
        return m

    def _read(
        self, m: Module, entries: dict[str, ArrayEntries], ends: ColumnEnds, cut: ColumnCut
    ) -> None:
        """Reads the last pointer by itself, then all arrays."""
        size = self.config.pes
        pointers, found = entries["pointers"], entries["pointers"].o
        elements = Signal(INDEX_BITS)
        alone = Signal()
        looks = Signal()
        asks = Signal(len(ARRAYS))
        words = Array(found.payload.data[n * INDEX_BITS :][:INDEX_BITS] for n in range(size))
        with m.FSM(name="state"):
            with m.State("run"), m.If(self.start & ~self.stop):
                m.next = "ask"
            with m.State("ask"):
                # It is taken with the last entry, which then is at the output.
                m.d.comb += [alone.eq(1), looks.eq(1)]
                with m.If(pointers.request.ready):
                    m.next = "look"
                self._forget(m)
            with m.State("look"):
                m.d.comb += looks.eq(1)
                with m.If(found.valid & found.payload.last):
                    m.d.sync += elements.eq(words[self._index(size)])
                    m.next = "known"
                self._forget(m)
            with m.State("known"):
                m.d.comb += cut.start.eq(1)
                m.d.sync += asks.eq(Mux(elements == 0, 0b001, 0b111))
                m.next = "run"
                self._forget(m)
        m.d.comb += [
            ends.i.valid.eq(found.valid & ~looks),
            ends.i.payload.eq(found.payload),
            found.ready.eq(ends.i.ready | looks),
            ends.elements.eq(elements),
            cut.elements.eq(elements),
        ]
        for number, name in enumerate(ARRAYS):
            request = entries[name].request
            m.d.comb += request.valid.eq(asks[number])
            with m.If(asks[number] & request.ready):
                m.d.sync += asks[number].eq(0)
        with m.If(self.stop):
            m.d.sync += asks.eq(0)
        self._request(m, entries, elements, alone)

    def _forget(self, m: Module) -> None:
        with m.If(self.stop):
            m.next = "run"

    def _index(self, size: int) -> Value:
        """Returns the last pointer's place in its entry, or in its line."""
        within = min(size, self.config.line_bytes // _INDEX_BYTES)
        return self.job.columns[: within.bit_length() - 1]

    def _request(
        self, m: Module, entries: dict[str, ArrayEntries], elements: Value, alone: Value
    ) -> None:
        """Requests the arrays; with ``alone``, the last pointer and those before it in its line."""
        config, job = self.config, self.job
        size, line = config.pes, config.line_bytes // _INDEX_BYTES
        shift = line.bit_length() - 1
        place = job.columns[:shift]
        skipped = job.columns[shift:].shift_left(config.line_bytes.bit_length() - 1)
        pointers = entries["pointers"].request
        with m.If(alone):
            m.d.comb += [
                pointers.valid.eq(1),
                pointers.payload.address.eq(job.pointers + skipped),
                pointers.payload.bytes.eq((place + 1) * _INDEX_BYTES),
                pointers.payload.count.eq(place[size.bit_length() - 1 :] + 1),
            ]
        with m.Else():
            m.d.comb += [
                pointers.payload.address.eq(job.pointers),
                pointers.payload.bytes.eq((job.columns + 1) * _INDEX_BYTES),
                pointers.payload.count.eq(job.columns[size.bit_length() - 1 :] + 1),
            ]
        widths = {"rows": _INDEX_BYTES, "values": config.format.bits // 8}
        for name, width in widths.items():
            asked = entries[name].request.payload
            m.d.comb += [
                asked.address.eq(job[name]),
                asked.bytes.eq(elements * width),
                asked.count.eq((elements + (config.pes - 1))[config.pes.bit_length() - 1 :]),
            ]
