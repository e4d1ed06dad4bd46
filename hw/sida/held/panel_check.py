"""Whether what is read again of a panel is what came by columns."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from .element_hash import HASH_BITS, element_hash
from .layouts import held_layout, late_layout, panel_bits
from .panel_sum import PanelSum

__all__ = ["PanelCheck"]

_TERMS = 4
"""That are added up in a cycle."""


class PanelCheck(wiring.Component):
    """Compares the sum of the hashes of a panel's elements, rows, columns and values, as they came
    by columns with that of those that are read again, when all have been.

    A panel that is used as it was held is not compared. Elements are seen as the banks and the sums
    take them: nothing waits for this. What is wrong is known some cycles behind ``reloaded``.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    comes, elements: in; by bank: it takes an element
    order, panel, loses: in; see :class:`HeldBank`
    reads, again: in; by bank of w: an element that is read again is taken
    reloads, reloaded, due: in; see :class:`PanelControl`
    wrong: out; until ``clear``: a panel was not what it had been
    row: out; its first one
    clear: in; forgets everything
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        pes = config.pes
        super().__init__(
            {
                "comes": In(pes),
                "elements": In(data.ArrayLayout(held_layout(config), pes)),
                "order": In(1),
                "panel": In(panel_bits(config)),
                "loses": In(1),
                "reads": In(pes),
                "again": In(data.ArrayLayout(late_layout(config), pes)),
                "reloads": In(1),
                "reloaded": In(1),
                "due": In(panel_bits(config)),
                "wrong": Out(1),
                "row": Out(config.place_bits),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        lanes = config.pes.bit_length() - 1
        fetched = Signal()
        lost = Signal()
        m.d.sync += fetched.eq(self.order & ~self.loses)
        m.d.comb += lost.eq(fetched & self.reloads)
        # Of all banks together 0 when a panel's elements have been read again.
        differences = []
        for n in range(config.pes):
            m.submodules[f"sum_{n}"] = part = PanelSum(config, n)
            late = self.again[n]
            hashed = Signal(HASH_BITS, name=f"hashed_{n}", reset_less=True)
            takes = Signal(name=f"takes_{n}")
            difference = Signal(HASH_BITS, name=f"difference_{n}")
            m.d.comb += [
                part.comes.eq(self.comes[n]),
                part.element.eq(self.elements[n]),
                part.order.eq(self.order),
                part.panel.eq(self.panel),
                part.loses.eq(self.loses),
                part.clear.eq(self.clear),
            ]
            place = Cat(Const(n, lanes), late.row, late.place)
            m.d.sync += [
                hashed.eq(element_hash(m, f"hash_{n}", place, late.value)),
                takes.eq(self.reads[n]),
            ]
            # Never both: a panel's elements are taken when its sum has been looked at.
            with m.If(lost | takes):
                m.d.sync += difference.eq(difference + Mux(lost, part.sum, -hashed))
            with m.If(self.clear):
                m.d.sync += [takes.eq(0), difference.eq(0)]
            differences.append(difference)
        self._compare(m, differences)
        return m

    def _compare(self, m: Module, terms: list[Signal]) -> None:
        """Adds up what there is in each cycle, some at a time; it counts in the one behind
        ``reloaded``, in which no element is on its way."""
        ends = Signal()
        panel = Signal.like(self.due, reset_less=True)
        m.d.sync += [ends.eq(self.reloaded & ~self.clear), panel.eq(self.due)]
        level = 0
        while len(terms) > 1:
            sums = []
            for first in range(0, len(terms), _TERMS):
                total = Signal(HASH_BITS, name=f"total_{level}_{first}", reset_less=True)
                m.d.sync += total.eq(sum(terms[first : first + _TERMS]))
                sums.append(total)
            following = Signal(name=f"ends_{level}")
            its = Signal.like(self.due, name=f"panel_{level}", reset_less=True)
            m.d.sync += [following.eq(ends & ~self.clear), its.eq(panel)]
            terms, ends, panel, level = sums, following, its, level + 1
        shift = self._config.subtensor.bit_length() - 1
        with m.If(ends & (terms[0] != 0) & ~self.wrong):
            m.d.sync += [self.wrong.eq(1), self.row.eq(panel.shift_left(shift))]
        with m.If(self.clear):
            m.d.sync += self.wrong.eq(0)
