"""Reads the elements of a panel from a sparse matrix by rows in memory."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import Supervision, address_layout, beat_layout, supervise
from ...spec.sida import INDEX_BITS, SidaConfig
from ...stream.fork_join import Fork
from ...stream.gearbox import entry_layout
from ...stream.queue import DeepQueue
from ...stream.ring import moved_count
from ...stream.stream_registers import OutputRegister
from ..held.layouts import reload_layout, reload_request_layout
from ..layouts import count_bits
from .array_entries import ArrayEntries, bus_id_bits, bus_members, connect_bus
from .layouts import rows_job_layout
from .row_elements import RowCut, RowElements
from .row_windows import PANELS_AHEAD, RowWindows, panel_layout, range_layout


def slice_layout(config: SidaConfig) -> data.StructLayout:
    """Request of elements ``lower`` to ``upper - 1``, at least one, of the array at ``address``."""
    return data.StructLayout(
        {"address": config.addr_bits, "lower": INDEX_BITS, "upper": INDEX_BITS}
    )


class ArraySlice(wiring.Component):
    """Reads a slice of an array in blocks of ``pes`` elements: element n at place ``n % pes``.

    A block or a line a cycle, whichever is larger, if the channels deliver it; what is in the
    first line before the slice's first block costs a cycle a block. Slices are read ahead: of as
    many as ``requests`` says, as far as blocks of memory have room.

    Parameters
    ----------
    config: of the accelerator
    element_bytes: of an element, a power of two
    outstanding: blocks of memory that may be under way in a channel
    requests: slices that may be read ahead of the one whose blocks leave, at least 2

    Members
    -------
    request: see :func:`slice_layout`; the address is a multiple of a line
    o: ``data``, ``last`` of its request; elements outside the slice mean nothing
    ar, r: the bus, arrays by channel
    stop, idle, error, error_address: see ``Supervision``; ``idle`` tells of the bus alone
    """

    def __init__(
        self, config: SidaConfig, element_bytes: int, *, outstanding: int, requests: int
    ) -> None:
        self.config: Final = config
        self._element_bytes, self._outstanding = element_bytes, outstanding
        self._requests = requests
        self._block_bytes = config.pes * element_bytes
        id_bits = (config.outstanding - 1).bit_length()
        request = address_layout(config.addr_bits, id_bits)
        super().__init__(
            {
                "request": In(stream.Signature(slice_layout(config))),
                "o": Out(stream.Signature(entry_layout((self._block_bytes,)))),
                "ar": Out(stream.Signature(request)).array(config.channels),
                "r": In(
                    stream.Signature(beat_layout(config.data_bits, id_bits), always_ready=True)
                ).array(config.channels),
                **Supervision(config.addr_bits).members,
            }
        )

    @property
    def element_bytes(self) -> int:
        return self._element_bytes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.entries = entries = ArrayEntries(
            config,
            self._block_bytes,
            outstanding=self._outstanding,
            requests=self._requests,
        )
        for mine, its in zip(self.ar, entries.ar, strict=True):
            wiring.connect(m, its, wiring.flipped(mine))
        for mine, its in zip(self.r, entries.r, strict=True):
            wiring.connect(m, wiring.flipped(mine), its)
        m.d.comb += [
            entries.stop.eq(self.stop),
            *(getattr(self, name).eq(getattr(entries, name)) for name in ("idle", "error")),
            self.error_address.eq(entries.error_address),
        ]
        skipped = self._request(m, entries.request.payload)
        if skipped is None:
            wiring.connect(m, entries.o, wiring.flipped(self.o))
            m.d.comb += [
                entries.request.valid.eq(self.request.valid),
                self.request.ready.eq(entries.request.ready),
            ]
        else:
            self._skip(m, entries, skipped)
        return m

    def _skip(self, m: Module, entries: ArrayEntries, skipped: Signal) -> None:
        """Drops the blocks of a first line that are before the slice."""
        m.submodules.skips = skips = DeepQueue(skipped.shape(), self._requests)
        gone = Signal.like(skipped)
        drops = Signal()
        ends = Signal()
        m.d.comb += [
            entries.request.valid.eq(self.request.valid & skips.i.ready),
            self.request.ready.eq(entries.request.ready & skips.i.ready),
            skips.i.valid.eq(self.request.valid & entries.request.ready),
            skips.i.payload.eq(skipped),
            skips.o.ready.eq(ends),
            skips.clear.eq(self.stop),
            drops.eq(gone != skips.o.payload),
            self.o.valid.eq(entries.o.valid & skips.o.valid & ~drops),
            self.o.payload.eq(entries.o.payload),
            entries.o.ready.eq(skips.o.valid & (self.o.ready | drops)),
            ends.eq(self.o.valid & self.o.ready & self.o.payload.last),
        ]
        with m.If(self.stop | ends):
            m.d.sync += gone.eq(0)
        with m.Elif(entries.o.valid & skips.o.valid & drops):
            m.d.sync += gone.eq(gone + 1)

    def _request(self, m: Module, asked: data.View) -> Signal | None:
        """Requests a slice from the start of a line; returns the blocks read before the slice."""
        pes, line, wanted = self.config.pes, self.config.line_bytes, self.request.payload
        blocks = max(1, line // self._block_bytes)
        first = wanted.lower[pes.bit_length() - 1 :]
        whole = first[blocks.bit_length() - 1 :]
        before = whole.shift_left((blocks * self._block_bytes).bit_length() - 1)
        behind = Signal(INDEX_BITS + 1)
        m.d.comb += [
            asked.address.eq(wanted.address + before),
            asked.bytes.eq(wanted.upper * self._element_bytes - before),
            behind.eq(wanted.upper + (pes - 1)),
            asked.count.eq(behind[pes.bit_length() - 1 :] - whole.shift_left(_shift(blocks))),
        ]
        if blocks == 1:
            return None
        skipped = Signal(_shift(blocks))
        m.d.comb += skipped.eq(first[: _shift(blocks)])
        return skipped


def _shift(count: int) -> int:
    return count.bit_length() - 1


ROW_ARRAYS = ("pointers", "columns", "values")
"""Arrays that are read, in the order of the readers' IDs."""

