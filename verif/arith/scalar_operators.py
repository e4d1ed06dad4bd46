"""All scalar semiring operators of a format, pipelined, as a unit."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.arith.scalar_product import ScalarProduct
from tilewright.hw.arith.scalar_sum import OptionalSum, ScalarSum
from tilewright.hw.spec.formats import Format
from tilewright.hw.spec.semirings import SEMIRINGS

__all__ = ["ScalarOperatorsUnit"]


_SUMS = ("mma", "minplus", "maxplus", "orand")
"""Semirings that together have each (+) once."""


def _parts(name: str) -> dict[str, type[ScalarProduct | ScalarSum | OptionalSum]]:
    """What there is of a semiring."""
    if name not in _SUMS:
        return {"product": ScalarProduct}
    return {"product": ScalarProduct, "sum": ScalarSum, "optional": OptionalSum}


class ScalarOperatorsUnit(wiring.Component):
    """Every semiring's (x) and (+) of the same two values; one build tests all.

    Parameters
    ----------
    format: format of operands and results
    stages: register stages of each

    Members
    -------
    i: ``a``, ``b``, and whether they count for an optional sum
    o: ``product_NAME``, ``sum_NAME``, ``optional_NAME`` of each semiring,
        of those with the same (+) only of one
    """

    def __init__(self, format: Format, stages: int) -> None:
        self._format = format
        self._stages = stages
        value = format.bits
        operands = {"a": value, "b": value, "a_present": 1, "b_present": 1}
        results = {f"{kind}_{name}": value for name in SEMIRINGS for kind in _parts(name)}
        super().__init__(
            {
                "i": In(stream.Signature(data.StructLayout(operands))),
                "o": Out(stream.Signature(data.StructLayout(results))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        advance = Signal()
        operands = self.i.payload
        for name, row in SEMIRINGS.items():
            for kind, part in _parts(name).items():
                m.submodules[f"{kind}_{name}"] = unit = part(row, self._format, self._stages)
                m.d.comb += [
                    unit.a.eq(operands.a),
                    unit.b.eq(operands.b),
                    unit.advance.eq(advance),
                    self.o.payload[f"{kind}_{name}"].eq(unit.o),
                ]
                if isinstance(unit, OptionalSum):
                    m.d.comb += [
                        unit.a_present.eq(operands.a_present),
                        unit.b_present.eq(operands.b_present),
                    ]
        valid: Value = self.i.valid
        for stage in range(self._stages):
            following = Signal(name=f"valid_{stage}")
            with m.If(advance):
                m.d.sync += following.eq(valid)
            valid = following
        m.d.comb += [
            self.o.valid.eq(valid),
            advance.eq(self.o.ready | ~valid),
            self.i.ready.eq(advance),
        ]
        return m
