"""Headers of the products of floats that lie by planes, of the columns of an adder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Member, Out

from ...spec.formats import FLOAT_FORMATS
from ...spec.gta import LEFT_WORD_BYTES, LIMB_BITS, ROWS, GtaConfig, limbs
from .headers import one_of, vector_mode, widened_exponent


def _sizes(formats: Sequence[str]) -> list[int]:
    return sorted({FLOAT_FORMATS[name].exponent_bits for name in formats})


def _longer(
    formats: Sequence[str], mode: data.View[data.StructLayout], word: Value
) -> list[tuple[Value, Value]]:
    """Bits behind the shortest exponent's, and whether they are of the exponent."""
    usual, long = (FLOAT_FORMATS[name].exponent_bits for name in ("fp32", "fp64"))
    at_least = {usual: ~mode.fp16, long: mode.fp64}
    return [(word[-size:-shorter], at_least[size]) for shorter, size in pairwise(_sizes(formats))]


def exponent_is_any(
    formats: Sequence[str], mode: data.View[data.StructLayout], word: Value
) -> Value:
    """Tells, from its upper bits without the sign, whether a float's exponent is not all 0.

    If it is not, the significand has its hidden bit.
    """
    found: Value = word[-_sizes(formats)[0] :].any()
    for part, here in _longer(formats, mode, word):
        found = found | (here & part.any())
    return found


def exponent_is_all(
    formats: Sequence[str], mode: data.View[data.StructLayout], word: Value
) -> Value:
    """Tells whether the exponent is all ones: an infinity or a NaN."""
    found: Value = word[-_sizes(formats)[0] :].all()
    for part, here in _longer(formats, mode, word):
        found = found & (~here | part.all())
    return found


class PlaneOperand(wiring.Component):
    """Splits a float's two upper bytes into its fields, for any format.

    Combinational.

    Parameters
    ----------
    formats: names of those that it may have
    exponent_bits: of ``exponent``

    Members
    -------
    mode: in; see ``vector_mode``
    low, high: in; the two upper bytes
    negative: out
    exponent: out; as ``operand_header`` has it
    hidden: out; the exponent's bits are not all 0: a significand has its hidden bit
    special: out; they are all 1: an infinity or a NaN
    """

    def __init__(self, formats: Sequence[str], exponent_bits: int) -> None:
        self._formats = tuple(formats)
        self._exponent_bits = exponent_bits
        super().__init__(
            {
                "mode": In(vector_mode()),
                "low": In(LIMB_BITS),
                "high": In(LIMB_BITS),
                "negative": Out(1),
                "exponent": Out(exponent_bits),
                "hidden": Out(1),
                "special": Out(1),
            }
        )

    @property
    def formats(self) -> tuple[str, ...]:
        return self._formats

    @property
    def exponent_bits(self) -> int:
        return self._exponent_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = Cat(self.low, self.high)[: 2 * LIMB_BITS - 1]
        short, usual, long = (FLOAT_FORMATS[n].exponent_bits for n in ("fp16", "fp32", "fp64"))
        sizes = _sizes(self._formats)
        exact = {short: self.mode.fp16, usual: C(1), long: self.mode.fp64}
        exponent: Value = C(0, self._exponent_bits)
        for size in sorted(sizes, key=lambda size: size != usual):
            field = widened_exponent(word[-size:], self._exponent_bits)
            exponent = Mux(exact[size], field, exponent) if len(sizes) > 1 else field
        m.d.comb += [
            self.negative.eq(self.high[-1]),
            # A subnormal number's exponent is that of 1, whose lowest bit alone differs from 0's.
            self.exponent.eq(Cat(exponent[0] | ~self.hidden, exponent[1:])),
            self.hidden.eq(exponent_is_any(self._formats, self.mode, word)),
            self.special.eq(exponent_is_all(self._formats, self.mode, word)),
        ]
        return m


