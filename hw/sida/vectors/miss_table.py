"""Blocks of x and z that are on their way to the banks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.ring import moved_count, ring_address
from ..elementwise.layouts import values_layout
from ..layouts import count_bits
from .vector_banks import WAYS, pair_layout, row_request_layout, vector_write_layout
from .window_layouts import (
    block_bits,
    blocks,
    fetch_layout,
    report_layout,
    tag_write_layout,
    window_rows,
)


class RowLane(wiring.Component):
    """Requests operands in order, one per cycle, and keeps those that have arrived.

    For each transfer at ``i`` there is one at ``o``, in the same order, three cycles later at the
    earliest; of a transfer that wants nothing the pair means nothing. It has room for as many as
    its share of the window. Where vectors are in memory it asks again for what was not there, and
    for what it asked for behind that.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: see ``row_request_layout``
    request: out; what is wanted next
    granted: in; it is read, and ``pair`` is the answer in the next cycle
    pair: in; see ``pair_layout``
    waits: out, where vectors are in memory; the answer to a request is to come in this cycle
    hit: in, likewise; ``pair`` is what it wanted
    o: see ``pair_layout``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "i": In(stream.Signature(row_request_layout(config))),
                "request": Out(row_request_layout(config)),
                "granted": In(1),
                "pair": In(pair_layout(config)),
                "o": Out(stream.Signature(pair_layout(config))),
                "clear": In(1),
                **({"waits": Out(1), "hit": In(1)} if config.windowed else {}),
            }
        )

    @property
    def depth(self) -> int:
        return self.config.window // WAYS

    def elaborate(self, platform: object) -> Module:
        m = Module()
        depth = self.depth
        m.submodules.wanted = wanted = Memory(shape=self.i.payload.shape(), depth=depth, init=[])
        m.submodules.came = came = Memory(shape=self.o.payload.shape(), depth=depth, init=[])
        put = Signal()
        asked = Signal()
        arrives = Signal()
        taken = Signal()
        # Operands not requested yet, those that have arrived, and all of them.
        waiting = Signal(range(depth + 1))
        there = Signal(range(depth + 1))
        level = Signal(range(depth + 1))
        moves = {
            "newest": put,
            "next": asked,
            "arrived": arrives,
            "oldest": taken,
        }
        place = {
            name: ring_address(m, name, depth, advance=moved, clear=self.clear)
            for name, moved in moves.items()
        }
        note, look = wanted.write_port(), wanted.read_port(domain="comb")
        store, show = came.write_port(), came.read_port(domain="comb")
        wants = look.data.valid & (waiting != 0)
        m.d.comb += [
            self.i.ready.eq(level != depth),
            put.eq(self.i.valid & self.i.ready),
            note.en.eq(put),
            note.addr.eq(place["newest"]),
            note.data.eq(self.i.payload),
            look.addr.eq(place["next"]),
            self.request.eq(look.data),
            self.request.valid.eq(wants),
            asked.eq(Mux(wants, self.granted, waiting != 0)),
            store.en.eq(arrives),
            store.addr.eq(place["arrived"]),
            store.data.eq(self.pair),
            show.addr.eq(place["oldest"]),
            self.o.payload.eq(show.data),
            self.o.valid.eq(there != 0),
            taken.eq(self.o.valid & self.o.ready),
        ]
        m.d.sync += [
            *([] if self.config.windowed else [arrives.eq(asked & ~self.clear)]),
            waiting.eq(moved_count(waiting, put, asked)),
            there.eq(moved_count(there, arrives, taken)),
            level.eq(moved_count(level, put, taken)),
        ]
        if self.config.windowed:
            missed = self._answer(m, asked & ~self.clear, arrives, wants)
            with m.If(missed):
                # Nothing is asked for in this cycle; what was is what comes next.
                m.d.comb += asked.eq(0)
                m.d.sync += [waiting.eq(waiting + put + 1), place["next"].eq(place["arrived"])]
        with m.If(self.clear):
            m.d.sync += [waiting.eq(0), there.eq(0), level.eq(0)]
            if self.config.windowed:
                m.d.sync += place["next"].eq(0)
        return m

    def _answer(self, m: Module, asked: Value, arrives: Signal, wants: Value) -> Signal:
        """Tells whether the operand requested in the cycle before arrives; returns a miss."""
        answered = Signal()
        missed = Signal()
        m.d.sync += [answered.eq(asked), self.waits.eq(asked & wants)]
        m.d.comb += [
            missed.eq(self.waits & ~self.hit),
            arrives.eq(answered & ~missed),
        ]
        return missed


