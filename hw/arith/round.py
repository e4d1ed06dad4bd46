"""Converts an exact sum to a packed float: normalise, round to nearest even, pack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, ValueLike, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..spec.formats import FloatFormat
from .pipeline import Bundle, Pipeline, count_leading_zeros, shift_left


def special_layout() -> data.StructLayout:
    """Decision of the special values among the terms.

    ``nan``: the result is NaN; else ``infinite``: it is the infinity of sign ``negative``;
    else ``negative_zero``: an exactly zero sum is -0, not +0.
    """
    return data.StructLayout({"nan": 1, "infinite": 1, "negative": 1, "negative_zero": 1})


def rounding_layout(fmt: FloatFormat) -> data.StructLayout:
    """A magnitude cut to the format's width, and whether to add one unit in its last place."""
    return data.StructLayout(
        {
            "fraction": fmt.fraction_bits,
            "exponent": fmt.exponent_bits,
            "overflow": 1,
            "increment": 1,
            "sign": 1,
        }
    )


def limit_offset(fmt: FloatFormat, head_bits: int, leading_zeros: int | None = None) -> int:
    """Returns the constant part of :func:`exponent_limit`: how far above its anchor a total may
    move.

    Parameters
    ----------
    fmt: of the result
    head_bits: the total's top magnitude bit weighs ``2**(anchor + head_bits - 1)``
    leading_zeros: that stand above it; default: as many as a significand of ``fmt`` has bits
    """
    zeros = fmt.significand_bits if leading_zeros is None else leading_zeros
    return head_bits - 1 - fmt.emin + zeros


def exponent_limit(fmt: FloatFormat, anchor: ValueLike, head_bits: int) -> Value:
    """Returns how far a total may move up until its quantum is the smallest of ``fmt``.

    The total's top magnitude bit weighs ``2**(anchor + head_bits - 1)``, ``anchor`` being
    signed. Above it, :class:`NormaliseSum` reads as many leading zeros as a significand has
    bits, which makes a negative limit mean a result that rounds to zero.
    """
    return Value.cast(anchor) + limit_offset(fmt, head_bits)


_STATE = ("limit", "flip", "lost_positive", "lost_negative", "negative_zero")


