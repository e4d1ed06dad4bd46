"""Operators chosen at run time against the models, and *aril-add* against plain Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.sida.operators import (
    SelectedOptional,
    SelectedProduct,
    SelectedSum,
    identity,
    semiring_range,
)
from tilewright.hw.spec.formats import FORMATS, Format
from tilewright.hw.spec.semirings import SEMIRINGS, Semiring
from tilewright.hw.spec.sida import SIDA_SEMIRINGS, SidaConfig
from tilewright.hw.stream.valid_pipeline import ValidPipeline
from tilewright.sim.numbers.semirings import combine, product
from tilewright.sim.numbers.values import decode, encode
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, pack, unpack
from tilewright.sim.sida.result.products import (
    Columns,
    Rules,
    input_stationary,
    output_stationary,
)
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import cases, slow_but, value_pairs


class SelectedOperatorsUnit(wiring.Component):
    """(x), (+) and its identity of the same two values. An operation of another semiring
    waits until those that were begun have gone.

    Parameters
    ----------
    operators: the semirings
    format: of operands and results
    stages: register stages of each

    Members
    -------
    i: ``semiring``, ``a``, ``b``, and whether they count for a sum
    o: ``product``, ``sum``, ``identity``
    """

    def __init__(self, operators: Sequence[Semiring], format: Format, stages: int) -> None:
        self._operators, self._format, self._stages = tuple(operators), format, stages
        bits = format.bits
        operands = {
            "semiring": semiring_range(operators), "a": bits, "b": bits, "a_present": 1,
            "b_present": 1,
        }  # fmt: skip
        results = {"product": bits, "sum": bits, "identity": bits}
        super().__init__(
            {
                "i": In(stream.Signature(data.StructLayout(operands))),
                "o": Out(stream.Signature(data.StructLayout(results))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        given, format, stages = self.i.payload, self._format, self._stages
        m.submodules.product = times = SelectedProduct(self._operators, format, stages)
        m.submodules.sum = plus = SelectedOptional(self._operators, format, stages)
        m.submodules.valid = valid = ValidPipeline(stages)
        chosen = Signal(semiring_range(self._operators))
        advance = Signal()
        empty = Signal()
        under_way = Signal(range(stages + 1))
        allowed = Signal()
        m.d.comb += [
            empty.eq(under_way == 0),
            advance.eq(self.o.ready | ~valid.o),
            allowed.eq(empty | (chosen == given.semiring)),
            self.i.ready.eq(advance & allowed),
            valid.i.eq(self.i.valid & allowed),
            valid.advance.eq(advance),
            self.o.valid.eq(valid.o),
            self.o.payload.product.eq(times.o),
            self.o.payload.sum.eq(plus.o),
            self.o.payload.identity.eq(identity(self._operators, format, chosen)),
            plus.a_present.eq(given.a_present),
            plus.b_present.eq(given.b_present),
        ]
        used: Value = Signal(semiring_range(self._operators), name="used")
        with m.If(empty):
            m.d.comb += used.eq(given.semiring)
            with m.If(self.i.valid):
                m.d.sync += chosen.eq(given.semiring)
        with m.Else():
            m.d.comb += used.eq(chosen)
        enters, leaves = self.i.valid & self.i.ready, self.o.valid & self.o.ready
        m.d.sync += under_way.eq(under_way + enters - leaves)
        for part in (times, plus):
            m.d.comb += [
                part.semiring.eq(used),
                part.a.eq(given.a),
                part.b.eq(given.b),
                part.advance.eq(advance),
            ]
        return m


ARIL_ADD = SIDA_SEMIRINGS["aril-add"]
BUILDS = {
    "int32, all": ("int32", tuple(SIDA_SEMIRINGS), 2),
    "fp16, all": ("fp16", tuple(SIDA_SEMIRINGS), 3),
    "fp32, default": ("fp32", ("mma", "orand", "minplus", "aril-add"), 1),
    "fp64, one": ("fp64", ("maxmin",), 2),
    "int32, two": ("int32", ("minmul", "addnorm"), 1),
}
"""Format, semirings, stages."""


@pytest.mark.parametrize("name", slow_but(["fp16, all"], BUILDS, []))
def test_each_semiring_is_as_the_models_have_it(name: str) -> None:
    """All pairs of special values and random ones, one semiring after the other, under stalls."""
    fmt, names, stages = FORMATS[BUILDS[name][0]], *BUILDS[name][1:]
    rows = [SIDA_SEMIRINGS[each] for each in names]
    unit = NativeSimulation(
        emit_component(SelectedOperatorsUnit(rows, fmt, stages), name="operators")
    )
    a, b = value_pairs(fmt, cases(20_000), 75)
    present = np.random.default_rng(76).integers(1, 4, len(a)).astype(np.uint64)
    for number, row in enumerate(rows):
        given = {
            "semiring": np.full(len(a), number),
            "a": a,
            "b": b,
            "a_present": present & np.uint64(1),
            "b_present": present >> np.uint64(1),
        }
        words = pack(given, unit.stream("i"))
        run = unit.run(words, pauses=Pauses(seed=77, gap=0.2, stall=0.2))
        got = unpack(run.payloads, unit.stream("o"))
        sums = combine(row, a, b, fmt)
        wanted = {
            "product": product(row, a, b, fmt, fmt),
            "sum": np.where(present == 3, sums, np.where(present == 1, a, b)),
            "identity": np.full(len(a), row.identity_in(fmt)),
        }
        for kind, values in wanted.items():
            wrong = np.flatnonzero(got[kind].astype(np.uint64) != values)
            assert not len(wrong), (
                f"{kind} of {row.name}({a[wrong[0]]:#x}, {b[wrong[0]]:#x}) is "
                f"{got[kind][wrong[0]]:#x}, not {int(values[wrong[0]]):#x}; {len(wrong)} differ"
            )


@pytest.mark.parametrize("name", ["fp32", "fp16", "fp64", "int32"])
def test_aril_passes_the_second_operand_where_the_first_is_true(name: str) -> None:
    """Plain Python computes the expected values. NaN is true, and zeros of either sign are
    false."""
    fmt = FORMATS[name]
    a, b = value_pairs(fmt, cases(4000), 78)
    numbers = decode(a, fmt).tolist()
    expected = [y if x != 0 else 0 for x, y in zip(numbers, b.tolist(), strict=True)]
    assert 0 in numbers
    assert product(ARIL_ADD, a, b, fmt, fmt).tolist() == expected


def test_products_of_aril_add() -> None:
    """The columns' elements where the vector is true, added in Python's integers and floats."""
    rng = np.random.default_rng(79)
    size = 50
    dense = rng.integers(-9, 10, (size, size)) * (rng.random((size, size)) < 0.2)
    x = rng.integers(-1, 2, size)
    rows, columns = np.nonzero(dense.T)[::-1]
    pointers = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=size))])
    expected = [sum(int(dense[i, j]) for i in range(size) if x[i]) for j in range(size)]
    for name in ("int32", "fp32"):
        fmt = FORMATS[name]
        numbers = dense.astype(np.float64) if name == "fp32" else dense
        matrix = Columns(
            pointers=pointers.astype(np.int64),
            rows=rows.astype(np.int64),
            values=encode(numbers[rows, columns], fmt),
        )
        vector = encode(x.astype(np.float64) if name == "fp32" else x, fmt)
        rules = Rules(fmt=fmt, leaves=4, subtensor=4)
        for function in (output_stationary, input_stationary):
            assert decode(function(rules, ARIL_ADD, matrix, vector), fmt).tolist() == expected


def test_aril_add_is_sidas_own() -> None:
    assert "aril-add" not in SEMIRINGS
    assert list(SIDA_SEMIRINGS) == [*SEMIRINGS, "aril-add"]
    assert [row.name for row in SidaConfig().operators] == ["mma", "minplus", "orand", "aril-add"]
    assert len({row.opcode for row in SIDA_SEMIRINGS.values()}) == len(SIDA_SEMIRINGS)


def test_refusals() -> None:
    mma, fp16 = SEMIRINGS["mma"], FORMATS["fp16"]
    said = refusal(lambda: SelectedSum([], fp16, 1))
    assert said == "`operators` must be at least one semiring"
    said = refusal(lambda: SelectedProduct([mma], fp16, 4))
    assert said == "`stages` must be in 1..3, not 4"
