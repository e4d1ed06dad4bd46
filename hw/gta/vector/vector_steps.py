"""The steps of a command of vectors, one a cycle."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import GtaConfig
from ..layouts import Base, pgemm_layout
from ..vector_layouts import result_planes, vector_step_layout
from .function_table import properties_layout
from .limb_pairs import LimbPairs
from .octet_walk import OctetWalk

__all__ = ["VectorSteps"]


class VectorSteps(wiring.Component):
    """Goes through octets, ``octet_cycles`` each.

    Products of limbs come by diagonals i + j, the low one first, i ascending in each; of integers
    with all octets of a chain one after the other in each pair i, j, of floats with all pairs of an
    octet before the next one's. The lowest byte of the sums is a plane of a product of integers
    where a diagonal has ended; where no products are left further planes come with a carry each.
    Limbs above the width of a result are not multiplied, but take their cycles.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    start: in; the command begins; only while none is at work, or with ``ends``
    command: in, with ``start``; see ``pgemm_layout``
    properties: in; see ``properties_layout``; constant from the cycle of ``start`` on
    works: out; a command is at work, from the cycle after ``start`` to that of ``ends``
    ends: out; this is its last cycle
    results_end: out; with ``ends`` and from then on, the plane behind its results
    step: out; a cycle later; see ``vector_step_layout``
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "command": In(pgemm_layout(config)),
                "properties": In(properties_layout(config)),
                "works": Out(1),
                "ends": Out(1),
                "results_end": Out(range(result_planes(config) + 1)),
                "step": Out(vector_step_layout(config)),
            }
        )

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.walk = self._walk = OctetWalk(self._config)
        m.submodules.pairs = self._pairs = LimbPairs()
        self._second = Signal(name="second_pass")
        self._multiplies = Signal(name="multiplies")
        self._pair_ends = Signal(name="pair_ends")
        self._round_ends = Signal(name="round_ends")
        self._octet_ends = Signal(name="octet_ends")
        m.d.comb += [
            self._pairs.square.eq(self.properties.square),
            self._pairs.top.eq(self.properties.top),
            self._pairs.start.eq(self.start | self._round_ends),
            self._pairs.step.eq(self._pair_ends),
            self._pairs.flush.eq(self.works & ~self._multiplies),
        ]
        self._rounds(m)
        self._octets(m)
        self._products(m)
        self._results(m)
        return m

    def _rounds(self, m: Module) -> None:
        """Products, and the cycles behind them: of an octet, of floats of each of its chain; of
        planes a pass."""
        known = self.properties
        extra = Signal.like(known.extra, name="extra_left")
        products_end = Signal()
        m.d.comb += [
            self._pair_ends.eq(self._multiplies & (known.floats | self._walk.last_of_chain)),
            products_end.eq(self._pair_ends & self._pairs.last),
            self._round_ends.eq(
                Mux(self._multiplies, products_end & (known.extra == 0), self.works & (extra == 0))
            ),
            self._octet_ends.eq(
                self._round_ends
                & Mux(known.floats, self._walk.last_of_chain, ~known.twice | self._second)
            ),
            self.ends.eq(self._octet_ends & self._walk.last_octet),
        ]
        with m.If(self._multiplies):
            m.d.sync += extra.eq(known.extra - 1)
        with m.Else():
            m.d.sync += extra.eq(extra - 1)
        with m.If(self.start):
            m.d.sync += [self.works.eq(1), self._multiplies.eq(1)]
        with m.Elif(self.ends):
            m.d.sync += [self.works.eq(0), self._multiplies.eq(0)]
        with m.Elif(self._round_ends):
            m.d.sync += self._multiplies.eq(1)
        with m.Elif(products_end):
            m.d.sync += self._multiplies.eq(0)
        with m.If(self.start):
            m.d.sync += self._second.eq(0)
        with m.Elif(self._round_ends):
            m.d.sync += self._second.eq(known.twice & ~self._second)

    def _octets(self, m: Module) -> None:
        """Octets of results, and of the operands of one, and the planes of them."""
        known, step, walk = self.properties, self.step, self._walk
        # At the end of a chain of integers' last pair it stays where it is.
        stays = self._pairs.last & walk.last_of_chain & ~known.floats
        plane = self._pairs.diagonal[:3] & known.result & (~known.floats).replicate(3)
        of_top = Mux(known.planes, self._pairs.i, self._pairs.j & known.y_plane.replicate(3))
        m.d.comb += [
            walk.start.eq(self.start),
            walk.command.eq(self.command),
            walk.properties.eq(known),
            walk.step.eq(Mux(known.floats, self._round_ends, self._multiplies) & ~stays),
            walk.octet_ends.eq(self._octet_ends),
            self.results_end.eq(walk.results_end),
        ]
        m.d.sync += [
            step.left.eq(walk.left + self._pairs.i),
            step.top.eq(walk.top + of_top),
            step.result.eq(walk.result + plane),
        ]

    def _products(self, m: Module) -> None:
        """What the elements do."""
        known, step = self.properties, self.step
        begins = Signal(name="round_begins")
        carries = Signal()
        accumulate = Signal()
        with m.If(self.start | self._round_ends):
            m.d.sync += [begins.eq(1), carries.eq(0)]
        with m.Else():
            m.d.sync += [begins.eq(0), carries.eq(self._pair_ends & self._pairs.diagonal_ends)]
        with m.If(self.start):
            m.d.sync += accumulate.eq(Mux(known.chains, self.command.use_c, known.c_plane))
        base = Mux(carries | ~(self._multiplies | known.floats), Base.CARRY, Base.OWN)
        m.d.sync += [
            step.valid.eq(self._multiplies),
            step.i.eq(self._pairs.i),
            step.j.eq(Mux(known.square, self._pairs.j, known.top)),
            step.zero.eq(~self._multiplies | self._beyond()),
            step.x_high.eq((self._pairs.i == known.top) & ~known.unsigned),
            step.y_high.eq(self._pairs.j == known.top),
            step.base.eq(Mux(begins | known.planes, Base.ZERO, base)),
            step.last.eq(self._multiplies & self._pairs.last & known.floats),
            step.first.eq(self._walk.first_of_chain),
            step.final.eq(self._walk.last_of_chain),
            step.accumulate.eq(accumulate),
        ]

    def _is_upper(self) -> Value:
        """The plane is one of the upper half of a product."""
        return (self._pairs.diagonal & self.properties.limbs).any()

    def _beyond(self) -> Value:
        """Products that no result has a part of."""
        known = self.properties
        beyond = self._is_upper() & ~known.upper & (~known.sums | known.limbs[-1])
        return beyond & known.square & ~known.floats

    def _results(self, m: Module) -> None:
        """What becomes of the lowest bytes, behind a diagonal."""
        known, plane = self.properties, self.step.plane
        low = self._pairs.diagonal[:3] & known.result
        upper = self._is_upper()
        lowest = known.right & ~upper & (low == known.result)
        of_half = Mux(known.upper, upper | lowest, ~upper)
        of_product = Mux(known.sums, ~self._pairs.diagonal[-1], of_half)
        there = (self._pair_ends & self._pairs.diagonal_ends) | (self.works & ~self._multiplies)
        valid = Signal(name="plane_is_there")
        m.d.comb += valid.eq(there & ~known.floats & (known.planes | of_product))
        final = self._walk.last_of_chain & self._walk.last_octet
        m.d.sync += [
            plane.valid.eq(valid),
            plane.plane.eq(self._pairs.diagonal),
            plane.first.eq(Mux(known.right, lowest, low == 0)),
            plane.second.eq(self._second),
            plane.last.eq((low == known.result) & ~lowest),
            self.step.write.eq(valid & ~lowest & (~known.twice | self._second)),
            self.step.done.eq(
                Mux(known.floats, self._multiplies & self._pairs.last & final, self.ends)
            ),
        ]
