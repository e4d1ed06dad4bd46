"""A lane's array of elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from amaranth.hdl import C, Cat, Module, Mux, ShapeLike, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Member, Out

from ..spec.gta import COLS, LIMB_BITS, ROWS, GtaConfig
from .float.headers import SUM_BITS, product_bits
from .layouts import Base, x_layout


class LimbElement(wiring.Component):
    """Multiplies 9 x 9 bits, signed: a product and an addition every cycle, always.

    Source: the paper's section 4.1; "three operand registers, systolic mode register". Our mode
    travels beside each limb, so that neighbours change it a cycle apart, as their data arrive.

    ``x`` is registered and passes right, ``y`` is registered where ``x.y_shift`` says so and passes
    down. Where ``x.swap`` is set, the held operand becomes what y was before; x is multiplied by
    the held operand from the cycle after, and the product is added to what ``x.base`` names
    (:class:`Base`) at that cycle's end. So of a sum that stays y comes a cycle before its x, with
    ``y_shift`` and ``swap`` set all the time; of an operand that stays its shifts are over a cycle
    before the x that swaps.

    Products of long significands need a second rank. Of a configuration without, sums that stay
    leave through the sums below, with limbs of 0 and ``Base.ABOVE``.

    The low ``partial_bits`` of the second rank take the old sum where a new one begins
    (``Base.ZERO``), and what is above it with ``x.shift_drain``; both happen with the cycle of the
    product, a cycle after ``x`` comes. Bits beyond these, of fp64, stay.
    With ``Base.CARRY`` the sum's lowest byte is shifted into its top, and the product is added to
    the rest. So limbs of significands give their whole product: by diagonals, the low one first,
    each but the first beginning with a carry, its top 16 bits are in the sum in the end, those
    below them in the top of the second rank. Where that is too short for the longest significands,
    it goes on in the sum's top ``spare_bits``, which sums of significands leave alone: with
    ``x.shift_drain`` what leaves the second rank is shifted into these. Without integers it always
    is.

    Of a vector the limbs are an element's own, ``x_vector`` and ``y_vector``, and only what it does
    comes from its neighbour.

    Latency: ``x_right`` and ``y_down`` 1; ``sum`` 2 from ``x``. Sums are modulo
    ``2 ** partial_bits``. Nothing has a reset: after it idle x have to come for as many cycles as a
    row has elements, and no sum is defined before ``Base.ZERO``.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    x, y: in; see :func:`x_layout`; a limb with its sign
    vector: in; limbs are the element's own; x_vector, y_vector: in; these
    sum_above, drain_above: in; of the element above; of a configuration with integers, and the
      latter with a second rank
    x_right, y_down, sum, drain: out; registers; the last one with a second rank
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        limb, partial = signed(LIMB_BITS + 1), signed(config.partial_bits)
        x = x_layout(config)
        members: dict[str, Member] = {
            "x": In(x),
            "y": In(limb),
            "vector": In(1),
            "x_vector": In(limb),
            "y_vector": In(limb),
            "x_right": Out(x),
            "y_down": Out(limb),
            "sum": Out(partial),
        }
        if config.second_rank:
            members["drain"] = Out(self.drain_shape(config))
        if config.integers:
            members["sum_above"] = In(partial)
            if config.second_rank:
                members["drain_above"] = In(partial)
        super().__init__(members)

    @staticmethod
    def drain_shape(config: GtaConfig) -> ShapeLike:
        """Returns the shape of the second rank."""
        return signed(config.drain_bits)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        limb = signed(LIMB_BITS + 1)
        held = Signal(limb, reset_less=True)
        y = Signal(limb, reset_less=True)
        total = Signal(signed(config.partial_bits), reset_less=True)
        x = Signal(x_layout(config), name="x_held", reset_less=True)
        m.d.sync += [x.eq(self.x), x.limb.eq(Mux(self.vector, self.x_vector, self.x.limb))]
        with m.If(self.x.y_shift if config.integers else 1):
            m.d.sync += y.eq(Mux(self.vector, self.y_vector, self.y))
        with m.If(self.x.swap if config.integers else 1):
            m.d.sync += held.eq(y)
        product = Signal(signed(2 * (LIMB_BITS + 1)))
        base = Signal(signed(config.partial_bits))
        with m.Switch(x.base):
            with m.Case(Base.OWN):
                m.d.comb += base.eq(total)
            if config.integers:
                with m.Case(Base.ABOVE):
                    m.d.comb += base.eq(self.sum_above)
            if config.integers or config.second_rank:
                with m.Case(Base.CARRY):
                    m.d.comb += base.eq(self._carried(x, total))
        m.d.comb += product.eq(x.limb * held)
        m.d.sync += total.eq(base + product)
        if config.second_rank:
            self._second_rank(m, x, total)
        m.d.comb += [
            self.x_right.eq(x),
            self.y_down.eq(y),
            self.sum.eq(total),
        ]
        return m

    def _carried(self, x: data.View[data.StructLayout], total: Signal) -> Value:
        """Returns the sum without its lowest byte."""
        config = self.config
        shifted = total[LIMB_BITS:].as_signed()
        if not config.spare_bits:
            return shifted
        bits, spare = config.significand_sum_bits, config.spare_bits
        kept = Cat(total[bits : bits + spare], self.drain)[LIMB_BITS:][:spare]
        long = Cat(total[LIMB_BITS:bits], C(0, LIMB_BITS), kept)
        return Mux(x.shift_drain, long, shifted) if config.integers else long

    def _second_rank(self, m: Module, x: data.View[data.StructLayout], total: Signal) -> None:
        config = self.config
        drain = Signal(self.drain_shape(config), reset_less=True)
        m.d.comb += self.drain.eq(drain)
        low = config.partial_bits if config.integers else 0
        carries = Signal()
        m.d.comb += carries.eq(x.base == Base.CARRY)
        carried = Cat(drain, total[:LIMB_BITS])[LIMB_BITS:]
        if low < len(drain):
            m.d.sync += drain[low:].eq(_chosen(drain[low:], [(carries, carried[low:])]))
        if config.integers:
            takes = Signal()
            shifts = Signal()
            m.d.comb += [
                takes.eq(x.base == Base.ZERO),
                shifts.eq(x.shift_drain & ~Cat(takes, carries).any()),
            ]
            choices: list[tuple[Value, Value]] = [
                (carries, carried[:low]),
                (takes, total[:low]),
                (shifts, self.drain_above),
            ]
            m.d.sync += drain[:low].eq(_chosen(drain[:low], choices))


