"""The column sums of both products."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import DELAY, SidaConfig
from ..layouts import count_bits, gathered_layout, sums_layout
from ..operators import semiring_range
from .column_sums import ColumnSums

__all__ = ["BothSums"]


class BothSums(wiring.Component):
    """Sums the elements of columns for the first product, and for the second one where it can.

    The second product has those elements here that need not wait: rows at least ``DELAY`` steps
    behind the column.

    Never waits, see :class:`ColumnSums`; both results of a set come in the same cycle.

    Source: SIDA, sections on the OS and the IS core.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    first_semiring, second_semiring: in; numbers in ``config.operators``, constant while anything is
        under way
    turned: in; the first product takes z in place of x
    transposed: in; the second product's elements all wait
    i: see :func:`gathered_layout`; always ready
    first, second: out; see :func:`sums_layout`
    elements: out; of the set at ``i``, if there is one
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        semiring = semiring_range(config.operators)
        super().__init__(
            {
                "first_semiring": In(semiring),
                "second_semiring": In(semiring),
                "turned": In(1),
                "transposed": In(1),
                "i": In(stream.Signature(gathered_layout(config))),
                "first": Out(sums_layout(config)),
                "second": Out(sums_layout(config)),
                "elements": Out(config.pes),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        given = self.i.payload
        whole = given.set
        present = Signal(self.config.pes)
        m.d.comb += [
            self.i.ready.eq(1),
            present.eq(Cat(leaf.valid for leaf in whole.leaves)),
            self.elements.eq(Mux(self.i.valid, present, 0)),
        ]
        operand = Signal(given.x.shape())
        m.d.comb += operand.eq(Mux(self.turned, given.z, given.x))
        waits_not = Signal(self.config.pes)
        m.d.comb += waits_not.eq(Mux(self.transposed, 0, present & self._ready(m)))
        m.submodules.first_sums = first = ColumnSums(self.config)
        m.submodules.second_sums = second = ColumnSums(self.config)
        for part, semiring, operands, takes, result in (
            (first, self.first_semiring, operand, present, self.first),
            (second, self.second_semiring, given.z, waits_not, self.second),
        ):
            m.d.comb += [
                part.semiring.eq(semiring),
                part.clear.eq(self.clear),
                part.i.valid.eq(self.i.valid),
                part.i.base.eq(whole.base),
                part.i.columns.eq(whole.columns),
                part.i.present.eq(takes),
                part.i.operand.eq(operands),
                result.eq(part.o),
            ]
            for n, leaf in enumerate(whole.leaves):
                m.d.comb += [part.i.offset[n].eq(leaf.offset), part.i.value[n].eq(leaf.value)]
        return m

    def _ready(self, m: Module) -> Value:
        """Tells which leaves' rows are far enough behind their columns."""
        shift = self.config.subtensor.bit_length() - 1
        whole = self.i.payload.set
        step = Signal(range((1 << count_bits(self.config) >> shift) + DELAY))
        m.d.comb += step.eq(whole.base >> shift)
        return Cat((leaf.row >> shift) + DELAY <= step for leaf in whole.leaves)
