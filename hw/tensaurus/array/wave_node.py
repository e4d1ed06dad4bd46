"""A row's turn with a wave of requests."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import TensaurusConfig
from .layouts import answer_layout, bank_answer_layout, bank_reads_layout, requests_layout

__all__ = ["WaveNode"]


class WaveNode(wiring.Component):
    """Puts one of a row's requests into what the scratchpads will read: the oldest whose bank is
    free, or reads the same vector for another row.

    Combinational.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    requests: in; see :func:`requests_layout`
    i, o: the wave before and behind the row, see :func:`bank_reads_layout`
    granted: out; the request that is served
    read: out; the same, with its bank, see :func:`bank_answer_layout`
    conflict: out; there are requests, and none is
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "requests": In(requests_layout(config)),
                "i": In(bank_reads_layout(config)),
                "o": Out(bank_reads_layout(config)),
                "granted": Out(answer_layout(config)),
                "read": Out(bank_answer_layout(config)),
                "conflict": Out(1),
            }
        )

    @property
    def config(self) -> TensaurusConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, requests, granted = self._config, self.requests, self.granted
        fits = Signal(config.window)
        banks = Array(self.i[n].as_value() for n in range(config.banks))
        for n in range(config.window):
            place = requests.places[n]
            bank = Signal.like(self.i[0], name=f"bank_{n}")
            m.d.comb += bank.eq(banks[place.bank])
            same = (bank.line == place.line) & (bank.side == place.side)
            m.d.comb += fits[n].eq(requests.pending[n] & (~bank.enable | same))
        # From the oldest operation on, and round: the last assignment counts.
        newer = Signal(config.window)
        m.d.comb += newer.eq(fits & ~((1 << requests.oldest) - 1)[: config.window])
        for n in reversed(range(config.window)):
            with m.If(fits[n]):
                m.d.comb += granted.index.eq(n)
        for n in reversed(range(config.window)):
            with m.If(newer[n]):
                m.d.comb += granted.index.eq(n)
        chosen = Array(requests.places[n].as_value() for n in range(config.window))[granted.index]
        place = Signal.like(requests.places[0], name="place")
        m.d.comb += [
            granted.valid.eq(fits.any()),
            self.conflict.eq(requests.pending.any() & ~fits.any()),
            place.eq(chosen),
            self.o.eq(self.i),
            self.read.valid.eq(granted.valid),
            self.read.bank.eq(place.bank),
            self.read.index.eq(granted.index),
        ]
        for n in range(config.banks):
            bank = self.o[n]
            with m.If(granted.valid & (place.bank == n)):
                m.d.comb += [bank.enable.eq(1), bank.line.eq(place.line), bank.side.eq(place.side)]
        return m
