"""A column of the output buffer: two sides, and the adders before them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arith.scalar_functions import delay
from ...arith.scalar_sum import ScalarSum
from ...spec.tensaurus import TensaurusConfig


def unit_number_bits(config: TensaurusConfig) -> int:
    """Width of the number of a unit in an output."""
    return (config.slice_numbers * config.olen - 1).bit_length()


def addend_layout(config: TensaurusConfig) -> data.StructLayout:
    """Addend of a column, which passes it on to the next column a cycle later.

    ``valid``; the unit's ``address``; ``single``: a ``value`` alone, to lane ``place`` of this
    column, or of a later one if it has not so many; else the column's own vector. Of a job that
    adds in memory the vector is kept at the address, which is its slot.
    """
    fields: dict[str, ShapeLike] = {
        "valid": 1,
        "address": range(config.out_units),
        "single": 1,
        "place": range(max(2, config.unit_values)),
        "value": config.sum_format.bits,
    }
    return data.StructLayout(fields)


def walk_layout(config: TensaurusConfig) -> data.StructLayout:
    """Walk over the side that nothing is added to: it is read, and set to the identity; ``both``:
    the other side is set, too."""
    address = range(config.out_units)
    return data.StructLayout(
        {"read": 1, "read_address": address, "clear": 1, "clear_address": address, "both": 1}
    )


def slot_read_layout(config: TensaurusConfig) -> data.StructLayout:
    """Read of a ``slot``, where it is ``valid``: of the vectors that the rows sent, or of the
    sums."""
    return data.StructLayout({"valid": 1, "slot": range(config.memory_slots)})


__all__ = ["StoreColumn", "adding_cycles", "settling_cycles"]

_READ = 1


def settling_cycles(config: TensaurusConfig) -> int:
    """Cycles after which a vector that entered column 0 is in the buffer of every column."""
    return config.cols + _READ + config.adder_stages + 3


def adding_cycles(config: TensaurusConfig) -> int:
    """Cycles from ``read`` to the first in which the sum can be read."""
    return _READ + config.adder_stages + 1


class StoreColumn(wiring.Component):
    """Reads, adds and writes one vector per cycle in one side; the other side is read and cleared.

    An address must not come again before its sum is written, :func:`settling_cycles` later, unless
    for other lanes. ``o`` is there a cycle after ``walk.read`` and stays until the next.

    With ``direct`` vectors are only kept in the one side; each is read there once, with ``read``,
    and its sum with ``given`` goes to the same address of the other side.

    Source: Tensaurus, the matrix store unit and its double buffer.

    Parameters
    ----------
    config: see :class:`TensaurusConfig`

    Members
    -------
    side: which side is added to; changes only while nothing is in flight
    i: see :func:`addend_layout`
    onward: the same for the next column, a cycle later
    vector: what the column adds; a cycle before ``i``
    direct: constant while anything is in flight
    read: see :func:`slot_read_layout`
    given: what is added then
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
                "direct": In(1),
                "read": In(slot_read_layout(config)),
                "given": In(bits),
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
        with m.If(self.direct):
            m.d.sync += addend.eq(self.given)
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
        reads = Mux(self.direct, self.read.valid, self.i.valid)
        read_address = Mux(self.direct, self.read.slot, self.i.address)
        # Only the write enables have a reset.
        writes = Mux(reads, lanes | self.direct.replicate(config.vlen), 0)
        for stage in range(_READ + config.adder_stages):
            register = Signal(config.vlen, name=f"writes_{stage}")
            m.d.sync += register.eq(writes)
            writes = register
        one = Const(1, 1)
        address = delay(m, read_address, _READ + config.adder_stages, one, "address")
        sides = []
        for number in range(2):
            read, write = self._side(m, number)
            added = Signal(name=f"added_{number}")
            m.d.comb += [
                added.eq(self.side == number),
                read.en.eq(Mux(added, reads, self.walk.read)),
                read.addr.eq(Mux(added, read_address, self.walk.read_address)),
            ]
            self._write(m, number, write, added, vector, writes, address, Cat(sums))
            sides.append(read.data)
        m.d.comb += [
            held.eq(Mux(self.side, sides[1], sides[0])),
            self.o.eq(Mux(self.side, sides[0], sides[1])),
        ]
        return m

    def _pass_on(self, m: Module) -> None:
        """Passes the addend on to the next column, which counts places from its own first lane."""
        config, onward = self._config, self.onward
        m.d.sync += [
            onward.valid.eq(self.i.valid & (~self.i.single | (self.i.place >= config.vlen))),
            onward.address.eq(self.i.address),
            onward.single.eq(self.i.single),
            onward.place.eq(self.i.place - config.vlen),
            onward.value.eq(self.i.value),
        ]

    def _side(self, m: Module, number: int) -> tuple[Any, Any]:
        """A side's ports: to read, and to write."""
        config = self._config
        bits = config.sum_format.bits
        m.submodules[f"side_{number}"] = side = Memory(
            shape=config.vlen * bits, depth=config.out_units, init=[]
        )
        return side.read_port(), side.write_port(granularity=bits)

    def _write(
        self,
        m: Module,
        number: int,
        port: Any,
        added: Value,
        vector: Value,
        writes: Value,
        address: Value,
        sums: Value,
    ) -> None:
        """Writes to a side: the identity, a vector to keep, or lanes of sums."""
        config, walk = self._config, self.walk
        bits = config.sum_format.bits
        identity = config.operators.identity_in(config.sum_format)
        assert identity is not None
        clears = Signal(name=f"clears_{number}")
        keeps = Signal(name=f"keeps_{number}")
        sums_go = Mux(self.direct, ~added, added)
        whole = Const(-1, config.vlen)
        kept = Mux(keeps, vector, sums)
        m.d.comb += [
            clears.eq(walk.clear & (walk.both | ~added)),
            keeps.eq(self.direct & added & self.i.valid),
            port.en.eq(Mux(clears | keeps, whole, Mux(sums_go, writes, 0))),
            port.addr.eq(Mux(clears, walk.clear_address, Mux(keeps, self.i.address, address))),
            port.data.eq(Mux(clears, Const(identity, bits).replicate(config.vlen), kept)),
        ]
