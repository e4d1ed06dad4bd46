"""Results of columns to the banks of a vector."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ..layouts import count_bits, results_layout
from .layouts import slot_bits

__all__ = ["FirstValues", "first_layout"]


def first_layout(config: SidaConfig) -> data.StructLayout:
    """A value that begins an element of w, at its place in the bank."""
    return data.StructLayout({"valid": 1, "place": slot_bits(config), "value": config.format.bits})


class FirstValues(wiring.Component):
    """Column j's value to bank j % pes. It never waits; latency one cycle.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    opens: in; a pass begins
    valid, results: in; see :func:`results_layout`, columns ascending
    banks: out; by bank, see :func:`first_layout`
    columns: out; so many are with the banks, those of this cycle included
    clear: in; forgets everything
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "opens": In(1),
                "valid": In(1),
                "results": In(results_layout(config)),
                "banks": Out(data.ArrayLayout(first_layout(config), config.pes)),
                "columns": Out(count_bits(config)),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pes, given = self._config.pes, self.results
        lanes = (pes - 1).bit_length()
        shift = given.base[:lanes]
        values = [Cat(value) for value in given.values]
        for bit in range(lanes):
            step = 1 << bit
            turned = []
            for lane in range(pes):
                value = Signal(self._config.format.bits, name=f"turned_{bit}_{lane}")
                m.d.comb += value.eq(Mux(shift[bit], values[(lane - step) % pes], values[lane]))
                turned.append(value)
            values = turned
        for lane, (bank, value) in enumerate(zip(self.banks, values, strict=True)):
            offset = Signal(lanes, name=f"offset_{lane}")
            m.d.comb += offset.eq(lane - shift)
            m.d.sync += [
                bank.valid.eq(self.valid & (offset < given.columns)),
                bank.place.eq(given.base[lanes:] + ((lane < shift) if lane < pes - 1 else 0)),
                bank.value.eq(value),
            ]
        with m.If(self.valid):
            m.d.sync += self.columns.eq(given.base + given.columns)
        with m.If(self.opens | self.clear):
            m.d.sync += [self.columns.eq(0), *(bank.valid.eq(0) for bank in self.banks)]
        return m
