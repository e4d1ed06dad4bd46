"""Which panels are kept, and which were given up and are asked for again."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.written_word import reads_with_writes
from ..layouts import count_bits
from .layouts import panel_bits, panels, reload_request_layout

__all__ = ["PanelsAhead"]


class PanelsAhead(wiring.Component):
    """Decides panel by panel, ahead of their use: one that has all of its elements is kept, and
    not given up any more; the rows of one that was given up are asked for.

    So what is asked for stays lost, and is used in the order of the requests, however far ahead. A
    panel that is kept needs no space for anything that it waits for. After a reset or a clear
    ``walk`` goes over all panels, one a cycle, as that of :class:`PanelLists` does.

    Transposed, panels are of columns, and asked for when all of these have come: what is wrong with
    them is known then.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    start: in, a pulse: a pass begins
    running: in; it is under way
    columns, transposed: in; of the matrix, at least 1; see above; constant during a pass
    boundary: in; where the step ends whose columns come
    needs, complete: out, in; steps whose elements are asked for; they are all there
    gives_up, panel: in; a panel is given up that was not before
    holds: in; a panel is about to be given up, so none is kept in this cycle
    due: in; the panel that is used, or the next one
    uses: in; the panel that is due has been used; the next one is due in the next cycle; not with
        ``gives_up``
    decided: out; all of its elements came, and it is kept, or asked for
    lost: out, with ``decided``; it is asked for
    first: out; panels below it must not be given up
    request: stream, see :func:`reload_request_layout`
    clear: in; forgets everything
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        count = range(panels(config) + 1)
        super().__init__(
            {
                "start": In(1),
                "running": In(1),
                "columns": In(count_bits(config)),
                "transposed": In(1),
                "boundary": In(range(config.most_rows + 3 * config.subtensor + 1)),
                "needs": Out(count),
                "complete": In(1),
                "gives_up": In(1),
                "panel": In(panel_bits(config)),
                "holds": In(1),
                "due": In(panel_bits(config)),
                "uses": In(1),
                "decided": Out(1),
                "lost": Out(1),
                "first": Out(count),
                "request": Out(stream.Signature(reload_request_layout(config))),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        first, step = self.first, config.subtensor
        whole = self._whole(m)
        following = Signal.like(first)
        # Where the columns end of which the first panel's elements wait.
        end = Signal(range(config.most_rows + 3 * step + 1))
        may_ask = Signal()
        bounded = Signal()
        asked = Signal()
        keeps = Signal()
        is_lost, due_is_lost = self._bits(m, following)
        m.d.comb += [
            self.decided.eq((whole > self.due) & (first > self.due)),
            self.lost.eq(due_is_lost),
            may_ask.eq(self.running & (~self.transposed | (self.boundary >= end))),
            self.request.valid.eq(is_lost & may_ask & self._is_there(first)),
            self.request.payload.panel.eq(first),
            bounded.eq((end < self.columns) & ~self.transposed),
            self.request.payload.columns.eq(Mux(bounded, end, self.columns)),
            asked.eq(self.request.valid & self.request.ready),
            keeps.eq((whole > first) & ~is_lost & ~self.holds),
            following.eq(Mux(self.start, 0, first + (asked | keeps))),
        ]
        m.d.sync += first.eq(following)
        with m.If(self.start):
            m.d.sync += end.eq(2 * step)
        with m.Elif(asked | keeps):
            m.d.sync += end.eq(end + step)
        return m

    def _whole(self, m: Module) -> Signal:
        """So many panels have all of their elements."""
        step = self._config.subtensor
        whole = Signal(range(panels(self._config) + 1))
        end = Signal(range(self._config.most_rows + 3 * step + 1))
        with m.If(self.start):
            two = 2 if panels(self._config) > 1 else 1
            m.d.sync += [
                whole.eq(0),
                end.eq(2 * step),
                self.needs.eq(Mux((self.columns > step) & ~self.transposed, two, 1)),
            ]
        with m.Elif(self.running & self.complete & self._is_there(whole)):
            m.d.sync += [whole.eq(whole + 1), end.eq(end + step)]
            # Steps follow those whose elements the panel has asked for.
            with m.If(Mux(self.transposed, end - step, end) < self.columns):
                m.d.sync += self.needs.eq(self.needs + 1)
        return whole

    def _is_there(self, panel: Signal) -> Value:
        """Whether the matrix has such a panel."""
        return panel.shift_left(self._config.subtensor.bit_length() - 1) < self.columns

    def _bits(self, m: Module, following: Signal) -> list[Value]:
        """Whether the first panel that is neither kept nor asked for was given up, and whether the
        one that is due was."""
        depth = panels(self._config)
        m.submodules.bits = bits = Memory(shape=1, depth=depth, init=[])
        write = bits.write_port()
        walk = Signal(range(depth + 1))
        ready = Signal()
        due = Signal.like(self.due)
        width = len(write.addr)
        m.d.comb += [
            due.eq(Mux(self.start, 0, self.due + self.uses)),
            ready.eq(walk == depth),
            # Never both.
            write.en.eq(~ready | self.gives_up | self.uses),
            write.addr.eq(Mux(ready, Mux(self.gives_up, self.panel, self.due), walk)[:width]),
            write.data.eq(ready & self.gives_up),
        ]
        with m.If(self.clear):
            m.d.sync += walk.eq(0)
        with m.Elif(~ready):
            m.d.sync += walk.eq(walk + 1)
        return reads_with_writes(m, bits, write, {"first": following[:width], "due": due[:width]})