def plane_header(exponent_bits: int) -> data.StructLayout:
    """A product without its significand, which tells the rest of what it is.

    ``exponent``: as in ``product_header``. ``x_special``: x is an infinity or a NaN. ``y_zero``,
    ``y_infinite``, ``y_nan``: what y is.
    """
    return data.StructLayout(
        {
            "negative": 1,
            "exponent": exponent_bits + 1,
            "x_special": 1,
            "y_zero": 1,
            "y_infinite": 1,
            "y_nan": 1,
        }
    )


def classified(header: data.View[data.StructLayout], not_zero: Value) -> dict[str, Value]:
    """Fields of ``product_header``, by what the product of the significands is.

    An x that is an infinity has the significand 0, one that is a NaN another one.
    """
    special, infinite = header.x_special, header.y_infinite
    return {
        "negative": header.negative,
        "exponent": header.exponent,
        "zero": ~not_zero,
        "infinite": special | infinite,
        "nan": header.y_nan
        | (special & (not_zero | header.y_zero))
        | (~special & infinite & ~not_zero),
    }


class PlaneProduct(wiring.Component):
    """Takes the operands of one column a cycle.

    Latency from ``x`` 2 cycles; a column's y comes a cycle before its x.

    Parameters
    ----------
    formats: names of those that operands may have
    exponent_bits: of operands
    columns: how many there are

    Members
    -------
    mode: in; see ``vector_mode``
    x, y: in; by column, the two upper bytes of the row's operand
    x_here, y_here: in; a bit a column: a product's last operand is there
    y_any: in; by column, with y: its fraction is not 0
    o: out; see :func:`plane_header`; registers
    """

    def __init__(self, formats: Sequence[str], exponent_bits: int, columns: int) -> None:
        self._formats = tuple(formats)
        self._exponent_bits = exponent_bits
        self._columns = columns
        operands = data.ArrayLayout(2 * LIMB_BITS, columns)
        super().__init__(
            {
                "mode": In(vector_mode()),
                "x": In(operands),
                "y": In(operands),
                "x_here": In(columns),
                "y_here": In(columns),
                "y_any": In(columns),
                "o": Out(plane_header(exponent_bits)),
            }
        )

    @property
    def formats(self) -> tuple[str, ...]:
        return self._formats

    @property
    def exponent_bits(self) -> int:
        return self._exponent_bits

    @property
    def columns(self) -> int:
        return self._columns

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits, one = self._exponent_bits, self.mode.one
        x, y = (self._operand(m, name) for name in ("x", "y"))
        some = (self.y_any & self.y_here).any()
        negative = Signal(reset_less=True)
        exponent = Signal(bits, name="y_exponent", reset_less=True)
        m.d.sync += [
            negative.eq(y.negative & ~one),
            exponent.eq(Mux(one, C((1 << bits - 1) - 1, bits), y.exponent)),
        ]
        found = {
            "negative": x.negative ^ negative,
            # The one that is added comes in as a carry.
            "exponent": (Cat(1, x.exponent) + Cat(1, exponent))[1:],
            "x_special": x.special,
        }
        for name, value in (
            ("y_zero", ~y.hidden & ~some & ~one),
            ("y_infinite", y.special & ~some & ~one),
            ("y_nan", y.special & some),
        ):
            held = Signal(name=name, reset_less=True)
            m.d.sync += held.eq(value)
            found[name] = held
        for name, shape in plane_header(bits):
            part = Signal(shape.shape, name=f"product_{name}", reset_less=True)
            m.d.sync += [part.eq(found[name]), self.o[name].eq(part)]
        return m

    def _operand(self, m: Module, name: str) -> PlaneOperand:
        m.submodules[name] = operand = PlaneOperand(self._formats, self._exponent_bits)
        here, given = getattr(self, f"{name}_here"), getattr(self, name)
        word = one_of([here[k] for k in range(self._columns)], list(given))
        m.d.comb += [
            operand.mode.eq(self.mode),
            operand.low.eq(word[:LIMB_BITS]),
            operand.high.eq(word[LIMB_BITS:]),
        ]
        return operand


