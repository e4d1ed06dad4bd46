"""(+) over the entries of one column."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...arith.scalar_functions import delay
from ...arith.scalar_sum import OptionalSum
from ...spec.formats import Format
from ...spec.semirings import Semiring

__all__ = ["AdderTree"]


class AdderTree(wiring.Component):
    """A balanced binary tree of adders over values that may be absent.

    The values' places are padded to a power of two. An adder both of whose sides have a present
    value joins them, left (+) right; any other passes the one on, unchanged. Latency ``latency``
    cycles, a sum a cycle. Registers have no reset and move only while ``advance`` is set.

    Source: MatRaptor, section on its architecture.

    Parameters
    ----------
    semiring: whose (+) is computed
    format: of the values
    count: number of values, at least 2
    stages: register stages of an adder

    Members
    -------
    values, present: in; the values, and which of them count
    advance: in; enables all registers
    o: out; their sum, arbitrary if none is present
    """

    def __init__(self, semiring: Semiring, format: Format, *, count: int, stages: int) -> None:
        self._semiring = semiring
        self._format = format
        self._count = count
        self._stages = stages
        super().__init__(
            {
                "values": In(data.ArrayLayout(format.bits, count)),
                "present": In(count),
                "advance": In(1),
                "o": Out(format.bits),
            }
        )

    @property
    def semiring(self) -> Semiring:
        return self._semiring

    @property
    def format(self) -> Format:
        return self._format

    @property
    def count(self) -> int:
        return self._count

    @property
    def stages(self) -> int:
        return self._stages

    @property
    def latency(self) -> int:
        """In cycles."""
        return (self._count - 1).bit_length() * self._stages

    def elaborate(self, platform: object) -> Module:
        m = Module()
        level: list[Value] = [Value.cast(self.values[i]) for i in range(self._count)]
        present: Value = self.present
        depth = 0
        while len(level) > 1:
            following: list[Value] = []
            for n in range(len(level) // 2):
                m.submodules[f"sum_{depth}_{n}"] = node = OptionalSum(
                    self._semiring, self._format, self._stages
                )
                m.d.comb += [
                    node.a.eq(level[2 * n]),
                    node.b.eq(level[2 * n + 1]),
                    node.a_present.eq(present[2 * n]),
                    node.b_present.eq(present[2 * n + 1]),
                    node.advance.eq(self.advance),
                ]
                following.append(node.o)
            if len(level) % 2:
                alone = level[-1]
                following.append(delay(m, alone, self._stages, self.advance, f"alone_{depth}"))
            pairs = [present[2 * n : 2 * n + 2].any() for n in range(len(following))]
            joined = Signal(len(following), name=f"joined_{depth}")
            m.d.comb += joined.eq(Cat(*pairs))
            present = delay(m, joined, self._stages, self.advance, f"present_{depth}")
            level, depth = following, depth + 1
        m.d.comb += self.o.eq(level[0])
        return m
