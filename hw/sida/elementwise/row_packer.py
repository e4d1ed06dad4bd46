"""Results of columns to rows of elements."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.queue import DeepQueue
from ..layouts import count_bits, results_layout
from .layouts import values_layout

__all__ = ["RowPacker"]


class RowPacker(wiring.Component):
    """Packs results of columns, as they are complete, into rows of ``pes``, and buffers the rows.

    Results never wait: there must be no more rows that have not been taken than two steps have,
    and one. A set a cycle, but none in the cycle behind a matrix' last one; latency three cycles.

    Parameters
    ----------
    config: the accelerator's

    Members
    -------
    valid: in; results come
    results: in, with it; see :func:`results_layout`; the columns follow those before
    columns: in; of the matrix; the row of the last one goes without more
    o: values of the rows, in order; anything behind the last column
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "valid": In(1),
                "results": In(results_layout(config)),
                "columns": In(count_bits(config)),
                "o": Out(stream.Signature(values_layout(config))),
                "clear": In(1),
            }
        )

    @property
    def depth(self) -> int:
        """Rows that may wait."""
        return 2 * self._config.subtensor // self._config.pes + 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, pes = self._config, self._config.pes
        m.submodules.queue = queue = DeepQueue(values_layout(config), self.depth)
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        first = self.results.base[: pes.bit_length() - 1]
        end = Signal(range(2 * pes))
        count = Signal(range(pes + 1))
        placed = Signal(values_layout(config))
        complete = Signal()
        ends = Signal()
        # Some of the last columns may be after a complete row.
        rest = Signal()
        m.d.comb += [
            count.eq(Mux(self.valid, self.results.columns, 0)),
            end.eq(first + count),
            placed.eq(self._placed(m, first)),
            complete.eq((count != 0) & ((end >= pes) | ends)),
            ends.eq(self.results.base + count == self.columns),
            queue.clear.eq(self.clear),
        ]
        held = Signal(values_layout(config), reset_less=True)
        row = Signal(values_layout(config), reset_less=True)
        pushes = Signal()
        for lane in range(pes):
            # A lane from the first column on is of this row; others are of the row before or after.
            last = lane == pes - 1
            mine = Const(1) if last else first <= lane
            m.d.comb += queue.i.payload[lane].eq(row[lane])
            with m.If(complete):
                m.d.sync += row[lane].eq(
                    placed[lane] if last else Mux(mine, placed[lane], held[lane])
                )
            with m.Elif(rest):
                m.d.sync += row[lane].eq(held[lane])
            with m.If((count != 0) & (mine if last else mine | (end > pes + lane))):
                m.d.sync += held[lane].eq(placed[lane])
        m.d.sync += [
            rest.eq(complete & ends & (end > pes) & ~self.clear),
            pushes.eq((complete | rest) & ~self.clear),
        ]
        m.d.comb += queue.i.valid.eq(pushes)
        return m

    def _placed(self, m: Module, first: Value) -> Value:
        """Values in the lanes of their columns."""
        bits, pes = self._config.format.bits, self._config.pes
        moved = self.results.values.as_value()
        for stage in range(pes.bit_length() - 1):
            step = bits << stage
            turned = Signal(pes * bits, name=f"turned_by_{1 << stage}")
            split = pes * bits - step
            m.d.comb += turned.eq(Mux(first[stage], Cat(moved[split:], moved[:split]), moved))
            moved = turned
        return data.View(values_layout(self._config), moved)
