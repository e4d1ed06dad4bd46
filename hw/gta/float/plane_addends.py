"""What sums of products of vectors begin with."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import BANKS, COLS, LIMB_BITS, RESULT_WORD_BYTES, ROWS, GtaConfig
from .headers import sum_bits, vector_mode
from .row_adder import columns_of_adder, formats_of_adder
from .selection import one_of

__all__ = ["PlaneAddends"]

_NARROW = 32
_HALF = 16


class PlaneAddends(wiring.Component):
    """Takes them from the word of one column, for all rows at once, as they have their turn
    together; 0 where there is none.

    Combinational. Of fp64 the two halves come one after the other, the lower one first, in two
    words.

    Parameters
    ----------
    config: of the accelerator, with floats

    Members
    -------
    mode: in; see ``vector_mode``
    words: in; by column, of the banks of results
    low, high: in; a bit a column: its word has what sums begin with, of fp64 the lower, the upper
      halves of it; of others both say the same
    upper: in; by adder of a row; of sums of bf16 and fp16: these are above the low 16 bits
    o: out; by adder of a row and by row; in the low bits
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        adders, bits = config.row_adders, sum_bits(config)
        super().__init__(
            {
                "mode": In(vector_mode()),
                "words": In(data.ArrayLayout(8 * RESULT_WORD_BYTES, BANKS)),
                "low": In(COLS),
                "high": In(COLS),
                "upper": In(adders),
                "o": Out(data.ArrayLayout(data.ArrayLayout(bits, ROWS), adders)),
            }
        )

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for n in range(self._config.row_adders):
            if formats := formats_of_adder(self._config, n):
                self._adder(m, n, wide="fp64" in formats)
        return m

    def _adder(self, m: Module, n: int, *, wide: bool) -> None:
        lower = self._word(m, n, "low")
        if wide:
            higher = self._word(m, n, "high")
            before = Signal(len(lower), name=f"lower_halves_{n}", reset_less=True)
            m.d.sync += before.eq(lower)
        for r in range(ROWS):
            found = _planes(lower, r)
            own = self.mode.own & self.upper[n]
            found = Cat(Mux(own, found[_HALF:], found[:_HALF]), found[_HALF:])
            if wide:
                low = Mux(self.mode.fp64, _planes(before, r), found)
                found = Cat(low, _planes(higher, r))
            m.d.comb += self.o[n][r].eq(found)

    def _word(self, m: Module, n: int, name: str) -> Signal:
        """Of that column of the adder that has its turn."""
        own = COLS // self._config.row_adders
        here, words = [], []
        for k, c in enumerate(columns_of_adder(self._config, n)):
            # Others than its own ones are the adder's in fp64 alone.
            here.append(getattr(self, name)[c] & (C(1) if k < own else self.mode.fp64))
            words.append(self.words[c])
        word = Signal(len(words[0]), name=f"{name}_word_{n}")
        m.d.comb += word.eq(one_of(here, words))
        return word


def _planes(word: Value, row: int) -> Value:
    """A row's number, which lies by planes."""
    return Cat(*(word.word_select(ROWS * k + row, LIMB_BITS) for k in range(_NARROW // LIMB_BITS)))
