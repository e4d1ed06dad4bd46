"""Products that are under way, and how many of the first ones are complete."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import GtaConfig
from ...spec.jobs.gta import COMMANDS_BITS
from ...stream.ring import moved_count

__all__ = ["ExecutesUnderWay"]


class ExecutesUnderWay(wiring.Component):
    """Notes which groups were given a product, in order, and takes note of their ends.

    Groups end in any order; one is complete when all before it are. Twice as many as there are
    lanes may be under way.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    i: the group of a product that begins
    ended: in; a bit for each group: a pulse: its oldest product has ended
    completes: out, a pulse: one more is complete
    complete: out; how many are
    active: out; a bit for each lane, whose mask is in ``masks``: its group has a product
    masks: in
    some: out; there is one
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        self._most = max(4, 2 * config.lanes)
        super().__init__(
            {
                "i": In(stream.Signature(config.mask_bits)),
                "ended": In(1 << config.mask_bits),
                "completes": Out(1),
                "complete": Out(COMMANDS_BITS),
                "masks": In(config.mask_bits).array(config.lanes),
                "active": Out(config.lanes),
                "some": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        most, bits = self._most, self._config.mask_bits
        # The oldest one is the first; what has ended waits there for those before it.
        groups = Array(Signal(bits, name=f"group_{n}", reset_less=True) for n in range(most))
        running = Signal(most)
        level = Signal(range(most + 1))
        left = Signal(most)
        ended = Array(self.ended[n] for n in range(1 << bits))
        for n in range(most):
            older = [running[k] & (groups[k] == groups[n]) for k in range(n)]
            m.d.comb += left[n].eq(running[n] & ~(ended[groups[n]] & ~Cat(older).any()))
        pops = Signal()
        puts = Signal()
        slot = Signal(range(most + 1))
        m.d.comb += [
            self.some.eq(level != 0),
            pops.eq(self.some & ~running[0]),
            self.completes.eq(pops & ~self.clear),
            self.i.ready.eq(level != most),
            puts.eq(self.i.valid & self.i.ready),
            slot.eq(level - pops),
        ]
        m.d.sync += level.eq(moved_count(level, puts, pops))
        after = Signal(most)
        m.d.comb += after.eq(left)
        with m.If(pops):
            m.d.comb += after.eq(left[1:])
            m.d.sync += [groups[n].eq(groups[n + 1]) for n in range(most - 1)]
            m.d.sync += self.complete.eq(self.complete + 1)
        for n in range(most):
            m.d.sync += running[n].eq(after[n])
            with m.If(puts & (slot == n)):
                m.d.sync += [running[n].eq(1), groups[n].eq(self.i.payload)]
        with m.If(self.clear):
            m.d.sync += [running.eq(0), level.eq(0), self.complete.eq(0)]
        for lane in range(self._config.lanes):
            m.d.comb += self.active[lane].eq(self._works(groups, running, self.masks[lane]))
        return m

    @staticmethod
    def _works(groups: Array, running: Value, mask: Value) -> Value:
        return Cat(running[n] & (groups[n] == mask) for n in range(len(running))).any()
