"""Controls when a panel of buffered elements is used, refetched, or evicted."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.ring import reads_with_writes
from ..layouts import count_bits
from .layouts import panel_bits, panels, reload_request_layout


class PanelsAhead(wiring.Component):
    """Decides ahead of use which panels are kept, and requests the rows of evicted ones.

    A panel that has all of its elements is kept, and not evicted any more.

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
        self.config: Final = config
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

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        first, step = self.first, config.subtensor
        whole = self._whole(m)
        following = Signal.like(first)
        # End of the columns whose elements the first panel buffers.
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
        """Counts the panels that have all of their elements."""
        step = self.config.subtensor
        whole = Signal(range(panels(self.config) + 1))
        end = Signal(range(self.config.most_rows + 3 * step + 1))
        with m.If(self.start):
            two = 2 if panels(self.config) > 1 else 1
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
        """Tells whether the matrix has such a panel."""
        return panel.shift_left(self.config.subtensor.bit_length() - 1) < self.columns

    def _bits(self, m: Module, following: Signal) -> list[Value]:
        """Keeps a bit per panel: it was evicted.

        Returns the bit of the first panel that is neither kept nor requested, and that of the panel
        that is due.
        """
        depth = panels(self.config)
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


class PanelControl(wiring.Component):
    """Controls the order of panels.

    Each is used when its elements, its part of z and the initial values of its columns are
    available.

    While no held elements are used and a bank has no space, the highest panel that this bank has is
    given up, if it is not kept; its rows are asked for ahead of their use, see
    :class:`PanelsAhead`.

    Transposed, a panel is of columns: its elements come with its own step, not up to the one
    behind it, and they are added to any element of w.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    start: in, a pulse: a pass begins
    columns, transposed: in; of the matrix, at least 1; see above; constant during a pass
    boundary: in; where the step ends whose columns come
    z_columns, first_columns: in; so many elements of z, and first values of w, are there
    z_end: out; elements of z below it may be written
    needs, complete: out, in; steps whose elements are asked for; they are all there
    starved, top: in; a bank has no space; its highest panel
    order, panel, loses: out; see :class:`HeldBank`
    busy, lost: in; of the banks; ``lost``: the panel that is given up had been before
    request: stream, see :func:`reload_request_layout`
    reloads: out; elements that are read again go to the sums
    reloaded: in; all have
    idle: in; nothing is on its way in the sums
    due: out; the panel that is used, or the next one
    running, done: out; a pass is under way, or complete
    given_up: out; a panel is, which was not before
    clear: in; forgets everything
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        count = count_bits(config)
        self._far = range(config.most_rows + 3 * config.subtensor + 1)
        super().__init__(
            {
                "start": In(1),
                "columns": In(count),
                "transposed": In(1),
                "boundary": In(self._far),
                "z_columns": In(count + 1),
                "first_columns": In(count),
                "z_end": Out(self._far),
                "needs": Out(range(panels(config) + 1)),
                "complete": In(1),
                "starved": In(1),
                "top": In(panel_bits(config)),
                "order": Out(1),
                "panel": Out(panel_bits(config)),
                "loses": Out(1),
                "busy": In(1),
                "lost": In(1),
                "request": Out(stream.Signature(reload_request_layout(config))),
                "reloads": Out(1),
                "reloaded": In(1),
                "idle": In(1),
                "due": Out(panel_bits(config)),
                "running": Out(1),
                "done": Out(1),
                "given_up": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, columns = self.config, self.columns
        step = config.subtensor
        # End of the panel that is due, and of the elements of w that it is added to.
        end = Signal(self._far)
        far_end = Signal(self._far)
        ready = Signal()
        last = Signal()
        next_panel = Signal()
        uses = Signal()
        m.submodules.ahead = ahead = PanelsAhead(config)
        wiring.connect(m, ahead.request, wiring.flipped(self.request))
        giving = self._give_up(m, ahead, uses, next_panel)
        m.d.comb += [
            far_end.eq(Mux(self.transposed, columns, _least(end + step, columns))),
            self.z_end.eq(end + step),
            last.eq(end >= columns),
            ready.eq(
                (self.z_columns >= _least(end, columns))
                & (self.first_columns >= far_end)
                & ahead.decided
            ),
            self.panel.eq(Mux(self.loses, self.top, self.due)),
            ahead.start.eq(self.start),
            ahead.running.eq(self.running),
            ahead.columns.eq(columns),
            ahead.transposed.eq(self.transposed),
            ahead.boundary.eq(self.boundary),
            ahead.complete.eq(self.complete),
            self.needs.eq(ahead.needs),
            ahead.due.eq(self.due),
            ahead.uses.eq(next_panel),
            ahead.clear.eq(self.clear),
        ]
        with m.FSM(name="state") as fsm:
            m.d.comb += self.running.eq(~fsm.ongoing("IDLE"))
            with m.State("IDLE"):
                with m.If(self.start):
                    m.next = "WAIT"
                self._clears(m)
            with m.State("WAIT"):
                m.d.comb += uses.eq(ready & ~self.busy & ~giving)
                with m.If(uses):
                    m.next = "USE"
                    with m.If(ahead.lost):
                        # The order makes the lists what they are without elements.
                        m.next = "RELOAD"
                self._clears(m)
            with m.State("USE"):
                with m.If(~self.busy):
                    m.d.comb += next_panel.eq(1)
                    self._goes_on(m, last)
                self._clears(m)
            with m.State("RELOAD"):
                m.d.comb += self.reloads.eq(1)
                with m.If(self.reloaded):
                    m.d.comb += next_panel.eq(1)
                    self._goes_on(m, last)
                self._clears(m)
            with m.State("DRAIN"):
                with m.If(self.idle):
                    m.d.sync += self.done.eq(1)
                    m.next = "IDLE"
                self._clears(m)
        with m.If(next_panel):
            m.d.sync += [self.due.eq(self.due + 1), end.eq(end + step)]
        with m.If(self.start):
            m.d.sync += [self.done.eq(0), self.due.eq(0), end.eq(step)]
        with m.If(self.clear):
            m.d.sync += self.done.eq(0)
        return m

    def _give_up(self, m: Module, ahead: PanelsAhead, uses: Signal, next_panel: Signal) -> Signal:
        """Orders all banks to use the panel that is due, or to evict one.

        Returns whether one is being evicted.
        """
        giving = Signal()
        gives = Signal()
        ends = Signal()
        panel = Signal.like(self.top)
        m.d.comb += [
            gives.eq(
                self.running
                & self.starved
                & (self.top >= ahead.first)
                & ~self.busy
                & ~giving
                & ~uses
            ),
            self.loses.eq(~uses),
            self.order.eq(uses | gives),
            # A memory is written by one at a time.
            ends.eq(giving & ~self.busy & ~next_panel),
            self.given_up.eq(ends & ~self.lost),
            ahead.holds.eq(gives | giving),
            ahead.gives_up.eq(self.given_up),
            ahead.panel.eq(panel),
        ]
        with m.If(gives):
            m.d.sync += [giving.eq(1), panel.eq(self.top)]
        with m.Elif(ends):
            m.d.sync += giving.eq(0)
        with m.If(self.clear):
            m.d.sync += giving.eq(0)
        return giving

    def _clears(self, m: Module) -> None:
        with m.If(self.clear):
            m.next = "IDLE"

    def _goes_on(self, m: Module, last: Signal) -> None:
        m.next = "WAIT"
        with m.If(last):
            m.next = "DRAIN"


def _least(x: Value, y: Value) -> Value:
    return Mux(x < y, x, y)
