"""The octets of a command of vectors, and where they lie."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import GtaConfig
from ..layouts import pgemm_layout
from ..vector_layouts import left_planes, result_planes
from .function_table import properties_layout

__all__ = ["OctetWalk"]


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
    results_end: out; with the last ``octet_ends`` and from then on, the plane behind all results
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
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
                "result": Out(range(result_planes(config))),
                "results_end": Out(range(result_planes(config) + 1)),
            }
        )

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        command, known = self.command, self.properties
        octets = Signal.like(command.time, name="octets_left")
        length = Signal.like(command.chain, name="chain_less_1")
        chain = Signal.like(command.chain, name="chain_left")
        # Of the chain's first octets, and from there to the octet that is on.
        left = Signal.like(self.left, name="left_chain")
        top = Signal.like(self.top, name="top_chain")
        offset = Signal.like(self.left, name="chain_offset")
        result = Signal.like(self.results_end, name="result_octet")
        following = Signal.like(result, name="following_result")
        m.d.comb += [
            following.eq(result + known.result + 1),
            self.result.eq(result[: len(self.result)]),
            self.results_end.eq(Mux(self.octet_ends, following, result)),
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
                result.eq(following),
                offset.eq(0),
            ]
        with m.Elif(self.step & self.last_of_chain):
            m.d.sync += [chain.eq(length), offset.eq(0)]
        with m.Elif(self.step):
            m.d.sync += [chain.eq(chain - 1), offset.eq(offset + known.element)]
        return m
