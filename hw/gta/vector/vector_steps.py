"""The steps of a command of vectors, one a cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import GtaConfig
from ...spec.jobs.gta_vector import OCTET
from ..layouts import Base, pgemm_layout
from ..vector_layouts import MOST_PLANES, left_planes, result_planes, vector_step_layout
from .function_table import properties_layout

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
                "step": Out(vector_step_layout(config)),
            }
        )

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._i = Signal(range(OCTET), name="i")
        self._j = Signal(range(OCTET), name="j")
        self._plane = Signal(range(MOST_PLANES), name="plane")
        self._second = Signal(name="second_pass")
        self._multiplies = Signal(name="multiplies")
        self._pair_ends = Signal(name="pair_ends")
        self._diagonal_ends = Signal(name="diagonal_ends")
        self._round_ends = Signal(name="round_ends")
        self._octet_ends = Signal(name="octet_ends")
        self._last_pair = Signal(name="last_pair")
        self._last_of_chain = Signal(name="last_of_chain")
        self._first_of_chain = Signal(name="first_of_chain")
        self._last_octet = Signal(name="last_octet")
        self._pairs(m)
        self._rounds(m)
        self._octets(m)
        self._places(m)
        self._products(m)
        self._results(m)
        return m

    def _pairs(self, m: Module) -> None:
        """The limbs, and the number of the diagonal."""
        i, j, known = self._i, self._j, self.properties
        over = Signal(name="x_is_over")
        m.d.comb += [
            over.eq(i == known.top),
            self._last_pair.eq(over & (~known.square | (j == known.top))),
            self._diagonal_ends.eq(over | (j == 0) | ~known.square),
        ]
        with m.If(self.start | self._round_ends):
            m.d.sync += [i.eq(0), j.eq(0), self._plane.eq(0)]
        with m.Elif(self._pair_ends):
            m.d.sync += self._plane.eq(self._plane + self._diagonal_ends)
            with m.If(~known.square):
                m.d.sync += i.eq(i + 1)
            with m.Elif(over):
                m.d.sync += [i.eq(j + 1), j.eq(known.top)]
            with m.Elif(j == 0):
                m.d.sync += [i.eq(0), j.eq(i + 1)]
            with m.Else():
                m.d.sync += [i.eq(i + 1), j.eq(j - 1)]
        with m.Elif(self.works & ~self._multiplies):
            m.d.sync += self._plane.eq(self._plane + 1)

    def _rounds(self, m: Module) -> None:
        """Products, and the cycles behind them: of an octet, of floats of each of its chain; of
        planes a pass."""
        known = self.properties
        extra = Signal.like(known.extra, name="extra_left")
        products_end = Signal()
        m.d.comb += [
            self._pair_ends.eq(self._multiplies & (known.floats | self._last_of_chain)),
            products_end.eq(self._pair_ends & self._last_pair),
            self._round_ends.eq(
                Mux(self._multiplies, products_end & (known.extra == 0), self.works & (extra == 0))
            ),
            self._octet_ends.eq(
                self._round_ends
                & Mux(known.floats, self._last_of_chain, ~known.twice | self._second)
            ),
            self.ends.eq(self._octet_ends & self._last_octet),
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
        """Octets of results that are left, and of the operands of one."""
        command = self.command
        octets = Signal.like(command.time, name="octets_left")
        length = Signal.like(command.chain, name="chain_less_1")
        chain = Signal.like(command.chain, name="chain_left")
        m.d.comb += [
            self._last_octet.eq(octets == 0),
            self._last_of_chain.eq(chain == 0),
            self._first_of_chain.eq(chain == length),
        ]
        goes_on = Mux(self.properties.floats, self._round_ends, self._multiplies)
        stays = self._last_pair & ~self.properties.floats
        with m.If(self.start):
            m.d.sync += [
                octets.eq(command.time - 1),
                length.eq(command.chain - 1),
                chain.eq(command.chain - 1),
            ]
        with m.Elif(self._octet_ends):
            m.d.sync += [octets.eq(octets - 1), chain.eq(length)]
        with m.Elif(goes_on & ~self._last_of_chain):
            m.d.sync += chain.eq(chain - 1)
        with m.Elif(goes_on & ~stays):
            m.d.sync += chain.eq(length)

    def _places(self, m: Module) -> None:
        """Where operands and results lie, in planes."""
        config, command, known, step = self._config, self.command, self.properties, self.step
        left = Signal(range(left_planes(config)), name="left_octet")
        top = Signal(range(left_planes(config)), name="top_octet")
        result = Signal(range(result_planes(config)), name="result_octet")
        offset = Signal(range(left_planes(config)), name="chain_offset")
        left_here = Signal.like(left, name="left_here")
        top_here = Signal.like(top, name="top_here")
        m.d.comb += [left_here.eq(left + offset), top_here.eq(top + offset)]
        goes_on = Mux(known.floats, self._round_ends, self._multiplies)
        stays = self._last_pair & ~known.floats
        with m.If(self.start):
            m.d.sync += [
                left.eq(Cat(Const(0, 1), command.left_base)),
                top.eq(Cat(Const(0, 1), command.top_base)),
                result.eq(Cat(Const(0, 2), command.result_base)),
                offset.eq(0),
            ]
        with m.Elif(self._octet_ends):
            m.d.sync += [
                left.eq(left_here + known.element),
                top.eq(top_here + known.element),
                result.eq(result + known.result + 1),
                offset.eq(0),
            ]
        with m.Elif(goes_on & ~self._last_of_chain):
            m.d.sync += offset.eq(offset + known.element)
        with m.Elif(goes_on & ~stays):
            m.d.sync += offset.eq(0)
        plane = self._plane[:3] & known.result & (~known.floats).replicate(3)
        of_top = Mux(known.planes, self._i, self._j & known.y_plane.replicate(3))
        m.d.sync += [
            step.left.eq(left_here + self._i),
            step.top.eq(top_here + of_top),
            step.result.eq(result + plane),
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
            m.d.sync += [begins.eq(0), carries.eq(self._pair_ends & self._diagonal_ends)]
        with m.If(self.start):
            m.d.sync += accumulate.eq(Mux(known.chains, self.command.use_c, known.c_plane))
        base = Mux(carries | ~(self._multiplies | known.floats), Base.CARRY, Base.OWN)
        m.d.sync += [
            step.valid.eq(self._multiplies),
            step.i.eq(self._i),
            step.j.eq(Mux(known.square, self._j, known.top)),
            step.zero.eq(~self._multiplies | self._beyond()),
            step.x_high.eq((self._i == known.top) & ~known.unsigned),
            step.y_high.eq(self._j == known.top),
            step.base.eq(Mux(begins | known.planes, Base.ZERO, base)),
            step.last.eq(self._multiplies & self._last_pair & known.floats),
            step.first.eq(self._first_of_chain),
            step.final.eq(self._last_of_chain),
            step.accumulate.eq(accumulate),
        ]

    def _is_upper(self) -> Value:
        """The plane is one of the upper half of a product."""
        return (self._plane & self.properties.limbs).any()

    def _beyond(self) -> Value:
        """Products that no result has a part of."""
        known = self.properties
        beyond = self._is_upper() & ~known.upper & (~known.sums | known.limbs[-1])
        return beyond & known.square & ~known.floats

    def _results(self, m: Module) -> None:
        """What becomes of the lowest bytes, behind a diagonal."""
        known, plane = self.properties, self.step.plane
        low = self._plane[:3] & known.result
        upper = self._is_upper()
        lowest = known.right & ~upper & (low == known.result)
        of_half = Mux(known.upper, upper | lowest, ~upper)
        of_product = Mux(known.sums, ~self._plane[-1], of_half)
        there = (self._pair_ends & self._diagonal_ends) | (self.works & ~self._multiplies)
        valid = Signal(name="plane_is_there")
        m.d.comb += valid.eq(there & ~known.floats & (known.planes | of_product))
        octet = self._multiplies & self._last_pair & self._last_of_chain & self._last_octet
        m.d.sync += [
            plane.valid.eq(valid),
            plane.plane.eq(self._plane),
            plane.first.eq(Mux(known.right, lowest, low == 0)),
            plane.second.eq(self._second),
            plane.last.eq((low == known.result) & ~lowest),
            self.step.write.eq(valid & ~lowest & (~known.twice | self._second)),
            self.step.done.eq(Mux(known.floats, octet, self.ends)),
        ]
