"""Results of floats as banks are given them, of matrices and of vectors."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.formats import FLOAT_FORMATS
from ...spec.gta import BANKS, LEFT_WORD_BYTES, LIMB_BITS, RESULT_WORD_BYTES, ROWS, GtaConfig
from .float_accumulate import FloatOperand
from .headers import by_float, column_header, exponent_bits, sum_bits, vector_mode, widened_exponent
from .product_steps import most_limbs


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
        self.config: Final = config
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

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
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


_WORD = 32
"""Bits of a row's result in a word of a bank."""


class ResultWords(wiring.Component):
    """Joins the results of a column's rows into a word; results of vectors by planes.

    Combinational; upper halves of vectors of fp64 come a cycle later. Banks are given the same two
    words, of which each takes one.

    Parameters
    ----------
    config: of the accelerator, with floats

    Members
    -------
    mode: in; see ``vector_mode``
    wide: in; results are fp64
    results: in; of matrices, by row, fp32 in the low bits
    sums: in; of vectors, by row and adder of it, in the low bits
    upper: in; by bank, of matrices of fp64: results of the upper four rows are written
    low, high, half: in; of vectors, see ``FloatTurns``
    write: out; of vectors, by bank, a bit for each byte that is written
    words: out; by adder of a row, for the banks of its columns
    upper_word, takes_upper: out; for the banks whose bit is set: of fp64, else all 0
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        bits = sum_bits(config)
        sums = data.ArrayLayout(data.ArrayLayout(bits, config.row_adders), ROWS)
        super().__init__(
            {
                "mode": In(vector_mode()),
                "wide": In(1),
                "results": In(data.ArrayLayout(bits, ROWS)),
                "sums": In(sums),
                "upper": In(BANKS),
                "low": In(BANKS),
                "high": In(BANKS),
                "half": In(BANKS),
                "write": Out(data.ArrayLayout(RESULT_WORD_BYTES, BANKS)),
                "words": Out(data.ArrayLayout(8 * RESULT_WORD_BYTES, config.row_adders)),
                "upper_word": Out(8 * RESULT_WORD_BYTES),
                "takes_upper": Out(BANKS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, mode = self.config, self.mode
        rows = [self.results[r] for r in range(ROWS)]
        wide = "fp64" in config.floats
        lower = Cat(*(row[:_WORD] for row in rows))
        if wide:
            lower = Mux(self.wide, Cat(*rows[: ROWS // 2]), lower)
            behind = Signal(len(lower), name="upper_halves", reset_less=True)
            m.d.sync += behind.eq(_planes([self.sums[r][0][_WORD:] for r in range(ROWS)]))
            m.d.comb += [
                self.upper_word.eq(Mux(mode.active, behind, Cat(*rows[ROWS // 2 :]))),
                self.takes_upper.eq(Mux(mode.active, self.high, self.upper)),
            ]
        for n in range(config.row_adders):
            planes = self._vectors(n)
            if wide and n:
                planes = Mux(mode.fp64, self._vectors(0), planes)
            m.d.comb += self.words[n].eq(Mux(mode.active, planes, lower))
        size = RESULT_WORD_BYTES // 2
        for b in range(BANKS):
            halves = [~mode.own | ~self.half[b], ~mode.own | self.half[b]]
            written = self.low[b] | self.high[b]
            m.d.comb += self.write[b].eq(
                Cat(*((written & here).replicate(size) for here in halves))
            )
        return m

    def _vectors(self, adder: int) -> Value:
        """Planes of an adder's results, of fp64 of their lower halves; of bf16 and fp16 they are
        there twice."""
        found = []
        for r in range(ROWS):
            word = self.sums[r][adder][:_WORD]
            half = word[: _WORD // 2]
            found.append(Cat(half, Mux(self.mode.own, half, word[_WORD // 2 :])))
        return _planes(found)


def _planes(words: list[Value]) -> Value:
    """Byte k of all rows, then the next one."""
    return Cat(
        *(word.word_select(k, LIMB_BITS) for k in range(_WORD // LIMB_BITS) for word in words)
    )