def _chosen(held: Value, choices: Sequence[tuple[Value, Value]]) -> Value:
    """Selects the value whose bit is set, or the held value if none is.

    At most one bit is set. Gates and a join take less than multiplexers in a chain.
    """
    found = held & ~Cat(*(select for select, _ in choices)).any().replicate(len(held))
    for select, value in choices:
        found = found | (value & select.replicate(len(held)))
    return found


class Mpra(wiring.Component):
    """Multi-precision reconfigurable array: 8 x 8 :class:`LimbElement`.

    Source: the paper's section 4.1. Each passes its x right, its y, its sum and its second rank
    down; the next lane's elements stand behind the last ones as these behind each other. Latency
    from ``x`` to ``x_right`` 8, from ``y`` to ``y_down`` 8 while it moves.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    x, x_right: by row, in and out; see :func:`x_layout`
    y, y_down: by column, in and out; limbs with their sign
    vector: in; limbs are the elements' own; x_vector, y_vector: in, by column and row; these
    bytes: out; by column and row, the lowest byte of each sum
    sum_above, sum, drain_above, drain: by column, in and out; of a configuration with integers, the
      latter two with a second rank. Above the array's first row 0 comes as the sum
    products, last_limbs: out; by row and column, of a configuration with floats: products of
      significands, see :func:`product_bits`, and that an element multiplies the last limbs of one,
      which is there in the next cycle
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        x = data.ArrayLayout(x_layout(config), ROWS)
        y = data.ArrayLayout(signed(LIMB_BITS + 1), COLS)
        partial = data.ArrayLayout(signed(config.partial_bits), COLS)
        own = data.ArrayLayout(data.ArrayLayout(signed(LIMB_BITS + 1), ROWS), COLS)
        members: dict[str, Member] = {
            "x": In(x),
            "x_right": Out(x),
            "y": In(y),
            "y_down": Out(y),
            "vector": In(1),
            "x_vector": In(own),
            "y_vector": In(own),
            "bytes": Out(data.ArrayLayout(data.ArrayLayout(LIMB_BITS, ROWS), COLS)),
        }
        if config.integers:
            members |= {"sum_above": In(partial), "sum": Out(partial)}
            if config.second_rank:
                members |= {"drain_above": In(partial), "drain": Out(partial)}
        if config.floats:
            products = data.ArrayLayout(data.ArrayLayout(product_bits(config), COLS), ROWS)
            members |= {
                "products": Out(products),
                "last_limbs": Out(data.ArrayLayout(COLS, ROWS)),
            }
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        columns = range(COLS)
        y = [self.y[c] for c in columns]
        drains = config.integers and config.second_rank
        if config.integers:
            above = [self.sum_above[c] for c in columns]
        if drains:
            drain = [self.drain_above[c] for c in columns]
        for r in range(ROWS):
            x = self.x[r]
            for c in columns:
                m.submodules[f"element_{r}_{c}"] = element = LimbElement(config)
                m.d.comb += [
                    element.x.eq(x),
                    element.y.eq(y[c]),
                    element.vector.eq(self.vector),
                    element.x_vector.eq(self.x_vector[c][r]),
                    element.y_vector.eq(self.y_vector[c][r]),
                    self.bytes[c][r].eq(element.sum[:LIMB_BITS]),
                ]
                x, y[c] = element.x_right, element.y_down
                if config.floats:
                    m.d.comb += [
                        self.products[r][c].eq(self._product(element)),
                        self.last_limbs[r][c].eq(x.last),
                    ]
                if config.integers:
                    m.d.comb += element.sum_above.eq(above[c])
                    above[c] = element.sum
                if drains:
                    m.d.comb += element.drain_above.eq(drain[c])
                    drain[c] = element.drain[: config.partial_bits]
            m.d.comb += self.x_right[r].eq(x)
        for c in columns:
            m.d.comb += self.y_down[c].eq(y[c])
            if config.integers:
                m.d.comb += self.sum[c].eq(above[c])
            if drains:
                m.d.comb += self.drain[c].eq(drain[c])
        return m

    def _product(self, element: LimbElement) -> Value:
        """A product's top bits are the sum's, others the second rank's, and of a long one the
        lowest ones again the sum's."""
        config, begin = self.config, self.config.significand_sum_bits
        if not config.second_rank:
            return element.sum[: product_bits(config)]
        kept = element.sum[begin : begin + config.spare_bits]
        return Cat(kept, element.drain, element.sum[:SUM_BITS])[-product_bits(config) :]
