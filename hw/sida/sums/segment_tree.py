"""The sums of neighbours that belong together, all in one tree."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...arith.scalar_operators import delay
from ...spec.formats import Format
from ...spec.semirings import Semiring
from ..operators import SelectedSum, semiring_range

__all__ = ["SegmentTree"]


def _all(bits: Value) -> Value:
    return bits[0] if len(bits) == 1 else bits.all()


class SegmentTree(wiring.Component):
    """Sums the leaves of each segment in a binary tree of adders.

    A segment's sum is in the segment's last leaf.

    A segment's sum is that of the tree over all leaves, of which others and absent ones are left
    out: an adder whose both sides have something of the segment across its middle joins them, left
    (+) right, and what has only one side goes on unchanged. There is one adder for each two
    neighbours, and at most one segment to cross its middle.

    Latency ``latency`` cycles, new leaves every cycle. Registers have no reset.

    Source: SIDA, section on the OS core, which has it from SIGMA (the forwarding adder tree).

    Parameters
    ----------
    operators: the semirings
    format: of the values
    leaves: a power of two, at least 2
    stages: register stages of an adder

    Members
    -------
    semiring: in; number of the one whose (+) is computed, constant while values are under way
    values, present: in; of each leaf, and whether it counts
    same: in; whether a leaf is of the segment of the one behind it
    sums, found: out; of each segment, in its last leaf, and whether it has any value; in other
      leaves anything
    same_later: out; ``same`` of these sums
    """

    def __init__(
        self, operators: Sequence[Semiring], format: Format, *, leaves: int, stages: int
    ) -> None:
        self._operators = tuple(operators)
        self._format = format
        self._leaves = leaves
        self._stages = stages
        if leaves < 2 or leaves & (leaves - 1):
            raise ValueError(f"`leaves` must be a power of two from 2 on, not {leaves}")
        values = data.ArrayLayout(format.bits, leaves)
        super().__init__(
            {
                "semiring": In(semiring_range(self._operators)),
                "values": In(values),
                "present": In(leaves),
                "same": In(leaves - 1),
                "sums": Out(values),
                "found": Out(leaves),
                "same_later": Out(leaves - 1),
            }
        )

    @property
    def operators(self) -> tuple[Semiring, ...]:
        return self._operators

    @property
    def format(self) -> Format:
        return self._format

    @property
    def leaves(self) -> int:
        return self._leaves

    @property
    def stages(self) -> int:
        return self._stages

    @property
    def latency(self) -> int:
        """Latency in cycles."""
        return (self._leaves - 1).bit_length() * self._stages

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # In each node: totals of its segments, in their last leaves in the node; and that of its
        # first segment apart, which is the right side of a node above.
        totals = [Value.cast(self.values[n]) for n in range(self._leaves)]
        present = [self.present[n] for n in range(self._leaves)]
        first = list(zip(totals, present, strict=True))
        same: Value = self.same
        half = 1
        while half < self._leaves:
            totals, present, first, same = self._level(m, half, totals, present, first, same)
            half *= 2
        m.d.comb += [
            *(self.sums[n].eq(total) for n, total in enumerate(totals)),
            self.found.eq(Cat(present)),
            self.same_later.eq(same),
        ]
        return m

    def _level(
        self,
        m: Module,
        half: int,
        totals: list[Value],
        present: list[Value],
        first: list[tuple[Value, Value]],
        same: Value,
    ) -> tuple[list[Value], list[Value], list[tuple[Value, Value]], Value]:
        """Nodes of twice ``half`` leaves; ``first`` is by node below."""
        name = f"of_{2 * half}"

        def later(value: Value, what: str) -> Value:
            return delay(m, value, self._stages, Value.cast(1), f"{what}_{name}")

        sums = []
        for node in range(self._leaves // (2 * half)):
            m.submodules[f"add_{name}_{node}"] = add = SelectedSum(
                self._operators, self._format, self._stages
            )
            m.d.comb += [
                add.semiring.eq(self.semiring),
                add.advance.eq(1),
                add.a.eq(totals[(2 * node + 1) * half - 1]),
                add.b.eq(first[2 * node + 1][0]),
            ]
            sums.append(add.o)
        # The first segment of node 0 is nobody's right side; that of a leaf is its total.
        first = [
            (later(value, f"first_{n}"), later(there, f"first_{n}_present"))
            if n and half > 1
            else (value, there)
            for n, (value, there) in enumerate(first)
        ]
        totals = [later(value, f"total_{n}") for n, value in enumerate(totals)]
        there = Signal(self._leaves, name=f"present_{name}")
        m.d.comb += there.eq(Cat(present))
        held = later(there, "present")
        present = [held[n] for n in range(self._leaves)]
        if half == 1:
            first = list(zip(totals, present, strict=True))
        same = later(same, "same")
        above = []
        for node, total in enumerate(sums):
            begin, middle, end = 2 * node * half, (2 * node + 1) * half, (2 * node + 2) * half
            right, right_present = first[2 * node + 1]
            left, left_present = totals[middle - 1], present[middle - 1]
            joined = Signal(self._format.bits, name=f"joined_{name}_{node}")
            either = Signal(name=f"either_{name}_{node}")
            m.d.comb += [
                joined.eq(Mux(left_present & right_present, total, Mux(left_present, left, right))),
                either.eq(left_present | right_present),
            ]
            for leaf in range(middle, end):
                last = _all(same[middle - 1 : leaf])
                if leaf < end - 1:
                    last &= ~same[leaf]
                totals[leaf] = Mux(last, joined, totals[leaf])
                present[leaf] = Mux(last, either, present[leaf])
            if node:
                whole = _all(same[begin:middle])
                value, there_first = first[2 * node]
                above.append((Mux(whole, joined, value), Mux(whole, either, there_first)))
            else:
                above.append(first[0])
        return totals, present, above, same
