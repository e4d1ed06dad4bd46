"""Quotients, roots and fused multiply-adds in RTL against SoftFloat and exact arithmetic."""

from __future__ import annotations

from functools import cache
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.arith.iterative import FloatDivide, FloatSquareRoot
from tilewright.hw.arith.multiply_add import FloatMultiplyAdd
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.formats import FLOAT_FORMATS, FloatFormat
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, pack, unpack
from tilewright.verif.arith.arithmetic import agree
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import cases, operand_pairs, slow_but
from tilewright.verif.oracles import softfloat
from tilewright.verif.oracles.softfloat import decode, round_exact


class IterativeUnit(wiring.Component):
    """Computes the quotient and the root of its operands, in succession.

    The root takes fewer cycles than the quotient, and its result stays.

    Parameters
    ----------
    format: of all values

    Members
    -------
    i: ``a``, ``b``
    o: ``quotient`` of a and b, ``root`` of a
    """

    def __init__(self, format: FloatFormat) -> None:
        self._format = format
        bits = format.bits
        operands = data.StructLayout({"a": bits, "b": bits})
        results = data.StructLayout({"quotient": bits, "root": bits})
        super().__init__({"i": In(stream.Signature(operands)), "o": Out(stream.Signature(results))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.divide = divide = FloatDivide(self._format)
        m.submodules.root = root = FloatSquareRoot(self._format)
        works = Signal()
        waits = Signal()
        start = self.i.valid & self.i.ready
        m.d.comb += [
            self.i.ready.eq(~works),
            divide.start.eq(start),
            root.start.eq(start),
            divide.a.eq(self.i.payload.a),
            divide.b.eq(self.i.payload.b),
            root.a.eq(self.i.payload.a),
            self.o.valid.eq(divide.done | waits),
            self.o.payload.quotient.eq(divide.o),
            self.o.payload.root.eq(root.o),
        ]
        with m.If(self.o.valid):
            m.d.sync += waits.eq(~self.o.ready)
        with m.If(start):
            m.d.sync += works.eq(1)
        with m.Elif(self.o.valid & self.o.ready):
            m.d.sync += works.eq(0)
        return m


class MultiplyAddUnit(wiring.Component):
    """A pipelined ``FloatMultiplyAdd``, whose registers stand while its result waits.

    Parameters
    ----------
    format: of all values
    stages: register stages, at least 1

    Members
    -------
    i: ``a``, ``b``, ``c``
    o: the result
    """

    def __init__(self, format: FloatFormat, stages: int) -> None:
        self._format, self._stages = format, stages
        operands = data.StructLayout(dict.fromkeys("abc", format.bits))
        super().__init__(
            {
                "i": In(stream.Signature(operands)),
                "o": Out(stream.Signature(data.StructLayout({"o": format.bits}))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.multiply_add = unit = FloatMultiplyAdd(self._format, stages=self._stages)
        valid = Signal(self._stages)
        advance = Signal()
        m.d.comb += [
            advance.eq(self.o.ready | ~valid[-1]),
            self.i.ready.eq(advance),
            unit.advance.eq(advance),
            *(getattr(unit, name).eq(self.i.payload[name]) for name in "abc"),
            self.o.valid.eq(valid[-1]),
            self.o.payload.o.eq(unit.o),
        ]
        with m.If(advance):
            m.d.sync += valid.eq(Cat(self.i.valid, valid)[: self._stages])
        return m


Patterns = npt.NDArray[np.uint64]

FORMATS = ("fp8e4m3", "bf16", "fp16", "fp32", "fp64")
"""The first two by exact arithmetic alone: SoftFloat has none of theirs."""

MULTIPLY_ADDS = ("fp16 1", "fp32 2", "fp32 3", "fp32 4", "fp32 5", "fp64 4")


@cache
def iterative(name: str) -> NativeSimulation:
    unit = IterativeUnit(FLOAT_FORMATS[name])
    return NativeSimulation(emit_component(unit, name=f"iterative_{name}"))


def computed(unit: NativeSimulation, pauses: Pauses, **given: Patterns) -> dict[str, Patterns]:
    run = unit.run(pack(given, unit.stream("i")), pauses=pauses)
    found = unpack(run.payloads, unit.stream("o"))
    return {name: values.astype(np.uint64) for name, values in found.items()}


def exact_quotient(a: int, b: int, fmt: FloatFormat) -> int:
    x, y = decode(a, fmt), decode(b, fmt)
    negative = x.negative != y.negative
    sign = int(negative) << (fmt.bits - 1)
    kinds = (x.kind, y.kind)
    if "nan" in kinds or kinds == ("infinite", "infinite"):
        return fmt.nan
    if y.kind == "infinite":
        return sign
    if x.kind == "infinite":
        return fmt.infinity | sign
    if not y.integer:
        return fmt.nan if not x.integer or not fmt.has_infinity else fmt.infinity | sign
    # Two bits more than could decide a rounding, and whether there are others.
    more = 2 * fmt.significand_bits + 4
    whole, rest = divmod(abs(x.integer) << more, abs(y.integer))
    number = whole << 1 | (rest != 0)
    return round_exact(
        -number if negative else number, x.exponent - y.exponent - more - 1, fmt, negative
    )


def exact_root(a: int, fmt: FloatFormat) -> int:
    x = decode(a, fmt)
    if x.kind == "nan" or (x.negative and (x.integer or x.kind == "infinite")):
        return fmt.nan
    if x.kind == "infinite" or not x.integer:
        return a
    more = 2 * fmt.significand_bits + 4
    more += (x.exponent - more) % 2
    scaled = x.integer << more
    whole = isqrt(scaled)
    number = whole << 1 | (whole * whole != scaled)
    return round_exact(number, (x.exponent - more) // 2 - 1, fmt)


@pytest.mark.parametrize("name", slow_but(["fp32"], FORMATS, ["fp16"]))
def test_quotients_and_roots(name: str) -> None:
    """Every kind of values, under stalls: all by SoftFloat, some by exact arithmetic."""
    fmt = FLOAT_FORMATS[name]
    native = name in ("fp16", "fp32", "fp64")
    a, b = operand_pairs(fmt, cases(100_000 if native else 20_000), seed=201)
    got = computed(iterative(name), Pauses(seed=202, gap=0.1, stall=0.2), a=a, b=b)
    if native:
        agree("divide", got["quotient"], softfloat.divide(a, b, fmt), a, b)
        agree("root", got["root"], softfloat.square_root(a, fmt), a)
    some = slice(None, None, 10 if native else 1)
    pairs = list(zip(a[some].tolist(), b[some].tolist(), strict=True))
    quotients = [exact_quotient(x, y, fmt) for x, y in pairs]
    agree("divide", got["quotient"][some], quotients, a[some], b[some])
    agree("root", got["root"][some], [exact_root(x, fmt) for x, _ in pairs], a[some])


def test_cycles() -> None:
    """One for each bit of the quotient, which has 24 + 2, one to start, two to round."""
    unit = iterative("fp32")
    words = pack({"a": np.arange(5), "b": np.arange(5)}, unit.stream("i"))
    run = unit.run(words)
    assert (run.output_cycles - run.input_cycles == 24 + 2 + 1 + 2).all()


@pytest.mark.parametrize("build", slow_but(["fp32 4"], MULTIPLY_ADDS, []))
def test_multiply_add(build: str) -> None:
    """Tries random values, zeros, and addends close to the product, which cancel most of it."""
    name, stages = build.split()[0], int(build.split()[1])
    fmt = FLOAT_FORMATS[name]
    a, b = operand_pairs(fmt, cases(100_000), seed=203)
    rng: Any = np.random.default_rng(204)
    product = softfloat.multiply(a, b, fmt) ^ np.uint64(1 << (fmt.bits - 1))
    near = product ^ rng.integers(0, 4, product.shape, dtype=np.uint64)
    c = np.where(rng.random(len(a)) < 0.5, near, rng.permutation(b))
    unit = NativeSimulation(emit_component(MultiplyAddUnit(fmt, stages), name="multiply_add"))
    got = computed(unit, Pauses(seed=205, gap=0.2, stall=0.2), a=a, b=b, c=c)["o"]
    agree("multiply_add", got, softfloat.multiply_add(a, b, c, fmt), a, b, c)
    unit.reset()
    run = unit.run(pack({"a": a[:100], "b": b[:100], "c": c[:100]}, unit.stream("i")))
    assert (run.output_cycles - run.input_cycles == stages).all()


def test_stages_out_of_range() -> None:
    said = refusal(lambda: FloatMultiplyAdd(FLOAT_FORMATS["fp16"], stages=6))
    assert said == "`stages` must be in 0..5, not 6"
