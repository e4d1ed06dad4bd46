"""The operations of a row whose operands are on their way."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import TensaurusConfig
from ...stream.ring import ring_address
from .layouts import Source, answer_layout, operation_layout, place_layout, requests_layout


def _divided(m: Module, value: Value, divisor: int) -> tuple[Value, Value]:
    """Quotient and remainder by a constant; in hardware a product with its reciprocal."""
    bits = divisor.bit_length() - 1
    if divisor == 1 << bits:
        return value[bits:], value[:bits]
    # Exact for all values below 2**len(value).
    shift = len(value) + divisor.bit_length()
    quotient = Signal(len(value), name="quotient")
    remainder = Signal(range(divisor), name="remainder")
    m.d.comb += [
        quotient.eq((value * (-(-(1 << shift) // divisor))) >> shift),
        remainder.eq(value - quotient * divisor),
    ]
    return quotient, remainder


def scratchpad_place(
    m: Module, config: TensaurusConfig, operand: data.View[data.StructLayout], scalar: Value
) -> tuple[data.View[data.StructLayout], Value]:
    """The vector that holds an operand, a unit or a scalar, and of a scalar its lane there.

    Consecutive vectors are in consecutive banks.
    """
    place = Signal(place_layout(config), name="place")
    vector, lane = _divided(m, operand.address, config.vlen)
    unit = Signal.like(operand.address, name="vector")
    banks = config.banks.bit_length() - 1
    m.d.comb += [
        unit.eq(Mux(scalar, vector, operand.address)),
        place.bank.eq(unit[:banks] if banks else Const(0, 1)),
        place.line.eq(unit[banks:]),
        place.side.eq(operand.side),
    ]
    return place, lane if len(lane) else Const(0, 1)


class OperandWindow(wiring.Component):
    """Requests the operands of up to ``window`` operations at once, and issues the operations in
    order, each when its operand is available.

    An operation a cycle. ``goes`` is set in the cycle in which the operation leaves.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: stream of operations, see :func:`operation_layout`
    units, scalars: out; requests, see :func:`requests_layout`
    unit_granted, scalar_granted: in; the request that is served
    unit_arrives, scalar_arrives: in; the operand that will be there when its operation leaves
    goes, operation, index: out; that an operation leaves, which, and its number in the window
    lane_index, lane: in, out; of an operation, by its number: the lane of its scalar
    waits: out; the oldest operation waits for its operand
    idle: out; there is no operation
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self.config: Final = config
        answer = answer_layout(config)
        index = range(config.window)
        super().__init__(
            {
                "i": In(stream.Signature(operation_layout(config))),
                "units": Out(requests_layout(config)),
                "scalars": Out(requests_layout(config)),
                **{f"{kind}_granted": In(answer) for kind in ("unit", "scalar")},
                **{f"{kind}_arrives": In(answer) for kind in ("unit", "scalar")},
                "goes": Out(1),
                "operation": Out(operation_layout(config)),
                "index": Out(index),
                "lane_index": In(index),
                "lane": Out(range(max(2, config.vlen))),
                "waits": Out(1),
                "idle": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, new = self.config, self.i.payload
        window = config.window
        m.submodules.operations = operations = Memory(
            shape=operation_layout(config), depth=window, init=[]
        )
        m.submodules.lanes = lanes = Memory(shape=self.lane.shape(), depth=window, init=[])
        put = Signal()
        level = Signal(range(window + 1))
        there = Signal(window)
        ready = Signal()
        newest = ring_address(m, "newest", window, advance=put, clear=self.clear)
        oldest = ring_address(m, "oldest", window, advance=self.goes, clear=self.clear)
        place, lane = scratchpad_place(m, config, new.operand, new.source == Source.SCALAR)
        for memory, value in ((operations, new), (lanes, lane)):
            write = memory.write_port()
            m.d.comb += [write.en.eq(put), write.addr.eq(newest), write.data.eq(value)]
        operation, found = operations.read_port(domain="comb"), lanes.read_port(domain="comb")
        m.d.comb += [
            self.i.ready.eq(level != window),
            put.eq(self.i.valid & self.i.ready),
            operation.addr.eq(oldest),
            self.operation.eq(operation.data),
            self.index.eq(oldest),
            found.addr.eq(self.lane_index),
            self.lane.eq(found.data),
            ready.eq(Array(there[n] for n in range(window))[oldest]),
            self.goes.eq((level != 0) & ready),
            self.waits.eq((level != 0) & ~ready),
            self.idle.eq(level == 0),
        ]
        m.d.sync += level.eq(level + put - self.goes)
        places = Signal.like(self.units.places, name="places")
        for n in range(window):
            with m.If(put & (newest == n)):
                m.d.sync += places[n].eq(place)
        for requests, source in ((self.units, Source.UNIT), (self.scalars, Source.SCALAR)):
            kind = source.name.lower()
            granted, arrives = getattr(self, f"{kind}_granted"), getattr(self, f"{kind}_arrives")
            pending = Signal(window, name=f"{kind}s_pending")
            m.d.comb += [
                requests.places.eq(places),
                requests.pending.eq(pending),
                requests.oldest.eq(oldest),
            ]
            for n in range(window):
                with m.If(put & (newest == n)):
                    m.d.sync += pending[n].eq(new.source == source)
                with m.If(granted.valid & (granted.index == n)):
                    m.d.sync += pending[n].eq(0)
                with m.If(arrives.valid & (arrives.index == n)):
                    m.d.sync += there[n].eq(1)
            with m.If(self.clear):
                m.d.sync += pending.eq(0)
        for n in range(window):
            with m.If(put & (newest == n)):
                m.d.sync += there[n].eq(new.source == Source.NONE)
        with m.If(self.clear):
            m.d.sync += level.eq(0)
        return m
