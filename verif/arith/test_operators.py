"""The pipelined scalar operators of the semirings against the models of the semirings."""

from __future__ import annotations

import numpy as np
import pytest
from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.arith.add import FloatAdd
from tilewright.hw.arith.round import NormaliseSum
from tilewright.hw.arith.scalar_operators import (
    FloatMultiply,
    OptionalSum,
    ScalarProduct,
    ScalarSum,
)
from tilewright.hw.arith.unpack import Unpack
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.c2sr import VALUES
from tilewright.hw.spec.formats import FLOAT_FORMATS, FORMATS, Format, IntFormat
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim.numbers.semirings import combine, product
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, pack, unpack
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import cases, integer_pairs, operand_pairs, slow_but

_SUMS = ("mma", "minplus", "maxplus", "orand")
"""Semirings that together have each (+) once."""


def _parts(name: str) -> dict[str, type[ScalarProduct | ScalarSum | OptionalSum]]:
    """Returns the operators that a semiring has, by name."""
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


BUILDS = [f"{name} {stages}" for name in VALUES for stages in (1, 2, 3, 4)]
"""Format and register stages."""

SAMPLE = ["fp32 2", "fp32 4", "int32 1"]
"""Cases of the default test, which with the quick test's cover each number of stages."""


@pytest.mark.parametrize("build", slow_but(["bf16 3"], BUILDS, SAMPLE))
def test_operators_give_what_the_models_give(build: str) -> None:
    """All pairs of special values and random ones, in all nine semirings, under stalls."""
    name, stages = build.split()[0], int(build.split()[1])
    fmt = FORMATS[name]
    unit = NativeSimulation(emit_component(ScalarOperatorsUnit(fmt, stages), name="operators"))
    count = cases(100_000)
    if isinstance(fmt, IntFormat):
        a, b = integer_pairs(fmt, count, seed=71)
    else:
        a, b = operand_pairs(fmt, count, seed=72)
    present = np.random.default_rng(73).integers(1, 4, len(a)).astype(np.uint64)
    given = {
        "a": a,
        "b": b,
        "a_present": present & np.uint64(1),
        "b_present": present >> np.uint64(1),
    }
    words = pack(given, unit.stream("i"))
    run = unit.run(words, pauses=Pauses(seed=74, gap=0.2, stall=0.2))
    got = unpack(run.payloads, unit.stream("o"))
    for row in SEMIRINGS.values():
        sums = combine(row, a, b, fmt)
        either = np.where(present == 3, sums, np.where(present == 1, a, b))
        wanted = {"product": product(row, a, b, fmt, fmt), "sum": sums, "optional": either}
        for kind, values in wanted.items():
            if f"{kind}_{row.name}" not in got:
                assert kind != "product"
                continue
            found = got[f"{kind}_{row.name}"].astype(np.uint64)
            wrong = np.flatnonzero(found != values)
            assert not len(wrong), (
                f"{kind} {row.name}({a[wrong[0]]:#x}, {b[wrong[0]]:#x}) gives "
                f"{found[wrong[0]]:#x}, not {values[wrong[0]]:#x}; {len(wrong)} differ"
            )
    unit.reset()
    run = unit.run(words[:1000])
    assert (run.output_cycles - run.input_cycles == stages).all()
    assert run.input_cycles[-1] - run.input_cycles[0] == 999


def test_stages_out_of_range() -> None:
    fp16 = FLOAT_FORMATS["fp16"]
    mma = SEMIRINGS["mma"]
    assert refusal(lambda: FloatAdd(fp16, stages=5)) == "`stages` must be in 0..4, not 5"
    assert refusal(lambda: FloatMultiply(fp16, stages=-1)) == "`stages` must be in 0..4, not -1"
    assert refusal(lambda: ScalarProduct(mma, fp16, 0)) == "`stages` must be in 1..4, not 0"
    assert refusal(lambda: ScalarSum(mma, fp16, 5)) == "`stages` must be in 1..4, not 5"


def test_a_sum_keeps_the_fraction() -> None:
    said = refusal(lambda: FloatAdd(FLOAT_FORMATS["fp16"], FLOAT_FORMATS["fp32"]))
    assert said == "`result` must have 10 fraction bits, as fp16, not 23"


def test_options_that_exclude_each_other() -> None:
    fp16 = FLOAT_FORMATS["fp16"]
    assert refusal(lambda: Unpack(fp16, biased=True)) == "`biased` must be False with `normalise`"
    said = refusal(lambda: NormaliseSum(fp16, sum_bits=14, limit_bits=6, bounded=True))
    assert said == "`bounded` must be False without `counted`"