class NormaliseSum(wiring.Component):
    """Normalises a signed total and decides how it rounds.

    Combinational, or with a stage of registers within the shifts (behind them, if the leading
    zeros are counted before), which have no reset and move only while ``advance`` is set. The
    leading one is brought to the top, but not further than the
    format's smallest exponent allows, which makes subnormal results. The two's complement total
    is negated on the way, without an adder: its complement is kept, and the one that is missing
    either vanishes below the kept bits or becomes part of the rounding increment.

    Parameters
    ----------
    format: format of the result
    sum_bits: width of the total
    limit_bits: width of the limit
    counted: whether the leading zeros have been counted
    bounded: (counted) whether they are at most ``limit``, which has no leading zeros above the
        total and is never negative
    register: whether there is a register stage
    narrow: further formats of fewer significand bits that the total is rounded to as well, where
        the limit is that of one of them, with leading zeros of ``format``

    Members
    -------
    total: the signed total, above the most negative number of its width
    zeros: (counted) bits below the sign that equal it, up to the first that does not
    limit: where the total stands, see :func:`exponent_limit`
    flip: the total is to be negated
    lost_positive, lost_negative: the true total is larger (smaller) by less than one unit;
        with both set it counts as exact
    negative_zero: sign of an exactly zero total
    advance: (register) enables the registers
    o: see :func:`rounding_layout`
    o_narrow: (narrow) likewise, of each, a structure with their names
    """

    verilog_parameters: ClassVar = {
        "SUM_BITS": "sum_bits",
        "EXPONENT_BITS": "format.exponent_bits",
        "FRACTION_BITS": "format.fraction_bits",
        "LIMIT_BITS": "limit_bits",
    }

    def __init__(
        self,
        format: FloatFormat,
        *,
        sum_bits: int,
        limit_bits: int,
        counted: bool = False,
        bounded: bool = False,
        register: bool = False,
        narrow: Sequence[FloatFormat] = (),
    ) -> None:
        if bounded and not counted:
            raise ValueError("`bounded` must be False without `counted`")
        self._format = format
        self._narrow = tuple(narrow)
        self._sum_bits, self._limit_bits = sum_bits, limit_bits
        self._counted, self._bounded, self._register = counted, bounded, register
        members = {
            "total": In(signed(sum_bits)),
            "limit": In(signed(limit_bits)),
            "flip": In(1),
            "lost_positive": In(1),
            "lost_negative": In(1),
            "negative_zero": In(1),
            "o": Out(rounding_layout(format)),
        }
        if counted:
            members["zeros"] = In((sum_bits - 1).bit_length())
        if register:
            members["advance"] = In(1)
        if narrow:
            layouts = {fmt.name: rounding_layout(fmt) for fmt in narrow}
            members["o_narrow"] = Out(data.StructLayout(layouts))
        super().__init__(members)

    @property
    def format(self) -> FloatFormat:
        return self._format

    @property
    def narrow(self) -> tuple[FloatFormat, ...]:
        return self._narrow

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt = self._format
        negative = Signal()
        m.d.comb += negative.eq(self.total[-1])

        above = 0 if self._bounded else fmt.significand_bits
        magnitude = Cat(self.total[:-1], negative.replicate(above))
        state = {"negative": negative, **{name: getattr(self, name) for name in _STATE}}
        shift = self._shift_counted if self._counted else self._shift
        shifted, distance = shift(m, magnitude, state)
        self._cut(m, state, shifted, distance, fmt, self.o, "")
        for other in self._narrow:
            o = self.o_narrow[other.name]
            self._cut(m, state, shifted, distance, other, o, f"{other.name}_")
        return m

    def _cut(
        self,
        m: Module,
        state: Mapping[str, Value],
        shifted: Value,
        distance: Value,
        fmt: FloatFormat,
        o: data.View[data.StructLayout],
        prefix: str,
    ) -> None:
        """Cut the normalised total to a format's width."""
        negative = state["negative"]
        low_bits = max(len(shifted) - fmt.significand_bits - 1, 0)
        if low_bits == 0:
            shifted = Cat(C(0, fmt.significand_bits + 1 - len(shifted)), shifted)
        kept = Signal(fmt.significand_bits, name=f"{prefix}kept")
        half = Signal(name=f"{prefix}half")
        low = Signal(name=f"{prefix}low")
        m.d.comb += [
            low.eq(shifted[:low_bits].any() if low_bits else 0),
            half.eq(shifted[low_bits] ^ negative),
            kept.eq(shifted[low_bits + 1 :] ^ negative.replicate(fmt.significand_bits)),
        ]
        m.d.comb += o.increment.eq(self._increment(m, state, kept, half, low, prefix))
        self._place(m, state, (kept, half, low), distance, fmt, o, prefix)

    def _shift(self, m: Module, value: Value, state: dict[str, Value]) -> tuple[Value, Value]:
        """Shifts the leading significant bit up by at most ``limit``, by the zeros above it.

        A one where the limit is ends the count. The complement of -1 has no significant bit at
        all: it moves by the whole width. ``state`` is what else goes through the registers.
        """
        limit, width = state["limit"], len(value)
        # The leading significant bit is where neighbours differ: none of those above the total do.
        change = Signal(width)
        m.d.comb += change.eq(self.total[:-1] ^ self.total[1:])
        at_limit = Cat(*(limit == n for n in reversed(range(1, width))), limit <= 0)
        distance = count_leading_zeros(m, change | at_limit, name="zeros")
        fine = len(distance) // 3 if self._register else 0
        value = shift_left(m, value, distance, name="moved", least=fine)
        if self._register:
            value = self._keep(m, "shifted", value)
            distance = self._keep(m, "kept_distance", distance)
            for name, signal in state.items():
                state[name] = self._keep(m, f"kept_{name}", signal)
            value = shift_left(m, value, distance[:fine], name="moved")
        return value, distance

    def _shift_counted(
        self, m: Module, value: Value, state: dict[str, Value]
    ) -> tuple[Value, Value]:
        """Shifts the leading significant bit up by at most ``limit``, by the zeros above it."""
        distance = self.zeros if self._bounded else self._limited(m, state["limit"], len(value))
        value = shift_left(m, value, distance, name="moved")
        if self._register:
            value = self._keep(m, "shifted", value)
            for name, signal in state.items():
                state[name] = self._keep(m, f"kept_{name}", signal)
            return value, self._keep(m, "kept_distance", distance)
        return value, distance

    def _limited(self, m: Module, limit: Value, width: int) -> Value:
        """Returns how far a value of this width moves up, by the counted zeros and the limit."""
        stages = width.bit_length()
        wanted = Signal(signed(stages + 1))
        limited = Signal()
        distance = Signal(stages)
        m.d.comb += [
            wanted.eq(self.zeros + self._format.significand_bits),
            limited.eq(limit < wanted),
            distance.eq(Mux(limited, limit & ~limit[-1].replicate(len(limit)), wanted)),
        ]
        return distance

    def _keep(self, m: Module, name: str, value: Value) -> Value:
        """The value, one register later."""
        register = Signal.like(value, name=name, reset_less=True)
        with m.If(self.advance):
            m.d.sync += register.eq(value)
        return register

    def _increment(
        self,
        m: Module,
        state: Mapping[str, Value],
        kept: Value,
        half: Value,
        low: Value,
        prefix: str,
    ) -> Value:
        """Rounds to nearest even; the lost bits break ties."""
        negative = state["negative"]
        exact = Signal(name=f"{prefix}exact")
        outward = Signal(name=f"{prefix}outward")
        break_tie = Signal(name=f"{prefix}break_tie")
        m.d.comb += [
            exact.eq(state["lost_positive"] == state["lost_negative"]),
            outward.eq(~exact & (state["lost_negative"] == negative)),
            break_tie.eq(outward | (exact & kept[0])),
        ]
        # A negative total's complement is one unit short: with nothing below, that one
        # arrives at the half bit, making an increment of a set one and a tie of a clear one.
        at_half = half & (low | break_tie)
        negated = Mux(low, half, half | break_tie)
        return ~state["limit"][-1] & Mux(negative, negated, at_half)

    def _place(
        self,
        m: Module,
        state: Mapping[str, Value],
        magnitude: tuple[Value, Value, Value],
        distance: Value,
        fmt: FloatFormat,
        o: data.View[data.StructLayout],
        prefix: str,
    ) -> None:
        """Exponent field, overflow and sign."""
        kept, half, low = magnitude
        negative, limit = state["negative"], state["limit"]
        biased = Signal(len(limit), name=f"{prefix}biased")
        normal = Signal(name=f"{prefix}normal")
        zero = Signal(name=f"{prefix}zero")
        lost = Signal(name=f"{prefix}lost")
        top = fmt.exponent_mask if fmt.has_infinity else fmt.exponent_mask + 1
        m.d.comb += [
            normal.eq(kept[-1] & ~limit[-1]),
            biased.eq(limit - distance + 1),
            o.fraction.eq(kept[:-1]),
            o.exponent.eq(Mux(normal, biased, 0)),
            o.overflow.eq(normal & (biased >= top)),
            zero.eq(~(negative | kept.any() | half | low)),
            lost.eq(state["lost_positive"] ^ state["lost_negative"]),
            o.sign.eq(
                Mux(
                    zero & ~lost,
                    state["negative_zero"],
                    (negative | (zero & state["lost_negative"])) ^ state["flip"],
                )
            ),
        ]