_INDEX_BYTES = INDEX_BITS // 8

_MOST_PANELS = 2 * PANELS_AHEAD
"""Most panels whose pointers or elements are outstanding or have not left."""


class RowLoader(wiring.Component):
    """Reads panels of a matrix by rows (CSR), ``subtensor`` rows each, as they are requested.

    It reads a panel's pointers, then its columns and values side by side.

    A set a cycle if the channels deliver it: what ``pes`` rows have of a block of ``pes`` elements.
    Element n of the matrix is leaf ``n % pes`` of its set. Panels are read ahead of those whose
    elements leave, each in the order asked for, as far as ``outstanding`` blocks have room.

    An ID of the bus is the number of the array (see ``ROW_ARRAYS``) above the reader's own.

    Source: Exploiting data reuse with inter-operator dataflow, the SIDA microarchitecture (CSR
    loader).

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    job: see ``rows_job_layout``; constant from the first request on
    request: stream, see ``reload_request_layout``; of a panel that has rows
    o: stream, see ``reload_layout``; rows ascending, without sets of which nothing is wanted;
        a panel's last set may be without elements
    pointer_error, column_error, order_error, error_row: see :class:`RowElements`; until ``stop``.
        What is wrong does not leave, nor anything behind it
    read_beats: out; by array, channels that bring it a beat
    ar, r: the bus, arrays by channel
    stop, idle, error, error_address: see ``Supervision``; ``idle``: what was asked for has gone
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "job": In(rows_job_layout(config)),
                "request": In(stream.Signature(reload_request_layout(config))),
                "o": Out(stream.Signature(reload_layout(config))),
                "pointer_error": Out(1),
                "column_error": Out(1),
                "order_error": Out(1),
                "error_row": Out(config.place_bits),
                **bus_members(config, ROW_ARRAYS),
                **Supervision(config.addr_bits).members,
            }
        )

    @property
    def id_bits(self) -> int:
        """Width of an ID of the bus."""
        return bus_id_bits(self.config, len(ROW_ARRAYS))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        half = max(2, config.outstanding // 2)
        readers = {
            name: ArraySlice(config, width, outstanding=most, requests=PANELS_AHEAD)
            for name, width, most in (
                ("pointers", _INDEX_BYTES, max(2, half // 2)),
                ("columns", _INDEX_BYTES, half),
                ("values", config.format.bits // 8, half),
            )
        }
        for name, reader in readers.items():
            m.submodules[f"{name}_slice"] = reader
        m.submodules.windows = windows = RowWindows(config)
        m.submodules.cut = cut = RowCut(config)
        m.submodules.elements = elements = RowElements(config)
        wiring.connect(m, readers["pointers"].o, windows.i)
        wiring.connect(m, windows.o, cut.windows)
        wiring.connect(m, cut.o, elements.i)
        wiring.connect(m, elements.o, wiring.flipped(self.o))
        columns, values = readers["columns"].o, readers["values"].o
        m.d.comb += [
            windows.clear.eq(self.stop),
            cut.clear.eq(self.stop),
            elements.clear.eq(self.stop),
            elements.rows.eq(self.job.rows),
            cut.blocks.valid.eq(columns.valid & values.valid),
            columns.ready.eq(cut.blocks.ready & values.valid),
            values.ready.eq(cut.blocks.ready & columns.valid),
            cut.blocks.payload.columns.eq(columns.payload.data),
            cut.blocks.payload.values.eq(values.payload.data),
        ]
        for name in ("pointer_error", "column_error", "order_error", "error_row"):
            m.d.comb += getattr(self, name).eq(getattr(elements, name))
        busy = self._panels(m, readers, windows)
        self._ranges(m, readers, windows)
        supervise(m, self, list(readers.values()), busy=busy)
        connect_bus(m, config, self, readers)
        return m

    def _panels(self, m: Module, readers: dict[str, ArraySlice], windows: RowWindows) -> Signal:
        """Requests to pointers and their windows. Returns whether a panel is under way."""
        config, job, asked = self.config, self.job, self.request.payload
        shift = config.subtensor.bit_length() - 1
        m.submodules.asked = taken = OutputRegister(reload_request_layout(config), clearable=True)
        m.submodules.panels = both = Fork(panel_layout(config), 2, eager=True)
        count = Signal(range(_MOST_PANELS + 1))
        came = Signal()
        gone = Signal()
        row = Signal(config.place_bits)
        left = Signal(count_bits(config))
        panel = both.i.payload
        m.d.comb += [
            taken.clear.eq(self.stop),
            both.clear.eq(self.stop),
            taken.i.valid.eq(self.request.valid & (count != _MOST_PANELS) & ~self.stop),
            self.request.ready.eq(taken.i.ready & (count != _MOST_PANELS) & ~self.stop),
            taken.i.payload.eq(asked),
            both.i.valid.eq(taken.o.valid),
            taken.o.ready.eq(both.i.ready),
            row.eq(taken.o.payload.panel.shift_left(shift)),
            left.eq(job.rows - row),
            panel.row.eq(row),
            panel.rows.eq(Mux(left < config.subtensor, left, config.subtensor)),
            panel.columns.eq(taken.o.payload.columns),
            came.eq(self.request.valid & self.request.ready),
            gone.eq(self.o.valid & self.o.ready & self.o.payload.last),
        ]
        m.d.sync += count.eq(moved_count(count, came, gone))
        with m.If(self.stop):
            m.d.sync += count.eq(0)
        wiring.connect(m, both.o[0], windows.panels)
        pointers, wanted = readers["pointers"].request, both.o[1]
        m.d.comb += [
            pointers.valid.eq(wanted.valid),
            wanted.ready.eq(pointers.ready),
            pointers.payload.address.eq(job.pointers),
            pointers.payload.lower.eq(wanted.payload.row),
            pointers.payload.upper.eq(wanted.payload.row + wanted.payload.rows + 1),
        ]
        return count != 0

    def _ranges(self, m: Module, readers: dict[str, ArraySlice], windows: RowWindows) -> None:
        """Sends the ranges of the panels' elements to the readers of both arrays."""
        m.submodules.ranges = both = Fork(range_layout(), 2, eager=True)
        given = windows.ranges
        # Pointers that descend are told of without any element.
        some = Signal()
        m.d.comb += [
            both.clear.eq(self.stop),
            some.eq(given.payload.lower < given.payload.upper),
            both.i.valid.eq(given.valid & some),
            both.i.payload.eq(given.payload),
            given.ready.eq(both.i.ready | ~some),
        ]
        for wanted, name in zip(both.o, ("columns", "values"), strict=True):
            request = readers[name].request
            m.d.comb += [
                request.valid.eq(wanted.valid),
                wanted.ready.eq(request.ready),
                request.payload.address.eq(self.job[name]),
                request.payload.lower.eq(wanted.payload.lower),
                request.payload.upper.eq(wanted.payload.upper),
            ]
