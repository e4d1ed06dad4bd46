"""Writes the values that sums begin with to all columns."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ..layouts import count_bits, results_layout
from ..operators import identity, semiring_range

__all__ = ["EmptyValues"]


class EmptyValues(wiring.Component):
    """Writes the result of a column without elements to all columns, ``pes`` per cycle.

    It begins in the cycle after ``start``.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    start: in, a pulse
    columns, semiring: in; so many, at least 1, and the number of the semiring among
        ``config.operators``; constant from ``start`` on
    valid, results: out; see :func:`results_layout`, columns ascending; the last ones may be behind
        ``columns``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "columns": In(count_bits(config)),
                "semiring": In(semiring_range(config.operators)),
                "valid": Out(1),
                "results": Out(results_layout(config)),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, results = self._config, self.results
        nothing = Signal(config.format.bits)
        behind = Signal(count_bits(config) + 1)
        m.d.comb += [
            nothing.eq(identity(config.operators, config.format, self.semiring)),
            results.columns.eq(config.pes),
            *(value.eq(nothing) for value in results.values),
            behind.eq(results.base + config.pes),
        ]
        with m.If(self.valid):
            m.d.sync += [results.base.eq(behind), self.valid.eq(behind < self.columns)]
        with m.If(self.start):
            m.d.sync += [results.base.eq(0), self.valid.eq(1)]
        with m.If(self.clear):
            m.d.sync += self.valid.eq(0)
        return m
