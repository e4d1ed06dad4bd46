"""The steps of a command of vectors, one a cycle."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import GtaConfig
from ...spec.jobs.gta_vector import OCTET
from ..layouts import (
    MOST_PLANES,
    Base,
    left_planes,
    pgemm_layout,
    result_planes,
    vector_step_layout,
)
from .function_table import properties_layout


class OctetWalk(wiring.Component):
    """Counts octets of results, and those of operands that belong to one.

    Operands' octets lie behind each other, and so do those of results.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    start: in; at the first octet of the first chain from the next cycle on
    command: in, with ``start``
    properties: in; see ``properties_layout``; not with ``start``
    step: in; goes on in the chain, and from its last octet to its first one again
    octet_ends: in; goes on to the next octet of results; before ``step``
    first_of_chain, last_of_chain, last_octet: out
    left, top, result: out; planes of the banks with the octet's first ones
    following: out; plane of the next octet of results; after the last ``octet_ends`` ``result`` is
      the plane behind all results
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        edge = range(left_planes(config))
        super().__init__(
            {
                "start": In(1),
                "command": In(pgemm_layout(config)),
                "properties": In(properties_layout(config)),
                "step": In(1),
                "octet_ends": In(1),
                "first_of_chain": Out(1),
                "last_of_chain": Out(1),
                "last_octet": Out(1),
                "left": Out(edge),
                "top": Out(edge),
                "result": Out(range(result_planes(config) + 1)),
                "following": Out(range(result_planes(config) + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        command, known = self.command, self.properties
        octets = Signal.like(command.time, name="octets_left")
        length = Signal.like(command.chain, name="chain_less_1")
        chain = Signal.like(command.chain, name="chain_left")
        # The chain's first octets, and the distance from there to the current octet.
        left = Signal.like(self.left, name="left_chain")
        top = Signal.like(self.top, name="top_chain")
        offset = Signal.like(self.left, name="chain_offset")
        result = Signal.like(self.result, name="result_octet")
        m.d.comb += [
            self.following.eq(result + known.result + 1),
            self.result.eq(result),
            self.last_octet.eq(octets == 0),
            self.last_of_chain.eq(chain == 0),
            self.first_of_chain.eq(chain == length),
            self.left.eq(left + offset),
            self.top.eq(top + offset),
        ]
        with m.If(self.start):
            m.d.sync += [
                octets.eq(command.time - 1),
                length.eq(command.chain - 1),
                chain.eq(command.chain - 1),
                left.eq(Cat(Const(0, 1), command.left_base)),
                top.eq(Cat(Const(0, 1), command.top_base)),
                result.eq(Cat(Const(0, 2), command.result_base)),
                offset.eq(0),
            ]
        with m.Elif(self.octet_ends):
            # The chain is at its last octet.
            m.d.sync += [
                octets.eq(octets - 1),
                chain.eq(length),
                left.eq(self.left + known.element),
                top.eq(self.top + known.element),
                result.eq(self.following),
                offset.eq(0),
            ]
        with m.Elif(self.step & self.last_of_chain):
            m.d.sync += [chain.eq(length), offset.eq(0)]
        with m.Elif(self.step):
            m.d.sync += [chain.eq(chain - 1), offset.eq(offset + known.element)]
        return m


class LimbPairs(wiring.Component):
    """Walks the pairs i, j of limbs from 0 to ``top`` by diagonals i + j, the low one first.

    In each diagonal i ascends. Unless ``square``, it walks i alone, each one a diagonal.

    Members
    -------
    square, top: in; constant, but in the cycle of ``start``
    start: in; at the first pair from the next cycle on
    step: in; goes to the next pair; at the last one there is none
    flush: in; the next diagonal, which has no pairs
    i, j, diagonal: out; of the pair; ``diagonal`` is the number of the diagonal
    last: out; it is the last pair
    diagonal_ends: out; it is the last one of its diagonal
    """

    def __init__(self) -> None:
        limb = range(OCTET)
        super().__init__(
            {
                "square": In(1),
                "top": In(limb),
                "start": In(1),
                "step": In(1),
                "flush": In(1),
                "i": Out(limb),
                "j": Out(limb),
                "diagonal": Out(range(MOST_PLANES)),
                "last": Out(1),
                "diagonal_ends": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, j = self.i, self.j
        over = Signal(name="x_is_over")
        m.d.comb += [
            over.eq(i == self.top),
            self.last.eq(over & (~self.square | (j == self.top))),
            self.diagonal_ends.eq(over | (j == 0) | ~self.square),
        ]
        with m.If(self.start):
            m.d.sync += [i.eq(0), j.eq(0), self.diagonal.eq(0)]
        with m.Elif(self.step):
            m.d.sync += self.diagonal.eq(self.diagonal + self.diagonal_ends)
            with m.If(~self.square):
                m.d.sync += i.eq(i + 1)
            with m.Elif(over):
                m.d.sync += [i.eq(j + 1), j.eq(self.top)]
            with m.Elif(j == 0):
                m.d.sync += [i.eq(0), j.eq(i + 1)]
            with m.Else():
                m.d.sync += [i.eq(i + 1), j.eq(j - 1)]
        with m.Elif(self.flush):
            m.d.sync += self.diagonal.eq(self.diagonal + 1)
        return m


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
        self.config: Final = config
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

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.walk = self._walk = OctetWalk(self.config)
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
        # The plane stays after the last pair of a chain of integers.
        stays = self._pairs.last & walk.last_of_chain & ~known.floats
        plane = self._pairs.diagonal[:3] & known.result & (~known.floats).replicate(3)
        of_top = Mux(known.planes, self._pairs.i, self._pairs.j & known.y_plane.replicate(3))
        m.d.comb += [
            walk.start.eq(self.start),
            walk.command.eq(self.command),
            walk.properties.eq(known),
            walk.step.eq(Mux(known.floats, self._round_ends, self._multiplies) & ~stays),
            walk.octet_ends.eq(self._octet_ends),
            # Nothing begins while a command works, but in its last cycle.
            self.results_end.eq(Mux(self.works, walk.following, walk.result)),
        ]
        m.d.sync += [
            step.left.eq(walk.left + self._pairs.i),
            step.top.eq(walk.top + of_top),
            step.result.eq((walk.result + plane)[: len(step.result)]),
        ]

    def _products(self, m: Module) -> None:
        """Sequences the products of the elements."""
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
        """Tells whether the plane is one of the upper half of a product."""
        return (self._pairs.diagonal & self.properties.limbs).any()

    def _beyond(self) -> Value:
        """Products that no result has a part of."""
        known = self.properties
        beyond = self._is_upper() & ~known.upper & (~known.sums | known.limbs[-1])
        return beyond & known.square & ~known.floats

    def _results(self, m: Module) -> None:
        """Sequences the planes that the lowest bytes form after each diagonal."""
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
