"""What rows of w begin with."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ..elementwise.row_packer import RowPacker
from ..layouts import count_bits, results_layout
from ..operators import identity, semiring_range
from .layouts import row_values_layout

__all__ = ["FirstRows"]


class FirstRows(wiring.Component):
    """Results of columns as rows; transposed, as many rows of the semiring's identity.

    Results never wait, see :class:`RowPacker`.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    start: in, a pulse: a pass begins
    columns, semiring, transposed: in; of the matrix, at least 1; the number of the semiring among
        ``config.operators``; see above; constant during a pass
    valid, results: in; see :func:`results_layout`, columns ascending
    o: stream, see :func:`row_values_layout`, in order; anything behind the last column
    ends: out; where the rows end that were taken
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "columns": In(count_bits(config)),
                "semiring": In(semiring_range(config.operators)),
                "transposed": In(1),
                "valid": In(1),
                "results": In(results_layout(config)),
                "o": Out(stream.Signature(row_values_layout(config))),
                "ends": Out(count_bits(config)),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, row = self._config, self.o.payload
        m.submodules.packer = packer = RowPacker(config)
        nothing = Signal(config.format.bits)
        # Rows of the identity are to come.
        empty = Signal()
        takes = Signal()
        following = Signal(len(self.ends) + 1)
        m.d.comb += [
            packer.valid.eq(self.valid & ~self.transposed),
            packer.results.eq(self.results),
            packer.columns.eq(self.columns),
            packer.clear.eq(self.clear),
            packer.o.ready.eq(self.o.ready),
            nothing.eq(identity(config.operators, config.format, self.semiring)),
            self.o.valid.eq(empty | packer.o.valid),
            row.place.eq(self.ends >> config.pes.bit_length() - 1),
            takes.eq(self.o.valid & self.o.ready),
            following.eq(self.ends + config.pes),
        ]
        for given, value in zip(packer.o.payload, row["values"], strict=True):
            m.d.comb += value.eq(Mux(empty, nothing, given))
        with m.If(takes):
            m.d.sync += [self.ends.eq(following), empty.eq(empty & (following < self.columns))]
        with m.If(self.start):
            m.d.sync += [self.ends.eq(0), empty.eq(self.transposed)]
        with m.If(self.clear):
            m.d.sync += empty.eq(0)
        return m
