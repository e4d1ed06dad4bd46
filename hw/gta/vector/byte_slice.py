"""Processes one byte of each operand of a row per cycle, for planes of an octet."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Final, NamedTuple

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.formats import FLOAT_FORMATS
from ...spec.gta import LIMB_BITS, GtaConfig


class BitGroup(NamedTuple):
    """Bits of a byte that are always of the exponent together.

    ``bits``: ascending, the sign not among them. ``places``: format and byte from the lowest one of
    each place where they are.
    """

    bits: tuple[int, ...]
    places: tuple[tuple[str, int], ...]


def exponent_groups(config: GtaConfig) -> list[BitGroup]:
    """The bits of a byte, grouped by the bytes of the configuration's floats in which they belong
    to the exponent; elsewhere they belong to the fraction, but for the sign."""
    found: dict[tuple[tuple[str, int], ...], list[int]] = {}
    for bit in range(LIMB_BITS):
        places = tuple(
            (name, byte)
            for name in config.floats
            for byte in range(FLOAT_FORMATS[name].bits // LIMB_BITS)
            if 0
            <= byte * LIMB_BITS + bit - FLOAT_FORMATS[name].fraction_bits
            < FLOAT_FORMATS[name].exponent_bits
        )
        found.setdefault(places, []).append(bit)
    return [BitGroup(tuple(bits), places) for places, bits in found.items()]


class NanWatch(wiring.Component):
    """Detects NaNs: all bits of the exponent are set, and one of the fraction.

    One bit is enough: the fraction sets it, the exponent, which comes later, clears it.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: in; bytes, from the lowest one up
    update: in; there is a byte
    first, last: in; of the bytes of a float; the last one has the sign
    exponent: in; of each of ``exponent_groups``, whether its bits belong to the exponent
    found: out; combinational; what is true up to this byte
    o: out; a register; it has no reset, as ``first`` begins it
    """

    def __init__(self, config: GtaConfig) -> None:
        self._groups = exponent_groups(config)
        self.config: Final = config
        super().__init__(
            {
                "i": In(LIMB_BITS),
                "update": In(1),
                "first": In(1),
                "last": In(1),
                "exponent": In(len(self._groups)),
                "found": Out(1),
                "o": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held = Signal(reset_less=True)
        fraction, whole = [held & ~self.first], []
        for n, group in enumerate(self._groups):
            other, bits = ~self.exponent[n], Cat(self.i[bit] for bit in group.bits)
            if LIMB_BITS - 1 in group.bits:
                # In the last byte it is the sign, which is of neither.
                fraction.append(self.i[-1] & other & ~self.last)
                fraction.append(bits[:-1].any() & other)
            else:
                fraction.append(bits.any() & other)
            whole.append(bits.all() | other)
        m.d.comb += [
            self.found.eq(Cat(fraction).any() & Cat(whole).all()),
            self.o.eq(held),
        ]
        with m.If(self.update):
            m.d.sync += held.eq(self.found)
        return m


_FLAGS = (
    "x",
    "y",
    "c",
    "twice",
    "invert",
    "choose",
    "carry",
    "compare",
    "first",
    "last",
    "update",
    "any",
    "less",
    "flag",
    "negate",
)
_FLOAT_FLAGS = ("float_last", "ordered")


def slice_control_layout(config: GtaConfig) -> data.StructLayout:
    """Control of the slices of a column in a cycle.

    What is added: ``x``: x. ``y``, ``c``, ``twice``: to it y, c, x again; ``invert``: y's
    complement, with a carry in the first plane. ``choose``: x in rows that have chosen it, y in the
    others. ``carry``: the plane below gives a carry.
    What is remembered, if ``update``, from the ``first`` plane on: the carry and what has been
    seen. ``last``: the plane has signs, and the carry shall be that of a comparison.
    What rows choose x by: ``any``: something was not 0. Otherwise ``less``: x was smaller; neither:
    x was larger. ``compare``: this is asked at all. ``flag``: the lowest bit is 1 where x has been
    chosen, or with ``negate`` where it has not.
    Of a configuration with floats: ``float_last``: as ``last``, and the numbers are floats.
    ``ordered``: -0 and +0 differ. ``exponent``: of each of ``exponent_groups``, whether its bits
    belong to the exponent. ``nan``: the byte in rows that have seen a NaN.
    """
    fields: dict[str, ShapeLike] = dict.fromkeys(_FLAGS, 1)
    if config.floats:
        fields |= dict.fromkeys(_FLOAT_FLAGS, 1)
        fields |= {"exponent": len(exponent_groups(config)), "nan": LIMB_BITS}
    return data.StructLayout(fields)


class ByteSlice(wiring.Component):
    """Adds a byte of one operand to one of another, and compares what has gone by.

    One adder does all: x + y, x + c, x - y; x + x, which is x a bit higher; x or y and nothing,
    which is a choice; and x - y, or c and nothing, for what is less, and what is not 0. Operands
    come from their lowest byte up.

    ``o`` is combinational. What has been seen counts from the cycle after on, until it is updated;
    it has no reset, as ``first`` begins it.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    control: in; see :func:`slice_control_layout`
    mine: in; x is chosen, whatever was seen
    x, y, c: in
    o: out
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "control": In(slice_control_layout(config)),
                "mine": In(1),
                "x": In(LIMB_BITS),
                "y": In(LIMB_BITS),
                "c": In(LIMB_BITS),
                "o": Out(LIMB_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        control = self.control
        carry = Signal(reset_less=True)
        differs = Signal(reset_less=True)
        chosen = Signal()
        nan = Signal()
        use_x = Signal()
        use_y = Signal()
        m.d.comb += [
            chosen.eq(
                (control.compare & differs & ((carry ^ control.less) | control.any)) | self.mine
            ),
            use_x.eq(control.x | (control.choose & chosen & ~nan)),
            use_y.eq(control.y | (control.choose & ~chosen & ~nan)),
        ]
        y = self.y ^ control.invert.replicate(LIMB_BITS)
        right = [
            y & use_y.replicate(LIMB_BITS),
            self.c & control.c.replicate(LIMB_BITS),
            self.x & control.twice.replicate(LIMB_BITS),
            control.flag & (chosen ^ control.negate),
        ]
        if self.config.floats:
            right.append(control.nan & nan.replicate(LIMB_BITS))
        carry_in = Signal()
        total = Signal(LIMB_BITS + 1)
        m.d.comb += [
            carry_in.eq(Mux(control.first, control.invert, carry & control.carry)),
            total.eq((self.x & use_x.replicate(LIMB_BITS)) + reduce(or_, right) + carry_in),
            self.o.eq(total[:LIMB_BITS]),
        ]
        unlike = self.x[-1] ^ self.y[-1]
        turned: Value = control.last & unlike
        seen: Value = total[:LIMB_BITS].any()
        undefined: list[Value] = []
        if self.config.floats:
            found, magnitude = self._watch(m, nan)
            # If an operand is a NaN, x is neither less nor equal.
            undefined.append(control.float_last & found)
            # The order of two negative numbers is that of their magnitudes, the other way round.
            turned = control.last & (unlike | (control.float_last & self.x[-1]))
            # Numbers of unlike signs differ, but for the zeros.
            magnitudes = Cat(total[: LIMB_BITS - 1], total[LIMB_BITS - 1] & ~control.float_last)
            signs = control.float_last & unlike & (magnitude | control.ordered)
            seen = magnitudes.any() | signs
        with m.If(control.update):
            m.d.sync += [
                carry.eq(reduce(or_, undefined, total[LIMB_BITS] ^ turned)),
                differs.eq(reduce(or_, undefined, (differs & ~control.first) | seen)),
            ]
        return m

    def _watch(self, m: Module, nan: Signal) -> tuple[Value, Value]:
        """Watches the operands; returns whether one is a NaN, and whether x is not 0.

        In the second pass, ``nan`` tells whether one is.
        """
        control = self.control
        watches = []
        for name, operand in (("x", self.x), ("y", self.y)):
            m.submodules[f"watch_{name}"] = watch = NanWatch(self.config)
            m.d.comb += [
                watch.i.eq(operand),
                watch.update.eq(control.update),
                watch.first.eq(control.first),
                watch.last.eq(control.last),
                watch.exponent.eq(control.exponent),
            ]
            watches.append(watch)
        held = Signal(name="magnitude_held", reset_less=True)
        magnitude = Signal()
        bits = Cat(self.x[:-1], self.x[-1] & ~control.last)
        m.d.comb += [
            magnitude.eq((held & ~control.first) | bits.any()),
            nan.eq(control.ordered & (watches[0].o | watches[1].o)),
        ]
        with m.If(control.update):
            m.d.sync += held.eq(magnitude)
        return watches[0].found | watches[1].found, magnitude
