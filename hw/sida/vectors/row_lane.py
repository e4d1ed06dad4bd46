"""A leaf's elements whose operands are on their way."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.ring import moved_count, ring_address
from .vector_banks import WAYS, pair_layout, row_request_layout

__all__ = ["RowLane"]


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
        self._config = config
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
    def config(self) -> SidaConfig:
        return self._config

    @property
    def depth(self) -> int:
        return self._config.window // WAYS

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
            *([] if self._config.windowed else [arrives.eq(asked & ~self.clear)]),
            waiting.eq(moved_count(waiting, put, asked)),
            there.eq(moved_count(there, arrives, taken)),
            level.eq(moved_count(level, put, taken)),
        ]
        if self._config.windowed:
            missed = self._answer(m, asked & ~self.clear, arrives, wants)
            with m.If(missed):
                # Nothing is asked for in this cycle; what was is what comes next.
                m.d.comb += asked.eq(0)
                m.d.sync += [waiting.eq(waiting + put + 1), place["next"].eq(place["arrived"])]
        with m.If(self.clear):
            m.d.sync += [waiting.eq(0), there.eq(0), level.eq(0)]
            if self._config.windowed:
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
