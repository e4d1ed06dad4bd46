"""Which panels were given up, and when their rows are asked for."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.written_word import reads_with_writes
from ..layouts import count_bits
from .layouts import panel_bits, panels, reload_request_layout

__all__ = ["LostPanels"]


class LostPanels(wiring.Component):
    """Remembers a bit a panel, and asks for the rows of those that were given up, in the order in
    which they will be used: of each as soon as all panels before it are used, or asked for.

    So what is asked for stays lost, and is used in the order of the requests, however far ahead.
    Transposed, panels are of columns, and asked for when all of these have come: what is wrong with
    them is known then.

    After a reset or a clear ``walk`` goes over all panels, one a cycle, as that of
    :class:`PanelLists` does.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    start: in, a pulse: a pass begins
    columns, transposed: in; of the matrix, at least 1; see above; constant during a pass
    boundary: in; where the step ends whose columns come
    gives_up, panel: in; a panel is given up that was not before
    due: in; the panel that is used, or the next one
    uses: in; the panel that is due is used; it was not given up
    lost: out; it was
    request: stream, see :func:`reload_request_layout`
    clear: in; forgets everything
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "columns": In(count_bits(config)),
                "transposed": In(1),
                "boundary": In(range(config.vector_words + 3 * config.subtensor + 1)),
                "gives_up": In(1),
                "panel": In(panel_bits(config)),
                "due": In(panel_bits(config)),
                "uses": In(1),
                "lost": Out(1),
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
        depth, step = panels(config), config.subtensor
        m.submodules.bits = bits = Memory(shape=1, depth=depth, init=[])
        write = bits.write_port()
        walk = Signal(range(depth + 1))
        ready = Signal()
        # The first panel that is neither used nor asked for; where the columns of the step behind
        # it end; the one of the next cycle.
        number = Signal(panel_bits(config) + 1)
        end = Signal(range(config.vector_words + 3 * step + 1))
        following = Signal.like(number)
        (found,) = reads_with_writes(m, bits, write, {"bit": following[: len(write.addr)]})
        bounded = Signal()
        may_ask = Signal()
        asked = Signal()
        moves = Signal()
        m.d.comb += [
            ready.eq(walk == depth),
            self.lost.eq((number != self.due) | found),
            may_ask.eq(~self.transposed | (self.boundary >= end)),
            self.request.valid.eq(ready & found & ~self.gives_up & may_ask),
            self.request.payload.panel.eq(number),
            self.request.payload.columns.eq(Mux(bounded, end, self.columns)),
            bounded.eq((end < self.columns) & ~self.transposed),
            asked.eq(self.request.valid & self.request.ready),
            moves.eq(asked | self.uses),
            following.eq(Mux(self.start, 0, number + moves)),
            write.en.eq(~ready | self.gives_up | asked),
            write.addr.eq(Mux(ready, Mux(self.gives_up, self.panel, number), walk)),
            write.data.eq(ready & self.gives_up),
        ]
        m.d.sync += number.eq(following)
        with m.If(self.start):
            m.d.sync += end.eq(2 * step)
        with m.Elif(moves):
            m.d.sync += end.eq(end + step)
        with m.If(self.clear):
            m.d.sync += walk.eq(0)
        with m.Elif(~ready):
            m.d.sync += walk.eq(walk + 1)
        return m
