"""The way of sums of floats to a lane's memory of results, and of those to begin with from it."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import BANKS, RESULT_WORD_BYTES, ROWS, GtaConfig
from ..fold_layouts import fold_layout, place_layout
from ..layouts import result_words
from .bank_wave import BankWave
from .float_back import row_result
from .product_steps import step_layout

__all__ = ["STEP_TO_SUM", "FloatResultPath"]

STEP_TO_SUM = 5
"""Cycles, beside the adder's stages, from the last step of row 0 to its result in column 0."""

_STEP_TO_READ = 3
"""Cycles from the last step of row 0's first product to the read of column 0's sum."""

_FP64_ROWS = RESULT_WORD_BYTES // 8


class FloatResultPath(wiring.Component):
    """Reads the words with the sums that chains begin with, and writes what they end with.

    A bank's word has the sums of a column's 8 rows, of fp64 two words have. Row r has its turn at
    bank t - r, so a bank is read, and written, for 8 cycles, an element each.

    Parameters
    ----------
    config: of the accelerator, with floats

    Members
    -------
    wide: in; sums are fp64; constant while anything is under way
    place: in; of the lane in its region
    go, fold: in; a fold begins
    step: in; of row 0
    sums: in; by row, see ``row_result``
    read, read_address: banks that are read, and where; the words go to the adders
    write, write_address: by bank, a bit for each byte that is written, and where
    upper: by bank, of fp64: the upper four rows have their turn
    done: out; the last result of a command is in the memory
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        address = data.ArrayLayout(range(result_words(config)), BANKS)
        super().__init__(
            {
                "wide": In(1),
                "place": In(place_layout(config)),
                "go": In(1),
                "fold": In(fold_layout(config)),
                "step": In(step_layout(config)),
                "sums": In(data.ArrayLayout(row_result(config), ROWS)),
                "read": Out(BANKS),
                "read_address": Out(address),
                "write": Out(data.ArrayLayout(RESULT_WORD_BYTES, BANKS)),
                "write_address": Out(address),
                "upper": Out(BANKS),
                "done": Out(1),
            }
        )

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.reading = reading = BankWave(config, _STEP_TO_READ)
        m.submodules.writing = writing = BankWave(config, STEP_TO_SUM + config.adder_stages)
        accumulate = self._fold(m, reading, writing)
        step = self.step
        ends = step.valid & step.last
        m.d.comb += [
            reading.start.eq(ends & step.first & accumulate),
            writing.start.eq(ends & step.final),
        ]
        for b in range(BANKS):
            read, write = reading.o[b], writing.o[b]
            m.d.comb += [
                self.read[b].eq(read.active),
                self.read_address[b].eq(read.word + (self.wide & read.row[-1])),
                self.write_address[b].eq(write.word + (self.wide & write.row[-1])),
            ]
            self._write(m, b, write)
        last = writing.o[BANKS - 1]
        m.d.sync += self.done.eq(last.active & (last.row == ROWS - 1) & last.last)
        return m

    def _fold(self, m: Module, *waves: BankWave) -> Signal:
        """What the waves need to know of the fold; returns that sums begin with what there is."""
        fold = self.fold
        accumulate = Signal()
        rows = Signal(range(ROWS + 1))
        word = Signal(len(fold.result.word))
        last = Signal()
        lanes, some = fold.rows[3:], fold.rows[:3]
        own = Mux(lanes > self.place.row, ROWS, Mux(lanes == self.place.row, some, 0))
        element = fold.result.element
        offset = Mux(self.wide, element[2:], element[3:])
        with m.If(self.go):
            m.d.sync += [
                accumulate.eq(fold.result.accumulate),
                rows.eq(own),
                word.eq((fold.result.word + offset)[: len(word)]),
                last.eq(fold.result.last),
            ]
        for wave in waves:
            m.d.comb += [wave.rows.eq(rows), wave.word.eq(word), wave.last.eq(last)]
        return accumulate

    def _write(self, m: Module, bank: int, wave: data.View[data.StructLayout]) -> None:
        """Each row has a place of its own in a word, in fp64 with the row 4 above."""
        here = [self.sums[r].column[bank] & (wave.row < wave.rows) for r in range(ROWS)]
        mask: Value = Cat(*(row.replicate(4) for row in here))
        if "fp64" in self._config.floats:
            pairs = list(zip(here[:_FP64_ROWS], here[_FP64_ROWS:], strict=True))
            mask = Mux(self.wide, Cat(*((a | b).replicate(8) for a, b in pairs)), mask)
        m.d.comb += [self.write[bank].eq(mask), self.upper[bank].eq(self.wide & wave.row[-1])]