class RoundPack(wiring.Component):
    """Adds the rounding increment and packs the result, special values included.

    Combinational.

    Parameters
    ----------
    format: format of the result

    Members
    -------
    i: see :func:`rounding_layout`
    special: see :func:`special_layout`
    o: the result, ``format.bits`` wide
    """

    verilog_parameters: ClassVar = {
        "FRACTION_BITS": "format.fraction_bits",
        "EXPONENT_BITS": "format.exponent_bits",
    }

    def __init__(self, format: FloatFormat) -> None:
        self._format = format
        super().__init__(
            {
                "i": In(rounding_layout(format)),
                "special": In(special_layout()),
                "o": Out(format.bits),
            }
        )

    @property
    def format(self) -> FloatFormat:
        return self._format

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt = self._format
        # A carry out of the fraction steps the exponent, and from the largest one to infinity.
        rounded = Signal(fmt.bits)
        finite_fraction = Signal(fmt.fraction_bits)
        finite_exponent = Signal(fmt.exponent_bits)
        infinite = Signal()
        fraction = Signal(fmt.fraction_bits)
        exponent = Signal(fmt.exponent_bits)
        nan, infinity = (value & fmt.fraction_mask for value in (fmt.nan, fmt.infinity))
        m.d.comb += [
            rounded.eq(Cat(self.i.fraction, self.i.exponent) + self.i.increment),
            Cat(finite_fraction, finite_exponent).eq(rounded),
            infinite.eq(self.special.infinite | self.i.overflow | rounded[-1]),
            fraction.eq(Mux(self.special.nan, nan, Mux(infinite, infinity, finite_fraction))),
            exponent.eq(Mux(self.special.nan | infinite, fmt.exponent_mask, finite_exponent)),
        ]
        magnitude = Cat(fraction, exponent)
        sign = Mux(self.special.infinite, self.special.negative, self.i.sign)
        m.d.comb += self.o.eq(Cat(magnitude, sign & ~self.special.nan))
        if not fmt.has_infinity:
            # An overflow is a NaN there, and a NaN has no sign.
            m.d.comb += self.o[-1].eq(sign & (magnitude != fmt.nan))
        return m


