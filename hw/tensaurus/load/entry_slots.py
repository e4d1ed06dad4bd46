"""Decodes and checks the entries of a CISS stream, slot by slot."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import TensaurusConfig
from ...stream.gearbox import entry_layout
from ...stream.stream_registers import OutputRegister
from ..layouts import SlotKind, job_layout, slot_layout, tile_layout

__all__ = ["EntrySlots", "entry_sizes", "row_slots_layout"]

_FAULTS = ("stream", "slice", "index")
"""Faults of a slot; the first of several is reported."""


def entry_sizes(config: TensaurusConfig) -> tuple[int, ...]:
    """Bytes of an entry, by the tensor's order less 2."""
    return tuple(config.layout(order).entry_bytes for order in range(2, config.order + 1))


def row_slots_layout(config: TensaurusConfig) -> data.StructLayout:
    """A slot for each row, where ``present`` has the row's bit."""
    slots = data.ArrayLayout(slot_layout(config), config.rows)
    return data.StructLayout({"present": config.rows, "slots": slots})


def _raw_layout(config: TensaurusConfig) -> data.StructLayout:
    """Decoded slot: ``header`` (a no-op is one, too), ``no_op``, ``beyond`` (an index, or the
    slice, is not below its size), and the slice ``before`` it in the stream, if one ``follows``."""
    index = data.ArrayLayout(config.index_bits, config.order - 1)
    fields: dict[str, ShapeLike] = {"value": config.format.bits, "index": index}
    flags = dict.fromkeys(("header", "no_op", "beyond", "follows"), 1)
    return data.StructLayout({**fields, **flags, "before": config.index_bits})


