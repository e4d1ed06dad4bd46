"""A product of significands as an adder takes it."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.formats import FLOAT_FORMATS
from ...spec.gta import LIMB_BITS, GtaConfig, limbs
from .headers import kept_limbs, row_header, vector_mode

__all__ = ["SUM_BITS", "WholeProduct", "product_bits"]

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
        self._config = config
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
    def config(self) -> GtaConfig:
        return self._config

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
        if size <= min(limbs(name) for name in self._config.floats):
            return C(1)
        for present, least in zip(self.row.limbs, kept_limbs(self._config), strict=True):
            if size <= least:
                return present
        return C(0)
