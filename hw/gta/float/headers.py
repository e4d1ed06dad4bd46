"""Headers of operands and products of floats: all fields but the significand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.formats import FLOAT_FORMATS, FloatFormat
from ...spec.gta import FORMATS_OF_GTA, LIMB_BITS, GtaConfig, limbs


def sum_format(operand: str) -> FloatFormat:
    """The format that products of such operands are summed in: fp64, or fp32 for all others."""
    return FLOAT_FORMATS["fp64" if operand == "fp64" else "fp32"]


def widest(formats: Sequence[FloatFormat]) -> FloatFormat:
    """The format with the most exponent bits, and among those with the most significand bits."""
    return max(formats, key=lambda fmt: (fmt.exponent_bits, fmt.significand_bits))


def operand_header(exponent_bits: int) -> data.StructLayout:
    """A float without its significand.

    ``exponent`` is biased as in a format of so many exponent bits, and that of the smallest normal
    number for subnormal ones; ``zero``, ``infinite`` and ``nan`` exclude each other, and the
    exponent of an infinity or NaN is arbitrary.
    """
    return data.StructLayout(
        {"negative": 1, "exponent": exponent_bits, "zero": 1, "infinite": 1, "nan": 1}
    )


def product_header(exponent_bits: int) -> data.StructLayout:
    """A product of two floats without its significand.

    ``exponent`` is the sum of the two operands' and one: that is a product's exponent with
    ``2 ** exponent_bits - 1`` added, its significand in 0..4. ``nan`` stands for an infinity times
    zero, too.
    """
    return data.StructLayout(
        {"negative": 1, "exponent": exponent_bits + 1, "zero": 1, "infinite": 1, "nan": 1}
    )


def kept_limbs(config: GtaConfig) -> tuple[int, ...]:
    """Limbs of the configuration's floats but for the fewest, ascending."""
    return tuple(sorted({limbs(name) for name in config.floats}))[1:]


def exponent_bits(config: GtaConfig) -> int:
    """Returns the bits of an exponent in headers: those of the widest sums."""
    return widest([sum_format(name) for name in config.floats]).exponent_bits


def sum_bits(config: GtaConfig) -> int:
    """Returns the bits of the widest sums."""
    return widest([sum_format(name) for name in config.floats]).bits


def row_header(config: GtaConfig) -> data.StructLayout:
    """Header of a row's operand, as its adders use it.

    ``operand``: see :func:`operand_header`. ``limbs``: a bit for each of :func:`kept_limbs`, set
    if the format has as many. ``first``: the product begins a sum; with ``accumulate`` it is added
    to what is in the memory of results. ``last``: it ends the sum.
    """
    return data.StructLayout(
        {
            "operand": operand_header(exponent_bits(config)),
            "limbs": len(kept_limbs(config)),
            "first": 1,
            "accumulate": 1,
            "last": 1,
        }
    )


def column_header(config: GtaConfig) -> data.StructLayout:
    """Header of a column's operand; all zeros where there is no operand."""
    return operand_header(exponent_bits(config))


def vector_mode() -> data.StructLayout:
    """Control of the adders for products of vectors; constant while any product is in flight.

    All zeros: products of matrices, the rest means nothing. ``active``: of vectors. ``fp16``,
    ``fp64``: operands are of that format. ``own``: sums are bf16 or fp16, like the operands.
    ``plain``: a product is not added to anything. ``subtract``: what sums begin with is negated.
    ``one``: y is 1.0, of which only the highest limb is multiplied.
    """
    names = ("active", "fp16", "fp64", "own", "plain", "subtract", "one")
    return data.StructLayout(dict.fromkeys(names, 1))


def widened_exponent(exponent: Value, bits: int) -> Value:
    """Converts a biased exponent to that of a format with more exponent bits.

    It needs no adder, as the biases' difference is a row of ones below the top bit.
    """
    return Cat(exponent[:-1], (~exponent[-1]).replicate(bits - len(exponent)), exponent[-1])