MISSES = 8
"""Most blocks in flight."""


@dataclass(frozen=True, kw_only=True)
class _Walk:
    """State of a walk of the table.

    ``entry`` and its ``place``; whether it is the turn of z; whether the walk goes on to the next
    entry.
    """

    entry: Any
    place: Value
    is_z: Value
    ends: Value


class MissTable(wiring.Component):
    """Fetches blocks that were missed, several at a time, each to its place in the banks.

    A place that has got its block keeps it until somebody has been served from it, so that each
    block that is fetched serves somebody, and whoever waits is served in the end: it asks for one
    block alone, with nothing before it. As long as that takes the block has an entry of the table,
    and no other block may go to its place. Blocks come in the order in which they are asked for.

    Parameters
    ----------
    config: of the accelerator, whose vectors are in memory

    Members
    -------
    begins: in, a pulse: nothing that is on chip counts any more
    ready: out; that is so everywhere; while it is not, nobody may ask
    columns: in; elements of the vectors
    reports: in; by bank, see :func:`report_layout`
    tag_write: out; see :func:`tag_write_layout`
    x_write, z_write: out; see ``vector_write_layout``, ``base`` on chip
    fetch: stream, see :func:`fetch_layout`
    fetched: rows of what was asked for, in this order; they never wait
    clear: in; forgets everything at the end of the cycle; ``begins`` must follow
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        write = vector_write_layout(config)
        super().__init__(
            {
                "begins": In(1),
                "ready": Out(1),
                "columns": In(count_bits(config)),
                "reports": In(data.ArrayLayout(report_layout(config), config.gather_banks)),
                "tag_write": Out(tag_write_layout(config)),
                "x_write": Out(write),
                "z_write": Out(write),
                "fetch": Out(stream.Signature(fetch_layout(config))),
                "fetched": In(stream.Signature(values_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        entry = data.StructLayout({"block": block_bits(self.config), "x": 1, "z": 1})
        entries = [Signal(entry, name=f"entry_{n}", reset_less=True) for n in range(MISSES)]
        comes = Signal(MISSES)
        # Blocks that have arrived and have not served any lane yet.
        keeps = Signal(MISSES)
        sweeps = self._sweep(m)
        there = self._fill(m, entries, comes, keeps)
        allocated = self._allocate(m, entries, comes, keeps, busy=sweeps | there)
        self._ask(m, entries, allocated)
        for n, one in enumerate(entries):
            served = Cat(
                report.served & self._meet(report.block, one.block) for report in self.reports
            )
            with m.If(keeps[n] & served.any()):
                m.d.sync += keeps[n].eq(0)
        with m.If(self.clear):
            m.d.sync += [comes.eq(0), keeps.eq(0)]
        return m

    def _place(self, block: Value) -> Value:
        return block[: (blocks(self.config) - 1).bit_length()]

    def _meet(self, x: Value, y: Value) -> Value:
        """Tells whether two blocks have the same place."""
        return self._place(x) == self._place(y) if blocks(self.config) > 1 else Const(1)

    def _rows(self, block: Value) -> Value:
        """Returns the number of rows of a block, up to the last element of the vector."""
        config = self.config
        base = block.shift_left((config.window_elements - 1).bit_length())
        left = self.columns - base + (config.pes - 1)
        whole = self.columns >= base + config.window_elements
        lane_bits = (config.pes - 1).bit_length()
        within = left[lane_bits : lane_bits + window_rows(config).bit_length()]
        return Mux(whole, window_rows(config), within)

    def _sweep(self, m: Module) -> Value:
        """Sweeps over all places; returns whether the sweep is in progress."""
        count = blocks(self.config)
        place = Signal(range(max(2, count)), name="swept")
        sweeps = Signal()
        m.d.comb += self.ready.eq(~sweeps & ~self.begins)
        with m.If(sweeps):
            m.d.comb += [self.tag_write.valid.eq(1), self.tag_write.place.eq(place)]
            m.d.sync += place.eq(place + 1)
            with m.If(place == count - 1):
                m.d.sync += sweeps.eq(0)
        with m.If(self.begins):
            m.d.sync += [sweeps.eq(1), place.eq(0)]
        return sweeps

    def _allocate(
        self, m: Module, entries: list[Any], comes: Signal, keeps: Signal, *, busy: Value
    ) -> Signal:
        """Allocates an entry for the first missed block whose place is free.

        Returns whether it does so in this cycle.
        """
        newest = Signal(range(MISSES))
        allocated = Signal()
        free = Signal(len(self.reports))
        chosen = Signal(self.reports[0].shape(), name="missed")
        used = comes | keeps
        for number, report in enumerate(self.reports):
            others = Cat(
                used[n] & self._meet(one.block, report.block) for n, one in enumerate(entries)
            )
            m.d.comb += free[number].eq(report.missed & ~others.any())
        for number in reversed(range(len(self.reports))):
            with m.If(free[number]):
                m.d.comb += chosen.eq(self.reports[number])
        m.d.comb += allocated.eq(free.any() & ~used.bit_select(newest, 1) & ~busy & ~self.clear)
        with m.If(allocated):
            m.d.sync += newest.eq(newest + 1)
            for n, one in enumerate(entries):
                with m.If(newest == n):
                    m.d.sync += [
                        comes[n].eq(1),
                        one.block.eq(chosen.block),
                        one.x.eq(chosen.x),
                        one.z.eq(chosen.z),
                    ]
            # From now on a read of the place misses.
            with m.If(chosen.x):
                m.d.comb += [
                    self.tag_write.valid.eq(1),
                    self.tag_write.place.eq(self._place(chosen.block)),
                ]
        with m.If(self.clear):
            m.d.sync += newest.eq(0)
        return allocated

    def _walk(self, m: Module, name: str, entries: list[Any], moves: Value) -> _Walk:
        """Walks the entries, each once for each vector wanted of it, a step with ``moves``."""
        turn = Signal(name=f"{name}_second")
        ends = Signal(name=f"{name}_ends")
        place = ring_address(m, name, MISSES, advance=ends, clear=self.clear)
        one = Signal(entries[0].shape(), name=f"{name}_entry")
        m.d.comb += [
            one.as_value().eq(Array(entry.as_value() for entry in entries)[place]),
            ends.eq(moves & (turn | ~one.x | ~one.z)),
        ]
        with m.If(self.clear):
            m.d.sync += turn.eq(0)
        with m.Elif(moves):
            m.d.sync += turn.eq(~ends)
        return _Walk(entry=one, place=place, is_z=turn | ~one.x, ends=ends)

    def _ask(self, m: Module, entries: list[Any], allocated: Value) -> None:
        config, fetch = self.config, self.fetch
        unasked = Signal(range(MISSES + 1))
        walk = self._walk(m, "next", entries, fetch.valid & fetch.ready)
        m.d.comb += [
            fetch.valid.eq(unasked != 0),
            fetch.payload.z.eq(walk.is_z),
            fetch.payload.base.eq(
                walk.entry.block.shift_left((config.window_elements - 1).bit_length())
            ),
            fetch.payload.rows.eq(self._rows(walk.entry.block)),
        ]
        m.d.sync += unasked.eq(moved_count(unasked, allocated, walk.ends))
        with m.If(self.clear):
            m.d.sync += unasked.eq(0)

    def _fill(self, m: Module, entries: list[Any], comes: Signal, keeps: Signal) -> Value:
        """Rows to the banks; returns whether a block is complete with this one."""
        config = self.config
        row = Signal(range(window_rows(config)))
        last = Signal(name="last_row")
        came = Signal()
        complete = Signal()
        walk = self._walk(m, "oldest", entries, came & last)
        block = walk.entry.block
        lane_bits = (config.pes - 1).bit_length()
        m.d.comb += [
            self.fetched.ready.eq(1),
            came.eq(self.fetched.valid & ~self.clear),
            last.eq(row + 1 == self._rows(block)),
            complete.eq(walk.ends),
        ]
        for write, wanted in ((self.x_write, ~walk.is_z), (self.z_write, walk.is_z)):
            m.d.comb += [
                write.valid.eq(came & wanted),
                write.base.eq(Cat(Const(0, lane_bits), row, self._place(block))),
                write.mask.eq(~0),
                write["values"].eq(self.fetched.payload),
            ]
        with m.If(came):
            m.d.sync += row.eq(Mux(last, 0, row + 1))
        with m.If(complete):
            m.d.comb += [
                self.tag_write.valid.eq(1),
                self.tag_write.place.eq(self._place(block)),
                self.tag_write.tag.present.eq(1),
                self.tag_write.tag.z.eq(walk.entry.z),
                self.tag_write.tag.tag.eq(block >> (blocks(config) - 1).bit_length()),
            ]
            for n in range(MISSES):
                with m.If(walk.place == n):
                    m.d.sync += [comes[n].eq(0), keeps[n].eq(1)]
        with m.If(self.clear):
            m.d.sync += row.eq(0)
        return complete
