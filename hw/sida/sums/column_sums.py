"""Products with a vector, and their sums by columns."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...arith.scalar_functions import delay
from ...spec.sida import SidaConfig
from ...stream.delay_ring import DelayRing
from ...stream.valid_pipeline import ValidPipeline
from ..layouts import results_layout, sums_layout, terms_layout
from ..operators import SelectedProduct, identity, semiring_range
from .column_partials import ColumnPartials
from .column_slots import ColumnSlots
from .segment_tree import SegmentTree

__all__ = ["ColumnSums"]


class ColumnSums(wiring.Component):
    """``(+) over a column's elements of operand (x) value``, a set of ``pes`` elements a cycle.

    The order of additions is that of :func:`tree_sums`: leaves of a set in a tree, sets of a column
    dealt out in turn to ``partials`` sums, and these in pairs. Elements that are not present are
    left out; a column without any gives the identity. Of a set of the matrix those elements that
    are of one column must come in one cycle, its columns may come in several.

    It never waits: what comes in in a cycle leaves ``config.sums_latency`` cycles later.

    Source: SIDA, section on the OS core.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    semiring: in; number in ``config.operators``, constant while anything is under way
    i: in; see :func:`terms_layout`
    o: out; see :func:`sums_layout`; results of sets without a complete column are not valid
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "semiring": In(semiring_range(config.operators)),
                "i": In(terms_layout(config)),
                "o": Out(sums_layout(config)),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        tree = self._tree(m)
        slots = Signal(data.ArrayLayout(config.format.bits, config.pes), reset_less=True)
        present = Signal(config.pes, reset_less=True)
        about = Signal(self._about(), reset_less=True)
        before = config.multiplier_stages + tree.latency
        m.submodules.valid_tree = valid_tree = ValidPipeline(before + 1)
        m.submodules.about_tree = ring = DelayRing(self._about().size, before)
        entering = Signal(self._about())
        leaving = Signal(self._about())
        m.submodules.by_column = by_column = ColumnSlots(config.format, config.pes)
        m.d.comb += [
            valid_tree.i.eq(self.i.valid),
            valid_tree.advance.eq(1),
            valid_tree.clear.eq(self.clear),
            entering.base.eq(self.i.base),
            entering.columns.eq(self.i.columns),
            entering.offset.eq(self.i.offset),
            ring.i.eq(entering),
            Value.cast(leaving).eq(ring.o),
            by_column.sums.eq(tree.sums),
            by_column.found.eq(tree.found),
            by_column.same.eq(tree.same_later),
            by_column.offset.eq(leaving.offset),
        ]
        m.d.sync += [
            slots.eq(by_column.values),
            present.eq(by_column.present),
            about.eq(leaving),
        ]
        self._finish(m, valid_tree.o, about, slots, present)
        return m

    def _columns(self) -> dict[str, Any]:
        """Fields that say which columns a set completes."""
        results = results_layout(self._config)
        return {name: results[name].shape for name in ("base", "columns")}

    def _about(self) -> data.StructLayout:
        """What is said of a set."""
        offset = terms_layout(self._config)["offset"].shape
        return data.StructLayout({**self._columns(), "offset": offset})

    def _tree(self, m: Module) -> SegmentTree:
        """Multipliers, and the tree behind them."""
        config, i = self._config, self.i
        stages = config.multiplier_stages
        m.submodules.tree = tree = SegmentTree(
            config.operators, config.format, leaves=config.pes, stages=config.adder_stages
        )
        for n in range(config.pes):
            m.submodules[f"multiply_{n}"] = multiply = SelectedProduct(
                config.operators, config.format, stages
            )
            m.d.comb += [
                multiply.semiring.eq(self.semiring),
                multiply.advance.eq(1),
                multiply.a.eq(i.operand[n]),
                multiply.b.eq(i.value[n]),
                tree.values[n].eq(multiply.o),
            ]
        same = Signal(config.pes - 1)
        m.d.comb += [
            same.eq(Cat(i.offset[n] == i.offset[n + 1] for n in range(config.pes - 1))),
            tree.semiring.eq(self.semiring),
            tree.present.eq(delay(m, i.present, stages, Value.cast(1), "present")),
            tree.same.eq(delay(m, same, stages, Value.cast(1), "same")),
        ]
        return tree

    def _finish(
        self, m: Module, valid: Value, about: Signal, slots: Signal, present: Signal
    ) -> None:
        """Columns that go on, those that do not, and all together."""
        config = self._config
        m.submodules.partials = partials = ColumnPartials(config)
        # All but the first column's, which may be of several sets.
        others = data.StructLayout(
            {**self._columns(), "values": data.ArrayLayout(config.format.bits, config.pes - 1)}
        )
        results = Signal(others, name="complete")
        delayed = Signal(others, name="complete_later")
        m.submodules.valid_sums = valid_sums = ValidPipeline(partials.latency + 1)
        m.submodules.results = ring = DelayRing(others.size, partials.latency)
        nothing = Signal(config.format.bits)
        opened = Signal(config.pes)
        m.d.comb += [
            nothing.eq(identity(config.operators, config.format, self.semiring)),
            opened.eq(Cat(about.columns == n for n in range(config.pes))),
            partials.semiring.eq(self.semiring),
            partials.clear.eq(self.clear),
            partials.valid.eq(valid),
            partials.added.present.eq(present[0]),
            partials.added.value.eq(slots[0]),
            partials.ends.eq(about.columns != 0),
            partials.opened.present.eq((present & opened).any()),
            partials.opened.value.eq(
                reduce(or_, (Mux(opened[n], slots[n], 0) for n in range(config.pes)))
            ),
            valid_sums.i.eq(valid & (about.columns != 0)),
            valid_sums.advance.eq(1),
            valid_sums.clear.eq(self.clear),
            results.base.eq(about.base),
            results.columns.eq(about.columns),
            *(
                results.values[n - 1].eq(Mux(present[n], slots[n], nothing))
                for n in range(1, config.pes)
            ),
            ring.i.eq(results),
            Value.cast(delayed).eq(ring.o),
            self.o.valid.eq(valid_sums.o),
        ]
        out = Signal(results_layout(config), name="out", reset_less=True)
        total = partials.total
        m.d.sync += [
            out.base.eq(delayed.base),
            out.columns.eq(delayed.columns),
            out.values[0].eq(Mux(total.present, total.value, nothing)),
            *(out.values[n].eq(delayed.values[n - 1]) for n in range(1, config.pes)),
        ]
        m.d.comb += self.o.results.eq(out)
