"""A row of operand lanes, decoded for the multipliers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arith.pipeline import count_leading_zeros, shift_left
from ..arith.unpack import exponent_bits, unpacked_layout
from ..spec.formats import FLOAT_FORMATS, FloatFormat
from ..spec.m3xu import MODES


class ElementDecoder(wiring.Component):
    """Unpacks a word that holds a float of one of several formats, and normalises it.

    Combinational. One shifter serves all formats; leading zeros are counted, and exponents are
    computed, of each format before one is selected.

    Parameters
    ----------
    formats: the formats by name of their select bit; a value fills the low
        ``container_bits`` of the word

    Members
    -------
    word: the operand, as wide as the widest container
    select: one bit a format, in the order of ``formats``; with none set the element is +0
    o: the unpacked element; its significand is left-aligned
    """

    def __init__(self, formats: Mapping[str, FloatFormat]) -> None:
        self._formats = dict(formats)
        rows = self._formats.values()
        self._significand_bits = max(fmt.significand_bits for fmt in rows)
        lowest = min(fmt.emin - fmt.fraction_bits for fmt in rows)
        width = exponent_bits(lowest, max(fmt.emax for fmt in rows))
        super().__init__(
            {
                "word": In(max(fmt.container_bits for fmt in rows)),
                "select": In(len(self._formats)),
                "o": Out(unpacked_layout(width, self._significand_bits)),
            }
        )

    @property
    def formats(self) -> dict[str, FloatFormat]:
        return dict(self._formats)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        views = [
            self._view(m, name, fmt, self.select[i])
            for i, (name, fmt) in enumerate(self._formats.items())
        ]
        hidden, sign, top, fraction, zeros, exponent = (
            reduce(or_, values) for values in zip(*views, strict=True)
        )
        raw = Signal(self._significand_bits)
        leading_zeros = Signal((self._significand_bits - 1).bit_length())
        no_fraction = Signal()
        m.d.comb += [
            raw.eq(Cat(fraction, hidden)),
            leading_zeros.eq(zeros),
            no_fraction.eq(~fraction.any()),
            self.o.significand.eq(shift_left(m, raw, leading_zeros, name="significand")),
            self.o.exponent.eq(exponent),
            self.o.sign.eq(sign),
            self.o.zero.eq(~hidden & no_fraction),
            self.o.infinite.eq(top & no_fraction),
            self.o.nan.eq(top & ~no_fraction),
        ]
        return m

    def _view(self, m: Module, name: str, fmt: FloatFormat, select: Value) -> tuple[Value, ...]:
        """Hidden bit, sign, "exponent all ones", fraction, its leading zeros and exponent, zero if
        not selected."""
        word = self.word[: fmt.container_bits][fmt.padding_bits :]
        fraction_bits = self._significand_bits - 1
        biased = word[fmt.fraction_bits : -1]
        hidden = Signal(name=f"{name}_hidden")
        zeros = count_leading_zeros(m, Cat(word[: fmt.fraction_bits], hidden), name=f"{name}_zeros")
        exponent = Signal(signed(self.o.shape()["exponent"].width), name=f"{name}_exponent")
        m.d.comb += [
            hidden.eq(biased.any()),
            exponent.eq(Mux(hidden, biased - fmt.bias, fmt.emin - zeros)),
        ]
        fraction = Cat(C(0, fraction_bits - fmt.fraction_bits), word[: fmt.fraction_bits])
        return (
            hidden & select,
            word[-1] & select,
            biased.all() & select,
            fraction & select.replicate(fraction_bits),
            zeros & select.replicate(len(zeros)),
            exponent & select.replicate(len(exponent)),
        )


def select_layout(modes: tuple[str, ...]) -> data.StructLayout:
    """Selected mode: one bit for each mode, at most one set."""
    return data.StructLayout(dict.fromkeys(modes, 1))


def entry_layout(modes: tuple[str, ...], significand_bits: int) -> data.StructLayout:
    """Operand of a multiplier: sign, exponent, significand and the operand's class."""
    formats = [MODES[mode].element for mode in modes]
    lowest = min(fmt.emin - fmt.fraction_bits for fmt in formats)
    if significand_bits < max(fmt.significand_bits for fmt in formats):
        lowest -= 24  # the low half of an fp32 operand carries the weight of its products
    highest = max(fmt.emax for fmt in formats)
    return unpacked_layout(exponent_bits(lowest, highest), significand_bits)


