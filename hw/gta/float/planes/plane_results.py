"""Results of floats by planes, as banks are given them."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ....spec.gta import BANKS, COLS, LIMB_BITS, RESULT_WORD_BYTES, ROWS, GtaConfig
from ..headers import sum_bits, vector_mode

__all__ = ["PlaneResults"]

_WORD = 32
"""Bits of a row's result in a word of a bank."""


class PlaneResults(wiring.Component):
    """Puts the bytes of a column's rows beside each other.

    Combinational; upper halves of fp64 come a cycle later.

    Parameters
    ----------
    config: of the accelerator, with floats

    Members
    -------
    mode: in; see ``vector_mode``
    sums: in; by row and adder of it, in the low bits
    low, high, half: in; see ``FloatTurns``
    write, write_data: out; by bank, a bit for each byte that is written, and what
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        sums = data.ArrayLayout(data.ArrayLayout(sum_bits(config), config.row_adders), ROWS)
        super().__init__(
            {
                "mode": In(vector_mode()),
                "sums": In(sums),
                "low": In(BANKS),
                "high": In(BANKS),
                "half": In(BANKS),
                "write": Out(data.ArrayLayout(RESULT_WORD_BYTES, BANKS)),
                "write_data": Out(data.ArrayLayout(8 * RESULT_WORD_BYTES, BANKS)),
            }
        )

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, mode = self._config, self.mode
        words = [self._word(n) for n in range(config.row_adders)]
        wide = "fp64" in config.floats
        if wide:
            upper = Signal(len(words[0]), name="upper_halves", reset_less=True)
            m.d.sync += upper.eq(self._planes([self.sums[r][0][_WORD:] for r in range(ROWS)]))
        size = RESULT_WORD_BYTES // 2
        for b in range(BANKS):
            word = words[b // (COLS // config.row_adders)]
            if wide:
                word = Mux(mode.fp64, Mux(self.high[b], upper, words[0]), word)
            halves = [~mode.own | ~self.half[b], ~mode.own | self.half[b]]
            written = self.low[b] | self.high[b]
            m.d.comb += [
                self.write_data[b].eq(word),
                self.write[b].eq(Cat(*((written & here).replicate(size) for here in halves))),
            ]
        return m

    def _word(self, adder: int) -> Value:
        """Of bf16 and fp16 it is there twice."""
        found = []
        for r in range(ROWS):
            word = self.sums[r][adder][:_WORD]
            half = word[: _WORD // 2]
            found.append(Cat(half, Mux(self.mode.own, half, word[_WORD // 2 :])))
        return self._planes(found)

    def _planes(self, words: list[Value]) -> Value:
        """Byte k of all rows, then the next one."""
        return Cat(
            *(word.word_select(k, LIMB_BITS) for k in range(_WORD // LIMB_BITS) for word in words)
        )