class EntrySlots(wiring.Component):
    """Converts an entry's slots for the rows, and stops at the first faulty entry.

    A row gets its headers, values, and an ``END`` for its first no-op; nothing for those behind.
    Wrong is an index that is not below its mode's size; a slice that is not below ``slices``, or
    not above all slices before it; a value before the row's first header, anything but a no-op
    behind its first, or in the last entry. Of a wrong entry the first wrong slot tells what it is;
    none of its slots leaves, and nothing behind it.

    An entry a cycle, over tiles too. Latency two cycles.

    Members
    -------
    job: in; constant
    tiles: of which the entries are; each is accepted with its last entry
    entries: see ``entry_layout`` of the gearbox
    o: see :func:`row_slots_layout`
    stream_error, slice_error, index_error: out; what is wrong, until ``clear``
    error_entry, error_tile: out; with an error, the numbers of the entry in its tile and of that
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "tiles": In(stream.Signature(tile_layout(config))),
                "entries": In(stream.Signature(entry_layout(entry_sizes(config)))),
                "o": Out(stream.Signature(row_slots_layout(config))),
                **{f"{fault}_error": Out(1) for fault in _FAULTS},
                "error_entry": Out(32),
                "error_tile": Out(32),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        numbers: dict[str, ShapeLike] = {"last": 1, "entry": 32, "tile": 32}
        raw = data.ArrayLayout(_raw_layout(config), config.rows)
        m.submodules.seen = seen = OutputRegister(
            data.StructLayout({"slots": raw, **numbers}), clearable=True
        )
        judged_fields = {"row_slots": row_slots_layout(config), "faults": len(_FAULTS), **numbers}
        m.submodules.judged = judged = OutputRegister(
            data.StructLayout(judged_fields), clearable=True
        )
        m.d.comb += [seen.clear.eq(self.clear), judged.clear.eq(self.clear)]
        self._see(m, seen)
        self._judge(m, seen, judged)
        verdict = judged.o.payload
        wrong = Signal()
        m.d.comb += [
            wrong.eq(verdict.faults.any()),
            self.o.valid.eq(judged.o.valid & ~wrong),
            judged.o.ready.eq(self.o.ready & ~wrong),
            self.o.payload.eq(verdict.row_slots),
            self.error_entry.eq(verdict.entry),
            self.error_tile.eq(verdict.tile),
        ]
        for bit, fault in enumerate(_FAULTS):
            m.d.comb += getattr(self, f"{fault}_error").eq(judged.o.valid & verdict.faults[bit])
        return m

    def _fields(self, row: int) -> tuple[Value, list[Value]]:
        """Value and indices of a row's slot, by the order of the tensor."""
        config = self._config
        values, indices = [], []
        for order in range(2, config.order + 1):
            layout = config.layout(order)
            bits = config.format.bits
            slot = self.entries.payload.data[row * layout.slot_bits : (row + 1) * layout.slot_bits]
            values.append(slot[:bits])
            parts = [
                slot[bits + n * config.index_bits : bits + (n + 1) * config.index_bits]
                for n in range(order - 1)
            ]
            indices.append(parts + [Const(0)] * (config.order - order))
        chosen = (self.job.order - 2)[: max(1, (len(values) - 1).bit_length())]
        if len(values) == 1:
            return values[0], indices[0]
        return Array(values)[chosen], [
            Array(indices[n][mode] for n in range(len(values)))[chosen]
            for mode in range(config.order - 1)
        ]

    def _see(self, m: Module, seen: OutputRegister) -> None:
        """Accepts an entry: decodes its slots, and records the slice announced before each."""
        config = self._config
        layout = config.layout(2)
        tile = self.tiles.payload
        entry = Signal(32)
        # The last slice that was announced in the tile, if one was.
        announced = Signal()
        announced_slice = Signal(config.index_bits, reset_less=True)
        follows: Value = announced
        before: Value = announced_slice
        for row in range(config.rows):
            slot: Any = seen.i.payload.slots[row]
            value, index = self._fields(row)
            number = index[0][: layout.number_bits]
            m.d.comb += [
                slot.value.eq(value),
                slot.index[0].eq(number),
                *(slot.index[n].eq(index[n]) for n in range(1, config.order - 1)),
                slot.header.eq(
                    value == 0 if config.marker == "zero" else index[0][layout.number_bits]
                ),
                slot.no_op.eq(slot.header & index[0].all()),
                slot.follows.eq(follows),
                slot.before.eq(before),
            ]
            beyond = [
                (self.job.order > mode) & (slot.index[mode - 1] >= tile[f"size_{mode}"])
                for mode in range(1, config.order)
            ]
            m.d.comb += slot.beyond.eq(Mux(slot.header, number >= tile.slices, Cat(beyond).any()))
            names = slot.header & ~slot.no_op
            next_follows = Signal(name=f"follows_{row + 1}")
            next_before = Signal(config.index_bits, name=f"before_{row + 1}")
            m.d.comb += [
                next_follows.eq(names | follows),
                next_before.eq(Mux(names, number, before)),
            ]
            follows, before = next_follows, next_before
        moves = Signal()
        m.d.comb += [
            seen.i.valid.eq(self.entries.valid & self.tiles.valid),
            moves.eq(seen.i.valid & seen.i.ready),
            self.entries.ready.eq(self.tiles.valid & seen.i.ready),
            self.tiles.ready.eq(moves & self.entries.payload.last),
            seen.i.payload.last.eq(self.entries.payload.last),
            seen.i.payload.entry.eq(entry),
            seen.i.payload.tile.eq(tile.number),
        ]
        with m.If(moves):
            m.d.sync += [
                entry.eq(entry + 1),
                announced.eq(follows),
                announced_slice.eq(before),
            ]
        with m.If(self.clear | self.tiles.ready):
            m.d.sync += [entry.eq(0), announced.eq(0)]

    def _judge(self, m: Module, seen: OutputRegister, judged: OutputRegister) -> None:
        """Judges an entry: decides the slot that each row receives, and the first fault."""
        rows = self._config.rows
        source, verdict = seen.o.payload, judged.i.payload
        # Rows that had a header in the tile, and those that had a no-op.
        started = Signal(rows)
        ended = Signal(rows)
        headers = Signal(rows)
        no_ops = Signal(rows)
        faults = [Signal(len(_FAULTS), name=f"faults_{row}") for row in range(rows)]
        for row in range(rows):
            slot: Any = source.slots[row]
            out: Any = verdict.row_slots.slots[row]
            value = ~slot.header
            late = slot.follows & (slot.index[0] <= slot.before)
            stray = (ended[row] | source.last) & ~slot.no_op | (value & ~started[row])
            kinds = Mux(slot.no_op, SlotKind.END, Mux(slot.header, SlotKind.HEADER, SlotKind.VALUE))
            m.d.comb += [
                headers[row].eq(slot.header & ~slot.no_op),
                no_ops[row].eq(slot.no_op),
                verdict.row_slots.present[row].eq(~(slot.no_op & ended[row])),
                out.kind.eq(kinds),
                out.value.eq(slot.value),
                out.index.eq(slot.index),
            ]
            with m.If(stray):
                m.d.comb += faults[row].eq(1 << _FAULTS.index("stream"))
            with m.Elif(headers[row] & (slot.beyond | late)):
                m.d.comb += faults[row].eq(1 << _FAULTS.index("slice"))
            with m.Elif(value & slot.beyond):
                m.d.comb += faults[row].eq(1 << _FAULTS.index("index"))
        for row in reversed(range(rows)):
            with m.If(faults[row].any()):
                m.d.comb += verdict.faults.eq(faults[row])
        m.d.comb += [
            judged.i.valid.eq(seen.o.valid),
            seen.o.ready.eq(judged.i.ready),
            verdict.last.eq(source.last),
            verdict.entry.eq(source.entry),
            verdict.tile.eq(source.tile),
        ]
        with m.If(judged.i.valid & judged.i.ready):
            m.d.sync += [started.eq(started | headers), ended.eq(ended | no_ops)]
            with m.If(source.last):
                m.d.sync += [started.eq(0), ended.eq(0)]
        with m.If(self.clear):
            m.d.sync += [started.eq(0), ended.eq(0)]
