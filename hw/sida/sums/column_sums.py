"""Products with a vector, and their sums by columns."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any, Final

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...arith.scalar_operators import delay
from ...spec.formats import Format
from ...spec.sida import SidaConfig
from ...stream.ring import DelayRing
from ...stream.valid_pipeline import ValidPipeline
from ..layouts import results_layout, sums_layout, terms_layout
from ..operators import SelectedOptional, SelectedProduct, identity, semiring_range
from .segment_tree import SegmentTree


def part_layout(config: SidaConfig) -> data.StructLayout:
    """A value, if there is one."""
    return data.StructLayout({"present": 1, "value": config.format.bits})


class ColumnPartials(wiring.Component):
    """Sums each column over the sets that contain its elements.

    One column is open at a time. A set adds to it, and may end it; then it begins the next one,
    perhaps with something. What a column gets is dealt out in turn to ``partials`` partial sums,
    so that each adder is through with one when its turn comes again; in the end they are added in
    pairs. A column may begin, and another one end, in every cycle: at the end of the first adder
    the old column's sums move on to the pairs while the new one's first value takes their place.

    Latency ``latency`` cycles. The data's registers have no reset.

    Source: SIDA, section on the OS core; the order of the sums is ours.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    semiring: in; number of the chosen one
    valid: in; there is a set
    added: in; what it adds to the open column
    ends: in; then that column is complete
    opened: in; what the next one begins with
    total: out; of the column that ended so long ago; anything if none did
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        part = part_layout(config)
        super().__init__(
            {
                "semiring": In(semiring_range(config.operators)),
                "valid": In(1),
                "added": In(part),
                "ends": In(1),
                "opened": In(part),
                "total": Out(part),
                "clear": In(1),
            }
        )

    @property
    def latency(self) -> int:
        """Latency in cycles."""
        levels = 1 + (self.config.partials - 1).bit_length()
        return levels * self.config.adder_stages

    def _optional(self) -> SelectedOptional:
        config = self.config
        return SelectedOptional(config.operators, config.format, config.adder_stages)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        stages, partials, bits = config.adder_stages, config.partials, config.format.bits
        sums = [Signal(bits, name=f"sum_{n}", reset_less=True) for n in range(partials)]
        adds = Signal()
        ends = Signal()
        turn = Signal(range(partials))
        count = Signal(range(partials + 1))
        after = Signal(range(partials + 1))
        m.d.comb += [
            adds.eq(self.valid & self.added.present),
            ends.eq(self.valid & self.ends),
            after.eq(Mux(adds & (count != partials), count + 1, count)),
        ]
        with m.If(ends):
            m.d.sync += [turn.eq(self.opened.present), count.eq(self.opened.present)]
        with m.Elif(adds):
            m.d.sync += [turn.eq(Mux(turn == partials - 1, 0, turn + 1)), count.eq(after)]
        with m.If(self.clear):
            m.d.sync += [turn.eq(0), count.eq(0)]
        m.submodules.add = add = self._optional()
        m.d.comb += [
            add.semiring.eq(self.semiring),
            add.advance.eq(1),
            add.a.eq(Array(sums)[turn]),
            add.a_present.eq(count == partials),
            add.b.eq(self.added.value),
            add.b_present.eq(1),
        ]
        m.submodules.adding = adding = ValidPipeline(stages)
        m.submodules.ending = ending = ValidPipeline(stages)
        for pipeline, enters in ((adding, adds), (ending, ends)):
            m.d.comb += [
                pipeline.i.eq(enters),
                pipeline.advance.eq(1),
                pipeline.clear.eq(self.clear),
            ]
        place = delay(m, turn, stages, Value.cast(1), "turn")
        begun = delay(m, self.opened.value, stages, Value.cast(1), "opened")
        current = []
        for n, kept in enumerate(sums):
            now = Signal(bits, name=f"now_{n}")
            m.d.comb += now.eq(Mux(adding.o & (place == n), add.o, kept))
            m.d.sync += kept.eq(Mux(ending.o, begun, now) if n == 0 else now)
            current.append(now)
        self._pairs(m, current, delay(m, after, stages, Value.cast(1), "count"))
        return m

    def _pairs(self, m: Module, sums: list[Signal], count: Value) -> None:
        """Adds the partial sums of a column that is complete."""
        stages = self.config.adder_stages
        level: list[Value] = list(sums)
        present = Signal(len(level), name="present")
        m.d.comb += present.eq(Cat(n < count for n in range(len(level))))
        depth = 0
        while len(level) > 1:
            following: list[Value] = []
            for n in range(len(level) // 2):
                m.submodules[f"pair_{depth}_{n}"] = pair = self._optional()
                m.d.comb += [
                    pair.semiring.eq(self.semiring),
                    pair.advance.eq(1),
                    pair.a.eq(level[2 * n]),
                    pair.a_present.eq(present[2 * n]),
                    pair.b.eq(level[2 * n + 1]),
                    pair.b_present.eq(present[2 * n + 1]),
                ]
                following.append(pair.o)
            if len(level) % 2:
                following.append(delay(m, level[-1], stages, Value.cast(1), f"alone_{depth}"))
            either = Signal(len(following), name=f"either_{depth}")
            m.d.comb += either.eq(
                Cat(present[2 * n : 2 * n + 2].any() for n in range(len(following)))
            )
            later = delay(m, either, stages, Value.cast(1), f"present_{depth}")
            present = Signal(len(following), name=f"present_behind_{depth}")
            m.d.comb += present.eq(later)
            level, depth = following, depth + 1
        m.d.comb += [self.total.value.eq(level[0]), self.total.present.eq(present[0])]


class ColumnSlots(wiring.Component):
    """Sorts sums, each in its column's last leaf, by column.

    Combinational: each slot chooses among all leaves.

    Parameters
    ----------
    format: of the values
    leaves: of them, and slots

    Members
    -------
    sums, found: in; by leaf: a value, and whether it is one
    offset: in; by leaf, its column's number; not two columns with values have the same
    same: in; whether a leaf is not the last of its column
    values, present: out; by the columns' numbers; 0 where there is none
    """

    def __init__(self, format: Format, leaves: int) -> None:
        self._format, self._leaves = format, leaves
        values = data.ArrayLayout(format.bits, leaves)
        super().__init__(
            {
                "sums": In(values),
                "found": In(leaves),
                "offset": In(data.ArrayLayout(range(leaves), leaves)),
                "same": In(leaves - 1),
                "values": Out(values),
                "present": Out(leaves),
            }
        )

    @property
    def format(self) -> Format:
        return self._format

    @property
    def leaves(self) -> int:
        return self._leaves

    def elaborate(self, platform: object) -> Module:
        m = Module()
        last = Signal(self._leaves)
        m.d.comb += last.eq(self.found & ~Cat(self.same, C(0, 1)))
        for slot in range(self._leaves):
            mine = Signal(self._leaves, name=f"of_slot_{slot}")
            m.d.comb += [
                mine.eq(Cat(last[n] & (self.offset[n] == slot) for n in range(self._leaves))),
                self.present[slot].eq(mine.any()),
                self.values[slot].eq(
                    reduce(or_, (Mux(mine[n], self.sums[n], 0) for n in range(self._leaves)))
                ),
            ]
        return m


class ColumnSums(wiring.Component):
    """Computes ``(+) over a column's elements of operand (x) value``, one set per cycle.

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
        self.config: Final = config
        super().__init__(
            {
                "semiring": In(semiring_range(config.operators)),
                "i": In(terms_layout(config)),
                "o": Out(sums_layout(config)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
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
        results = results_layout(self.config)
        return {name: results[name].shape for name in ("base", "columns")}

    def _about(self) -> data.StructLayout:
        """Layout of the fields that accompany a set through the tree."""
        offset = terms_layout(self.config)["offset"].shape
        return data.StructLayout({**self._columns(), "offset": offset})

    def _tree(self, m: Module) -> SegmentTree:
        """Builds the multipliers, and the tree after them."""
        config, i = self.config, self.i
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
        config = self.config
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