def decode_lanes(
    m: Module,
    lanes: Value,
    select: data.View[data.StructLayout],
    *,
    modes: tuple[str, ...],
    lane_bits: int,
    depth: int,
    significand_bits: int,
    operand: str,
) -> data.View[data.ArrayLayout]:
    """Decoders for all lanes of a row of a or a column of b; returns their entries."""
    entries = Signal(data.ArrayLayout(entry_layout(modes, significand_bits), depth), name="decoded")
    share = 32 // lane_bits
    for word in range((depth + share - 1) // share):
        m.submodules[f"decoder_{word}"] = decoder = OperandDecoder(
            modes, entries=share, significand_bits=significand_bits, operand=operand
        )
        m.d.comb += [decoder.lanes.eq(lanes[32 * word :]), decoder.select.eq(select)]
        for i in range(min(share, depth - share * word)):
            m.d.comb += entries[share * word + i].eq(decoder.entries[i])
    return entries


class OperandDecoder(wiring.Component):
    """Decodes 32 bits of operands into the entries of one or two multipliers.

    Combinational. With one entry, any element fills it. With two, a 16-bit element takes one.
    A tf32 takes the first; the second is a zero of such sign that its products are -0, which is
    neutral in a sum. An fp32 is split into its upper and lower 12 significand bits, in this
    order, each with the operand's sign and class.

    Source: M3XU, microarchitecture: the data-assignment stage for FP32.

    Parameters
    ----------
    modes: the unit's modes
    entries: 1 or 2
    significand_bits: width of an entry's significand
    operand: "a" or "b". In a the lower half's exponent is lowered by 24, so that the exponent
        of the product of two low halves comes out right; and the signs of a's zeros make the
        products neutral.

    Members
    -------
    lanes: one lane of 32 bits or two of 16
    select: the mode
    entries: see :func:`entry_layout`
    """

    def __init__(
        self, modes: tuple[str, ...], *, entries: int, significand_bits: int, operand: str
    ) -> None:
        self._modes = modes
        self._operand = operand
        self._layout = entry_layout(modes, significand_bits)
        super().__init__(
            {
                "lanes": In(32),
                "select": In(select_layout(modes)),
                "entries": Out(data.ArrayLayout(self._layout, entries)),
            }
        )

    @property
    def modes(self) -> tuple[str, ...]:
        return self._modes

    @property
    def operand(self) -> str:
        return self._operand

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # fp32c elements are pairs of fp32, decoded alike.
        selects: dict[str, Value] = {}
        for mode in self._modes:
            name = MODES[mode].element.name
            selects[name] = (
                selects[name] | self.select[mode] if name in selects else self.select[mode]
            )
        formats = {name: FLOAT_FORMATS[name] for name in selects}
        m.submodules.first = first = ElementDecoder(formats)
        m.d.comb += [first.word.eq(self.lanes), first.select.eq(Cat(*selects.values()))]
        entry = Signal(self._layout, name="first_entry")
        self._assign(m, entry, first.o)
        m.d.comb += self.entries[0].eq(entry)
        if self.entries.shape().length == 2:
            m.d.comb += self.entries[1].eq(self._second(m, first, entry, selects))
        return m

    def _second(
        self, m: Module, first: ElementDecoder, upper: Value, selects: dict[str, Value]
    ) -> Value:
        """The second entry: a 16-bit element, an fp32's lower half, or tf32's neutral zero."""
        narrow = {n: fmt for n, fmt in first.formats.items() if fmt.container_bits == 16}
        entry = Signal(self._layout, name="second_entry")
        if narrow:
            m.submodules.second = second = ElementDecoder(narrow)
            m.d.comb += [
                second.word.eq(self.lanes[16:]),
                second.select.eq(Cat(*(selects[name] for name in narrow))),
            ]
            self._assign(m, entry, second.o)
        else:
            m.d.comb += entry.zero.eq(1)
        if "fp32" in selects:
            width = self._layout["significand"].width
            with m.If(selects["fp32"]):
                m.d.comb += [
                    entry.eq(upper),
                    entry.significand.eq(first.o.significand[:width]),
                ]
                if self._operand == "a":
                    m.d.comb += entry.exponent.eq(upper.exponent - 24)
        if "tf32" in selects and self._operand == "a":
            with m.If(selects["tf32"]):
                m.d.comb += entry.sign.eq(1)
        return entry

    def _assign(self, m: Module, entry: Value, element: Value) -> None:
        """Connects an element, its significand cut or padded at the low end."""
        width = self._layout["significand"].width
        have = len(element.significand)
        if have >= width:
            significand: Value = element.significand[have - width :]
        else:
            significand = Cat(C(0, width - have), element.significand)
        m.d.comb += [
            entry.significand.eq(significand),
            entry.exponent.eq(element.exponent),
            entry.sign.eq(element.sign),
            entry.zero.eq(element.zero),
            entry.infinite.eq(element.infinite),
            entry.nan.eq(element.nan),
        ]