_SPECIALS = ("nan", "infinite", "negative")


def normalise_and_round(
    m: Module,
    bundle: Bundle,
    result: FloatFormat,
    pipeline: Pipeline,
    *,
    narrow: Sequence[FloatFormat] = (),
) -> Value:
    """The total, rounded to nearest even and packed, special values included.

    It has the pipeline's registers within the normalisation (cut ``shifted``) and behind the
    rounding (cut ``result``).

    Parameters
    ----------
    m: the module
    bundle: ``total``, ``limit``, ``flip``, ``negative_zero`` and, if anything was lost,
        ``lost_positive`` and ``lost_negative``, see :class:`NormaliseSum`; ``nan``, ``infinite``
        and ``negative``, see ``special_layout``; with narrow formats ``narrow``; if they have been
        counted, ``zeros``, at most ``limit``
    result: format of the result
    pipeline: of the operator
    narrow: formats of the result while their bit in the bundle's ``narrow`` is set, at most one; it
        comes in the low bits
    """
    register = pipeline.has("shifted")
    m.submodules.normalise = normalise = NormaliseSum(
        result,
        sum_bits=len(bundle["total"]),
        limit_bits=len(bundle["limit"]),
        counted="zeros" in bundle,
        bounded="zeros" in bundle,
        register=register,
        narrow=narrow,
    )
    if register:
        m.d.comb += normalise.advance.eq(pipeline.advance)
    beside = (*_SPECIALS, "narrow") if narrow else _SPECIALS
    inputs = sorted(set(bundle) - set(beside))
    m.d.comb += [getattr(normalise, name).eq(bundle[name]) for name in inputs]
    kept = pipeline.cut("shifted", {name: bundle[name] for name in beside})
    m.submodules.round = rounder = RoundPack(result)
    m.d.comb += rounder.i.eq(normalise.o)
    m.d.comb += [rounder.special[name].eq(kept[name]) for name in _SPECIALS]
    o: Value = rounder.o
    for n, fmt in enumerate(narrow):
        m.submodules[f"round_{fmt.name}"] = other = RoundPack(fmt)
        m.d.comb += other.i.eq(normalise.o_narrow[fmt.name])
        m.d.comb += [other.special[name].eq(kept[name]) for name in _SPECIALS]
        o = Cat(Mux(kept["narrow"][n], other.o, o[: fmt.bits]), o[fmt.bits :])
    return pipeline.cut("result", {"o": o})["o"]
