"""The running sums of an adder's columns."""

from __future__ import annotations

from amaranth.hdl import C, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from .selection import one_of

__all__ = ["RunningSums"]


class RunningSums(wiring.Component):
    """Keeps a sum for each column, in the order in which the columns have their turn.

    As that is always the same, there is a queue: with ``store`` all move on by one, and the new one
    comes in at its end. A sum that is taken while n others are on their way through the adder is n
    places behind the head, so that nobody has to pick one of all columns'. Sums have no reset.

    Columns have their turn all of them, or, of fewer that count, the first ones; each is stored
    before its next turn.

    Parameters
    ----------
    columns: how many there are
    fewer: of them, those that count unless ``all``
    bits: of a sum
    stages: of the adder; with a sum ``stages - 1`` cycles before, or, of 1, in that cycle, is
      stored

    Members
    -------
    all: in; (fewer may count) all columns do
    on_their_way: in; (several columns and stages) a bit for each cycle from the adder's second to
      its last: a sum is there
    store: in; that is the adder's last one
    i: in; the new sum, with ``store``
    o: out; the sum of the column whose turn it is; combinational
    newest: out; the one that was stored last
    """

    def __init__(self, columns: int, fewer: int, bits: int, stages: int) -> None:
        self._columns, self._fewer, self._bits, self._stages = columns, fewer, bits, stages
        members: dict[str, Member] = {
            "store": In(1),
            "i": In(bits),
            "o": Out(bits),
            "newest": Out(bits),
        }
        if fewer < columns:
            members["all"] = In(1)
        if min(columns, stages) > 1:
            members["on_their_way"] = In(stages - 1)
        super().__init__(members)

    @property
    def columns(self) -> int:
        return self._columns

    @property
    def fewer(self) -> int:
        return self._fewer

    @property
    def bits(self) -> int:
        return self._bits

    @property
    def stages(self) -> int:
        return self._stages

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sums = [Signal(self._bits, name=f"sum_{n}", reset_less=True) for n in range(self._columns)]
        with m.If(self.store):
            for n, behind in enumerate([*sums[1:], self.i]):
                ends = n == self._fewer - 1 < self._columns - 1
                m.d.sync += sums[n].eq(Mux(self.all, behind, self.i) if ends else behind)
        here: list[Value] = [C(1)]
        for other in self.on_their_way if min(self._columns, self._stages) > 1 else ():
            here = [
                (now & ~other) | (before & other)
                for now, before in zip([*here, C(0)], [C(0), *here], strict=True)
            ]
        places = min(len(here), self._columns)
        newest = sums[-1]
        if self._fewer < self._columns:
            newest = Mux(self.all, newest, sums[self._fewer - 1])
        m.d.comb += [
            self.o.eq(one_of(here[:places], sums[:places]) if places > 1 else sums[0]),
            self.newest.eq(newest),
        ]
        return m
