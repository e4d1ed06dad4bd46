"""A column of the output buffer: two sides, and the adders before them."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arith.scalar_functions import delay
from ...arith.scalar_sum import ScalarSum
from ...spec.tensaurus import TensaurusConfig
from .layouts import addend_layout, walk_layout

__all__ = ["StoreColumn", "settling_cycles"]

_READ = 1


def settling_cycles(config: TensaurusConfig) -> int:
    """Cycles after which a vector that entered column 0 is in the buffer of every column."""
    return config.cols + _READ + config.adder_stages + 3


class StoreColumn(wiring.Component):
    """Reads, adds and writes a vector a cycle in one side; the other one is read and cleared.

    An address must not come again before its sum is written, :func:`settling_cycles` later, unless
    for other lanes. ``o`` is there a cycle after ``read`` and stays until the next.

    Source: Tensaurus, the matrix store unit and its double buffer.

    Parameters
    ----------
    config: see :class:`TensaurusConfig`

    Members
    -------
    side: which side is added to; changes only while nothing is under way
    i: see :func:`addend_layout`
    onward: the same for the next column, a cycle later
    vector: what the column adds; a cycle before ``i``
    walk: see :func:`walk_layout`
    o: the vector that was read
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        bits = config.vlen * config.sum_format.bits
        super().__init__(
            {
                "side": In(1),
                "i": In(addend_layout(config)),
                "onward": Out(addend_layout(config)),
                "vector": In(bits),
                "walk": In(walk_layout(config)),
                "o": Out(bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, bits = self._config, self._config.sum_format.bits
        lanes = Signal(config.vlen)
        place = self.i.place
        m.d.comb += lanes.eq(
            Mux(self.i.single, Cat(place == n for n in range(config.vlen)), Const(-1, config.vlen))
        )
        self._pass_on(m)
        # A vector, or one value to all lanes, of which one is written.
        vector = Signal(len(self.vector), reset_less=True)
        addend = Signal(len(self.vector), reset_less=True)
        m.d.sync += [
            vector.eq(self.vector),
            addend.eq(Mux(self.i.single, self.i.value.replicate(config.vlen), vector)),
        ]
        sums = Signal(data.ArrayLayout(bits, config.vlen))
        held = Signal(data.ArrayLayout(bits, config.vlen))
        for lane in range(config.vlen):
            adder = ScalarSum(config.operators, config.sum_format, config.adder_stages)
            m.submodules[f"adder_{lane}"] = adder
            m.d.comb += [
                adder.a.eq(held[lane]),
                adder.b.eq(addend.word_select(lane, bits)),
                adder.advance.eq(1),
                sums[lane].eq(adder.o),
            ]
        # Only what says that something is written has a reset.
        writes = Mux(self.i.valid, lanes, 0)
        for stage in range(_READ + config.adder_stages):
            register = Signal(config.vlen, name=f"writes_{stage}")
            m.d.sync += register.eq(writes)
            writes = register
        one = Const(1, 1)
        address = delay(m, self.i.address, _READ + config.adder_stages, one, "address")
        reads = [self._side(m, number, writes, address, sums) for number in range(2)]
        m.d.comb += [
            held.eq(Mux(self.side, reads[1], reads[0])),
            self.o.eq(Mux(self.side, reads[0], reads[1])),
        ]
        return m

    def _pass_on(self, m: Module) -> None:
        """To the next column: it counts places from its own first lane on."""
        config, onward = self._config, self.onward
        m.d.sync += [
            onward.valid.eq(self.i.valid & (~self.i.single | (self.i.place >= config.vlen))),
            onward.address.eq(self.i.address),
            onward.single.eq(self.i.single),
            onward.place.eq(self.i.place - config.vlen),
            onward.value.eq(self.i.value),
        ]

    def _side(self, m: Module, number: int, writes: Value, address: Value, sums: Value) -> Value:
        """A side; returns what was read of it."""
        config, walk = self._config, self.walk
        bits = config.sum_format.bits
        identity = config.operators.identity_in(config.sum_format)
        assert identity is not None
        m.submodules[f"side_{number}"] = side = Memory(
            shape=config.vlen * bits, depth=config.out_units, init=[]
        )
        read = side.read_port()
        write = side.write_port(granularity=bits)
        added = Signal(name=f"added_{number}")
        clears = Signal(name=f"clears_{number}")
        m.d.comb += [
            added.eq(self.side == number),
            clears.eq(walk.clear & (walk.both | ~added)),
            read.en.eq(Mux(added, self.i.valid, walk.read)),
            read.addr.eq(Mux(added, self.i.address, walk.read_address)),
            write.en.eq(Mux(clears, Const(-1, config.vlen), Mux(added, writes, 0))),
            write.addr.eq(Mux(clears, walk.clear_address, address)),
            write.data.eq(Mux(clears, Const(identity, bits).replicate(config.vlen), Cat(sums))),
        ]
        return read.data
