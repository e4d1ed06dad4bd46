"""The fused adder against SoftFloat, and bf16 against exact fractions as well."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.gta.float.float_accumulate import FloatAccumulate, FloatOperand
from tilewright.hw.gta.float.headers import sum_format
from tilewright.hw.gta.float.row_adder import ProductOfHeaders
from tilewright.hw.spec.formats import FLOAT_FORMATS, FloatFormat
from tilewright.sim.rtl.streams import NativeSimulation, pack, unpack
from tilewright.verif.arith.arithmetic import agree
from tilewright.verif.gta.float.exact_sums import accumulated, exactly, representatives
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import cases, operand_pairs, slow_but
from tilewright.verif.oracles import stimuli


class AccumulateUnit(wiring.Component):
    """``o = RNE(x * y + sum)``, the last register as a running sum's. Nothing may stall it.

    Parameters
    ----------
    formats: of operands
    stages: of the adder
    own: fp16 and bf16 may have sums of these formats

    Members
    -------
    i: ``x``, ``y`` in the low bits, their ``format``'s number, ``sum``; ``own``: it is of that
      format, too
    o: the new sum, in the low bits
    """

    def __init__(self, formats: Sequence[FloatFormat], stages: int, *, own: bool = False) -> None:
        self._formats = tuple(formats)
        self._stages = stages
        self._own = own
        bits = max(sum_format(fmt.name).bits for fmt in formats)
        operand = max(fmt.bits for fmt in formats)
        given = {"x": operand, "y": operand, "format": 2, "sum": bits, "own": 1}
        super().__init__(
            {
                "i": In(stream.Signature(data.StructLayout(given))),
                "o": Out(stream.Signature(data.StructLayout({"o": bits}))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        given = self.i.payload
        m.submodules.x = x = FloatOperand(self._formats)
        m.submodules.y = y = FloatOperand(self._formats)
        m.submodules.adder = adder = FloatAccumulate(
            self._formats, stages=self._stages, own=self._own
        )
        layout = adder.header.shape()
        m.submodules.headers = headers = ProductOfHeaders(layout["exponent"].width - 1)
        for operand, word, header in ((x, given.x, headers.x), (y, given.y, headers.y)):
            m.d.comb += [operand.word.eq(word), operand.format.eq(given.format)]
            missing = len(header.exponent) - len(operand.header.exponent)
            top = operand.header.exponent[-1]
            # Operands narrower than their sums: fp16 alone.
            wider = Cat(operand.header.exponent[:-1], (~top).replicate(missing), top)
            for name, _ in header.shape():
                m.d.comb += header[name].eq(wider if name == "exponent" else operand.header[name])
        m.d.comb += [
            adder.product.eq(x.significand * y.significand),
            adder.header.eq(headers.o),
            adder.sum.eq(given.sum),
            self.i.ready.eq(1),
        ]
        if "narrow" in adder.signature.members:
            names = [fmt.name for fmt in self._formats]
            for name, _ in adder.narrow.shape():
                if name == "fp32":
                    here = ~given.own | (given.format == names.index(name) if name in names else 0)
                    if "fp64" in names:
                        here = here & (given.format != names.index("fp64"))
                else:
                    here = given.own & (given.format == names.index(name))
                m.d.comb += adder.narrow[name].eq(here)
        valid = Signal(self._stages)
        result = Signal.like(adder.o)
        m.d.sync += [valid.eq(Cat(self.i.valid, valid)[: self._stages]), result.eq(adder.o)]
        m.d.comb += [self.o.valid.eq(valid[-1]), self.o.payload.o.eq(result)]
        return m


Patterns = npt.NDArray[np.uint64]

ALL = "bf16 fp16 fp32 fp64"
BUILDS = [
    *(f"{formats} {stages}" for formats in (ALL, "bf16 fp16 fp32") for stages in range(1, 6)),
    *("bf16 2", "fp16 2", "fp32 2", "fp64 2", "bf16 fp64 2", "fp16 bf16 4"),
]
OWN = [
    *(f"{ALL} {stages} own" for stages in range(1, 6)),
    *("bf16 2 own", "fp16 2 own", "bf16 fp64 1 own", "fp16 fp32 4 own"),
]


@cache
def unit(names: tuple[str, ...], stages: int, own: bool) -> NativeSimulation:
    component = AccumulateUnit([FLOAT_FORMATS[name] for name in names], stages, own=own)
    return NativeSimulation(emit_component(component, name="accumulate"))


def sums(x: Patterns, y: Patterns, fmt: FloatFormat, result: FloatFormat, seed: int) -> Patterns:
    """Running sums: near minus the product, which leave little of it; far below and above;
    special values; zeros."""
    rng = np.random.default_rng(seed)
    zeros = np.zeros_like(x)
    product = accumulated(x, y, zeros, fmt, result) ^ np.uint64(1 << (result.bits - 1))
    near = product ^ rng.integers(0, 4, x.shape, dtype=np.uint64)
    around = stimuli.near_values(rng, product, result, 2 * result.significand_bits + 6)
    special = stimuli.values(rng, "special", x.shape, result)
    zero = rng.integers(0, 2, x.shape, dtype=np.uint64) << np.uint64(result.bits - 1)
    choice = rng.integers(0, 8, x.shape)
    return np.select([choice < 2, choice < 6, choice < 7], [near, around, special], zero)


def triples(x: Patterns, y: Patterns, c: Patterns) -> tuple[Patterns, Patterns, Patterns]:
    """Combines each value with each of the others."""
    a, b, d = np.meshgrid(x, y, c, indexing="ij")
    return a.ravel(), b.ravel(), d.ravel()


def kinds(names: tuple[str, ...], own: bool) -> list[tuple[str, str]]:
    """Formats of operands, and of their sums."""
    found = [(name, "fp64" if name == "fp64" else "fp32") for name in names]
    return found + [(name, name) for name in names if own and name in ("bf16", "fp16")]


@pytest.mark.parametrize(
    "build", slow_but(["bf16 2 own"], BUILDS + OWN, [f"{ALL} 4 own", f"{ALL} 5 own"])
)
def test_sums_are_rounded_once(build: str) -> None:
    """All combinations of classes of values, and random ones, formats mixed from sum to sum."""
    own = build.endswith(" own")
    *listed, stages = build.removesuffix(" own").split()
    names = tuple(listed)
    columns: list[tuple[Patterns, ...]] = []
    wanted: list[Patterns] = []
    pairs = kinds(names, own)
    for number, (name, sum_name) in enumerate(pairs):
        fmt, result = FLOAT_FORMATS[name], FLOAT_FORMATS[sum_name]
        a, b = operand_pairs(fmt, cases(200_000) // len(pairs), seed=301 + number)
        x, y, c = triples(representatives(fmt), representatives(fmt), representatives(result))
        triple = (
            np.concatenate([a, x]),
            np.concatenate([b, y]),
            np.concatenate([sums(a, b, fmt, result, 320 + number), c]),
        )
        wanted.append(accumulated(*triple, fmt, result))
        beside = (names.index(name), int(name == sum_name), result.bits)
        columns.append((*triple, *(np.full(len(triple[0]), n, np.uint64) for n in beside)))
        if name == "bf16":
            some = np.arange(0, len(triple[0]), 5)
            for n in some.tolist():
                first, second, total = (int(part[n]) for part in triple)
                exact = exactly(first, second, total, fmt, result)
                assert exact in (None, int(wanted[-1][n]))
    order = np.random.default_rng(330).permutation(sum(len(column[0]) for column in columns))
    x, y, c, number_of, owned, bits = (
        np.concatenate(parts)[order] for parts in zip(*columns, strict=True)
    )
    simulation = unit(names, int(stages), own)
    simulation.reset()
    words = pack(
        {"x": x, "y": y, "sum": c, "format": number_of, "own": owned}, simulation.stream("i")
    )
    run = simulation.run(words)
    got = unpack(run.payloads, simulation.stream("o"))["o"].astype(np.uint64)
    mask = np.uint64(2**64 - 1) >> (np.uint64(64) - bits)
    agree(f"accumulate ({build})", got & mask, np.concatenate(wanted)[order], x, y, c, number_of)
    assert (run.output_cycles - run.input_cycles == int(stages)).all()


def test_refusals() -> None:
    fp32 = FLOAT_FORMATS["fp32"]
    assert refusal(lambda: FloatAccumulate([fp32], stages=0)) == "`stages` must be in 1..5, not 0"
    nothing = "`formats` must name at least one format, not none"
    assert refusal(lambda: FloatAccumulate([])) == nothing
    assert refusal(lambda: FloatOperand([])) == nothing
