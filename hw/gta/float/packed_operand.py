"""An operand of a row or a column: out of a word of its bank."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.formats import FLOAT_FORMATS
from ...spec.gta import LEFT_WORD_BYTES, LIMB_BITS, GtaConfig
from .float_accumulate import FloatOperand
from .headers import by_float, column_header, exponent_bits, widened_exponent
from .product_steps import most_limbs

__all__ = ["PackedOperand"]


class PackedOperand(wiring.Component):
    """Picks a float from a word, and a limb of its significand, its hidden bit in the top one.

    Combinational.

    Parameters
    ----------
    config: of the accelerator, with floats

    Members
    -------
    format: in; its place among all formats
    word: in; of a bank
    place: in; the float's first byte in the word, a multiple of its bytes
    limb: in; which one, see ``step_layout``
    o: out; the limb
    header: out; see ``operand_header``
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "format": In(range(8)),
                "word": In(8 * LEFT_WORD_BYTES),
                "place": In(range(LEFT_WORD_BYTES)),
                "limb": In(range(max(2, most_limbs(config)))),
                "o": Out(LIMB_BITS),
                "header": Out(column_header(config)),
            }
        )

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        formats = [FLOAT_FORMATS[name] for name in config.floats]
        m.submodules.operand = operand = FloatOperand(formats)
        picked: Value = self.word
        width = 8 * LEFT_WORD_BYTES // 2
        kept: list[Value] = []
        while width >= min(fmt.bits for fmt in formats):
            # The place's low bits are 0 for longer floats.
            upper = self.place[(width // 8).bit_length() - 1]
            half = Signal(width, name=f"part_{width}")
            m.d.comb += half.eq(Mux(upper, picked[width : 2 * width], picked[:width]))
            if kept:
                kept.insert(0, picked[width : 2 * width])
            else:
                kept.append(picked[:0])
            picked, width = half, width // 2
        whole = Cat(picked, *kept)
        limbs = Signal(LIMB_BITS * most_limbs(config))
        m.d.comb += [
            operand.word.eq(whole[: len(operand.word)]),
            operand.format.eq(by_float(config, self.format, config.floats.index)),
            limbs[len(limbs) - len(operand.significand) :].eq(operand.significand),
            self.o.eq(limbs.word_select(self.limb, LIMB_BITS)),
        ]
        bits = exponent_bits(config)
        for name, _ in self.header.shape():
            value = operand.header[name]
            if name == "exponent" and len(value) < bits:
                # fp16 by itself has fewer bits than its sums.
                value = widened_exponent(value, bits)
            m.d.comb += self.header[name].eq(value)
        return m