class FloatLimbs(wiring.Component):
    """Puts the hidden bits into bytes of significands, which lie as they do in memory.

    A significand's lowest byte is the float's, so that the highest limb has as many bits of it as
    are left, the hidden one on top. Combinational; ``any`` has a register.

    x has no hidden bit if it is an infinity or a NaN, either: so its product with what is not 0
    tells which. For y ``any`` does.

    Parameters
    ----------
    config: of the accelerator, with floats
    second: whether these are y

    Members
    -------
    mode: in; see ``vector_mode``
    words: in; of the column's bank: two planes
    bytes: in; by row, that one of them that is multiplied, or 0
    high: in; it is the highest limb
    begins: in; (y) it is a product's first step
    o: out; by row
    any: out; (y) by row; in a product's last step: the fraction is not 0
    """

    def __init__(self, config: GtaConfig, *, second: bool) -> None:
        self.config: Final = config
        self._second = second
        rows = data.ArrayLayout(LIMB_BITS, ROWS)
        members: dict[str, Member] = {
            "mode": In(vector_mode()),
            "words": In(8 * LEFT_WORD_BYTES),
            "bytes": In(rows),
            "high": In(1),
            "o": Out(rows),
        }
        if second:
            members |= {"begins": In(1), "any": Out(ROWS)}
        super().__init__(members)

    @property
    def second(self) -> bool:
        return self._second

    def elaborate(self, platform: object) -> Module:
        m = Module()
        place = Signal(LIMB_BITS, name="hidden_place")
        fraction = Signal(LIMB_BITS, name="fraction_bits")
        m.d.comb += [
            place.eq(Mux(self.high, self._of_highest(lambda bits: 1 << bits), 0)),
            fraction.eq(Mux(self.high, self._of_highest(lambda bits: (1 << bits) - 1), 0xFF)),
        ]
        low, high = (self.words.word_select(n, 8 * ROWS) for n in (0, 1))
        formats, mode = self.config.floats, self.mode
        for r in range(ROWS):
            bits = Cat(low.word_select(r, LIMB_BITS), high.word_select(r, LIMB_BITS)[:-1])
            kept = Signal(LIMB_BITS, name=f"kept_{r}")
            hidden = Signal(name=f"hidden_{r}")
            if self._second:
                kept_bits = fraction & (~mode.one).replicate(LIMB_BITS)
                has_hidden = exponent_is_any(formats, mode, bits) | mode.one
                self._gather(m, r, kept)
            else:
                kept_bits = fraction
                special = exponent_is_all(formats, mode, bits)
                has_hidden = exponent_is_any(formats, mode, bits) & ~special
            m.d.comb += [
                hidden.eq(has_hidden),
                kept.eq(self.bytes[r] & kept_bits),
                self.o[r].eq(kept | (place & hidden.replicate(LIMB_BITS))),
            ]
        return m

    def _gather(self, m: Module, r: int, kept: Value) -> None:
        found: Value = kept.any()
        if max(limbs(name) for name in self.config.floats) > 1:
            before = Signal(name=f"any_before_{r}", reset_less=True)
            found = found | (before & ~self.begins)
            m.d.sync += before.eq(found)
        m.d.comb += self.any[r].eq(found)

    def _of_highest(self, value: Callable[[int], int]) -> Value:
        """A number of the format, of the bits that the fraction has in the highest limb."""
        found: Value = C(value(LIMB_BITS - 1), LIMB_BITS)
        for name in self.config.floats:
            bits = FLOAT_FORMATS[name].fraction_bits % LIMB_BITS
            if bits != LIMB_BITS - 1:
                found = Mux(self.mode[name], C(value(bits), LIMB_BITS), found)
        return found
