"""A row of values to one, in a tree."""

from __future__ import annotations

from amaranth.hdl import C, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...arith.scalar_functions import delay, is_true, truth
from ...spec.sida import SidaConfig
from .layouts import KINDS, values_layout
from .reduction_sum import ReductionSum

__all__ = ["ReductionTree"]


class ReductionTree(wiring.Component):
    """Reduces the elements of a row that there are; the others are left out.

    Latency ``latency`` cycles, a row a cycle. Registers have no reset.

    Parameters
    ----------
    config: the accelerator's

    Members
    -------
    kind: in; number of the reduction, see ``KINDS``
    mask: in; which elements there are, at least one
    values: in; the row's. For a disjunction any values
    o: out; the result; 0 or 1 of a disjunction
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "kind": In(range(len(KINDS))),
                "mask": In(config.pes),
                "values": In(values_layout(config)),
                "o": Out(config.format.bits),
            }
        )

    @property
    def latency(self) -> int:
        return (self._config.pes.bit_length() - 1) * self._config.adder_stages

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, stages = self._config.format, self._config.adder_stages
        kind: Value = self.kind
        present = [self.mask[leaf] for leaf in range(self._config.pes)]
        values: list[Value] = []
        for leaf in range(self._config.pes):
            value = Signal(fmt.bits, name=f"leaf_{leaf}")
            m.d.comb += value.eq(self.values[leaf])
            with m.If(kind == KINDS.index("ror")):
                m.d.comb += value.eq(truth(is_true(self.values[leaf], fmt), fmt))
            values.append(value)
        level = 0
        while len(values) > 1:
            pairs: list[Value] = []
            for n in range(len(values) // 2):
                m.submodules[f"sum_{level}_{n}"] = node = ReductionSum(fmt, stages)
                m.d.comb += [
                    node.kind.eq(kind),
                    node.a.eq(values[2 * n]),
                    node.b.eq(values[2 * n + 1]),
                    node.a_present.eq(present[2 * n]),
                    node.b_present.eq(present[2 * n + 1]),
                ]
                pairs.append(node.o)
            present = [
                delay(m, present[2 * n] | present[2 * n + 1], stages, C(1), f"present_{level}_{n}")
                for n in range(len(pairs))
            ]
            kind = delay(m, kind, stages, C(1), f"kind_{level}")
            values, level = pairs, level + 1
        m.d.comb += self.o.eq(values[0])
        return m