def by_float(config: GtaConfig, format: Value, value: Callable[[str], int]) -> Value:
    """Returns a number of the float that a command names by its place among all formats.

    A format that is not one of the floats gets the number of the last float.
    """
    numbers = [value(name) for name in config.floats]
    bits = max(1, max(numbers).bit_length())
    found: Value = C(numbers[-1], bits)
    for name, number in list(zip(config.floats, numbers, strict=True))[-2::-1]:
        found = Mux(format == FORMATS_OF_GTA.index(name), C(number, bits), found)
    return found


def limbs_of_format(config: GtaConfig, format: Value) -> list[Value]:
    """Returns the bits of ``limbs`` in :func:`row_header` for a format."""

    def has(size: int) -> Value:
        return by_float(config, format, lambda name: int(limbs(name) >= size))

    return [has(size) for size in kept_limbs(config)]


def one_of(selected: Sequence[Value], values: Sequence[Value]) -> Value:
    """The value that is selected; 0 if none is. Joined in pairs, which takes less than a chain."""
    found: list[Value] = [
        Value.cast(value) & here.replicate(len(value))
        for here, value in zip(selected, values, strict=True)
    ]
    while len(found) > 1:
        pairs = zip(found[::2], [*found[1::2], C(0, len(found[-1]))], strict=False)
        found = [one | other for one, other in pairs]
    return found[0]


SUM_BITS = 2 * LIMB_BITS
"""Top bits of a product of significands, which an element's sum holds in the end."""


def product_bits(config: GtaConfig) -> int:
    """Returns the bits of a product as an element delivers it, its sum above its second rank."""
    return SUM_BITS + 2 * LIMB_BITS * (max(limbs(name) for name in config.floats) - 1)


class WholeProduct(wiring.Component):
    """Removes the remains of former products below a product, and aligns its binary point.

    The point is after the two top bits.

    Combinational. Limbs of matrices are cut from a significand's top, so that it is there already;
    those of vectors from its bottom, so that some bits on top are none of it.

    Parameters
    ----------
    config: of the accelerator, with floats
    formats: names of those of the products

    Members
    -------
    mode: in; see ``vector_mode``
    row: in; see ``row_header``
    i: in; see :func:`product_bits`
    o: out; as wide as the formats need
    any: out; it is not 0
    """

    def __init__(self, config: GtaConfig, formats: Sequence[str]) -> None:
        self.config: Final = config
        self._formats = tuple(formats)
        bits = 2 * max(FLOAT_FORMATS[name].significand_bits for name in formats)
        super().__init__(
            {
                "mode": In(vector_mode()),
                "row": In(row_header(config)),
                "i": In(product_bits(config)),
                "o": Out(bits),
                "any": Out(1),
            }
        )

    @property
    def formats(self) -> tuple[str, ...]:
        return self._formats

    def elaborate(self, platform: object) -> Module:
        m = Module()
        whole = Signal(len(self.i))
        size = len(whole) // LIMB_BITS
        parts = []
        for byte in range(size):
            above = size - 1 - byte
            # A product of two significands of L limbs has 2 L bytes; of one and a limb, L + 1.
            kept = self._has(above) | (self._has(above // 2 + 1) & ~self.mode.one)
            parts.append(self.i.word_select(byte, LIMB_BITS) & kept.replicate(LIMB_BITS))
        moved: Value = whole
        for name in ("fp16", "fp64"):
            if name in self._formats:
                bits = 2 * (-FLOAT_FORMATS[name].significand_bits % LIMB_BITS)
                # Bytes below the product's own are 0 anyway.
                below = len(whole) - SUM_BITS * limbs(name)
                lower = Cat(C(0, bits), whole[below:-bits])
                chosen = Mux(self.mode.active & self.mode[name], lower, moved[below:])
                moved = Cat(moved[:below], chosen)
        m.d.comb += [
            whole.eq(Cat(*parts)),
            self.any.eq(whole.any()),
            self.o.eq(moved[len(whole) - len(self.o) :]),
        ]
        return m

    def _has(self, size: int) -> Value:
        """Tells whether the format has at least that many limbs."""
        if size <= min(limbs(name) for name in self.config.floats):
            return C(1)
        for present, least in zip(self.row.limbs, kept_limbs(self.config), strict=True):
            if size <= least:
                return present
        return C(0)
