"""Datapath of sums of floats to and from a lane's memory of results."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import BANKS, RESULT_WORD_BYTES, ROWS, GtaConfig
from ..layouts import result_words
from ..path_members import fold_layout, place_layout
from .float_back import row_result
from .product_steps import step_layout


def wave_layout(config: GtaConfig) -> data.StructLayout:
    """Turn of row ``row`` in a bank, where ``active``.

    ``word``: of the bank's first row. ``rows``: number of rows in use. ``last``: it is the
    command's last wave.
    """
    return data.StructLayout(
        {
            "active": 1,
            "row": range(ROWS),
            "rows": range(ROWS + 1),
            "word": range(result_words(config)),
            "last": 1,
        }
    )


class BankWave(wiring.Component):
    """Goes through the rows in bank 0, a cycle later in bank 1, and so on.

    Waves follow each other 8 cycles apart at the earliest.

    Parameters
    ----------
    config: of the accelerator
    latency: cycles from ``start`` to bank 0's first row, at least 2

    Members
    -------
    start: in; a wave begins
    rows, word, last: in, with ``start``; of the wave
    o: out; by bank
    """

    def __init__(self, config: GtaConfig, latency: int) -> None:
        self.config: Final = config
        self._latency = latency
        wave = wave_layout(config)
        super().__init__(
            {
                "start": In(1),
                "rows": In(wave["rows"].shape),
                "word": In(wave["word"].shape),
                "last": In(1),
                "o": Out(data.ArrayLayout(wave, BANKS)),
            }
        )

    @property
    def latency(self) -> int:
        return self._latency

    def elaborate(self, platform: object) -> Module:
        m = Module()
        kept = ("rows", "word", "last")
        shapes = wave_layout(self.config).members
        waiting = Signal(data.StructLayout({name: shapes[name] for name in kept}), reset_less=True)
        begins, given = self.start, {name: getattr(self, name) for name in kept}
        # One wave waits in ``waiting``, up to the cycle in which the next one starts.
        early = max(0, self._latency - 1 - ROWS)
        for wait in range(early):
            started = Signal(name=f"started_{wait}")
            m.d.sync += started.eq(begins)
            begins = started
            for name, value in given.items():
                given[name] = Signal.like(value, name=f"{name}_{wait}", reset_less=True)
                m.d.sync += given[name].eq(value)
        with m.If(begins):
            m.d.sync += [waiting[name].eq(value) for name, value in given.items()]
        for wait in range(self._latency - 1 - early):
            later = Signal(name=f"begins_{wait}")
            m.d.sync += later.eq(begins)
            begins = later
        head = self.o[0]
        with m.If(begins):
            m.d.sync += [
                head.active.eq(1),
                head.row.eq(0),
                *(head[name].eq(waiting[name]) for name in kept),
            ]
        with m.Else():
            m.d.sync += [
                head.row.eq(head.row + 1),
                head.active.eq(head.active & (head.row != ROWS - 1)),
            ]
        for bank in range(1, BANKS):
            m.d.sync += self.o[bank].eq(self.o[bank - 1])
        return m


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
    will_write: out; by bank, it is written in the next cycle
    done: out; the last result of a command is in the memory
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
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
                "will_write": Out(BANKS),
                "done": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.reading = reading = BankWave(config, _STEP_TO_READ)
        m.submodules.writing = writing = BankWave(config, STEP_TO_SUM - 1 + config.adder_stages)
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
            ]
            self._write(m, b, write)
        last = writing.o[BANKS - 1]
        ended = Signal()
        m.d.sync += [
            ended.eq(last.active & (last.row == ROWS - 1) & last.last),
            self.done.eq(ended),
        ]
        return m

    def _fold(self, m: Module, *waves: BankWave) -> Signal:
        """Latches the parameters of the fold for its waves; returns whether it accumulates."""
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
        """Each row has a place of its own in a word, in fp64 with the row 4 above.

        ``wave`` comes a cycle before the sums.
        """
        used = Signal(name=f"row_is_used_{bank}")
        m.d.comb += self.will_write[bank].eq(wave.active & (wave.row < wave.rows))
        m.d.sync += [
            used.eq(wave.row < wave.rows),
            self.write_address[bank].eq(wave.word + (self.wide & wave.row[-1])),
            self.upper[bank].eq(self.wide & wave.row[-1]),
        ]
        here = [self.sums[r].column[bank] & used for r in range(ROWS)]
        mask: Value = Cat(*(row.replicate(4) for row in here))
        if "fp64" in self.config.floats:
            pairs = list(zip(here[:_FP64_ROWS], here[_FP64_ROWS:], strict=True))
            mask = Mux(self.wide, Cat(*((a | b).replicate(8) for a, b in pairs)), mask)
        m.d.comb += self.write[bank].eq(mask)
