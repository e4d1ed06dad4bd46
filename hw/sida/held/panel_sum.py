"""Of each panel the sum of the elements that came to a bank."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.written_word import reads_with_writes
from .element_hash import HASH_BITS, element_hash
from .layouts import held_layout, panel_bits, panels

__all__ = ["PanelSum"]


class PanelSum(wiring.Component):
    """Adds up the hashes of a bank's elements by panel, whether they stay there or not.

    An element a cycle. A panel's sum is 0 again when it has been used. After a reset or a clear a
    walk goes over all panels, one a cycle, as that of :class:`PanelLists` does.

    Parameters
    ----------
    config: of the accelerator
    bank: its number

    Members
    -------
    comes, element: in; one is taken; not with ``order``
    order, panel, loses: in; see :class:`HeldBank`
    sum: out; a cycle after ``order``, of its panel
    clear: in; forgets everything
    """

    verilog_parameters: ClassVar = {"BANK": "bank"}

    def __init__(self, config: SidaConfig, bank: int) -> None:
        if not 0 <= bank < config.pes:
            raise ValueError(f"`bank` must be in 0..{config.pes - 1}, not {bank}")
        self._config, self._bank = config, bank
        super().__init__(
            {
                "comes": In(1),
                "element": In(held_layout(config)),
                "order": In(1),
                "panel": In(panel_bits(config)),
                "loses": In(1),
                "sum": Out(HASH_BITS),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    @property
    def bank(self) -> int:
        return self._bank

    def elaborate(self, platform: object) -> Module:
        m = Module()
        depth = panels(self._config)
        lanes = self._config.pes.bit_length() - 1
        m.submodules.sums = sums = Memory(shape=HASH_BITS, depth=depth, init=[])
        write = sums.write_port()
        looked_at = Signal(panel_bits(self._config))
        (found,) = reads_with_writes(m, sums, write, {"sum": looked_at})
        late = self.element.late
        column = Signal(lanes)
        hashed = Signal(HASH_BITS, reset_less=True)
        adds = Signal()
        empties = Signal()
        place = Signal.like(looked_at, reset_less=True)
        walk = Signal(range(depth + 1))
        ready = Signal()
        m.d.comb += [
            column.eq(self._bank - self.element.panel),
            looked_at.eq(Mux(self.order, self.panel, self.element.panel)),
            self.sum.eq(found),
            ready.eq(walk == depth),
            write.en.eq(adds | empties | ~ready),
            write.addr.eq(Mux(ready, place, walk)[: len(write.addr)]),
            write.data.eq(Mux(adds & ready, found + hashed, 0)),
        ]
        m.d.sync += [
            hashed.eq(element_hash(m, "hash", Cat(column, late.row, late.place), late.value)),
            adds.eq(self.comes & ~self.clear),
            empties.eq(self.order & ~self.loses),
            place.eq(looked_at),
        ]
        with m.If(self.clear):
            m.d.sync += walk.eq(0)
        with m.Elif(~ready):
            m.d.sync += walk.eq(walk + 1)
        return m
