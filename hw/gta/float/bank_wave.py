"""A wave over the banks of results, bank after bank, row after row in each."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import BANKS, ROWS, GtaConfig
from ..layouts import result_words

__all__ = ["BankWave", "wave_layout"]


def wave_layout(config: GtaConfig) -> data.StructLayout:
    """What happens in a bank: row ``row`` has its turn where ``active``. ``word``: of its first
    row. ``rows``: that are in use. ``last``: it is a command's last wave."""
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
    latency: cycles from ``start`` to bank 0's first row, 2..8

    Members
    -------
    start: in; a wave begins
    rows, word, last: in, with ``start``; of the wave
    o: out; by bank
    """

    def __init__(self, config: GtaConfig, latency: int) -> None:
        self._config, self._latency = config, latency
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
    def config(self) -> GtaConfig:
        return self._config

    @property
    def latency(self) -> int:
        return self._latency

    def elaborate(self, platform: object) -> Module:
        m = Module()
        kept = ("rows", "word", "last")
        shapes = wave_layout(self._config).members
        waiting = Signal(data.StructLayout({name: shapes[name] for name in kept}), reset_less=True)
        with m.If(self.start):
            m.d.sync += [
                waiting.rows.eq(self.rows),
                waiting.word.eq(self.word),
                waiting.last.eq(self.last),
            ]
        begins = self.start
        for wait in range(self._latency - 1):
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
