"""The fused adder against SoftFloat, and bf16 against exact fractions as well."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.gta.float.float_accumulate import FloatAccumulate
from tilewright.hw.gta.float.float_operand import FloatOperand
from tilewright.hw.spec.formats import FLOAT_FORMATS, FloatFormat
from tilewright.sim.rtl.streams import NativeSimulation, pack, unpack
from tilewright.verif.arith.agreement import agree
from tilewright.verif.gta.float.accumulate_unit import AccumulateUnit
from tilewright.verif.gta.float.exact_sums import accumulated, exactly
from tilewright.verif.kit.refusal import refusal
from tilewright.verif.kit.sampling import cases, operand_pairs, slow_but
from tilewright.verif.oracles import stimuli

Patterns = npt.NDArray[np.uint64]

ALL = "bf16 fp16 fp32 fp64"
BUILDS = [
    *(f"{formats} {stages}" for formats in (ALL, "bf16 fp16 fp32") for stages in (1, 2, 3)),
    *("bf16 2", "fp16 2", "fp32 2", "fp64 2", "bf16 fp64 2", "fp16 bf16 3"),
]


@cache
def unit(build: str) -> NativeSimulation:
    *formats, stages = build.split()
    component = AccumulateUnit([FLOAT_FORMATS[name] for name in formats], int(stages))
    return NativeSimulation(emit_component(component, name="accumulate"))


def sums(x: Patterns, y: Patterns, fmt: FloatFormat, seed: int) -> Patterns:
    """Running sums: near minus the product, which leave little of it; far below and above;
    special values; zeros."""
    result = FLOAT_FORMATS["fp64" if fmt.name == "fp64" else "fp32"]
    rng = np.random.default_rng(seed)
    product = accumulated(x, y, np.zeros_like(x), fmt) ^ np.uint64(1 << (result.bits - 1))
    near = product ^ rng.integers(0, 4, x.shape, dtype=np.uint64)
    around = stimuli.near_values(rng, product, result, 2 * result.significand_bits + 6)
    special = stimuli.values(rng, "special", x.shape, result)
    zero = rng.integers(0, 2, x.shape, dtype=np.uint64) << np.uint64(result.bits - 1)
    choice = rng.integers(0, 8, x.shape)
    return np.select([choice < 2, choice < 6, choice < 7], [near, around, special], zero)


def representatives(fmt: FloatFormat) -> Patterns:
    """One of each class of values and at the ends of each, of both signs."""
    one = fmt.bias << fmt.fraction_bits
    subnormal = [1, fmt.fraction_mask]
    normal = [fmt.fraction_mask + 1, one, one + 1, fmt.largest]
    found = np.array([0, *subnormal, *normal, fmt.infinity, fmt.infinity + 1, fmt.nan], np.uint64)
    return np.concatenate([found, found | np.uint64(1 << (fmt.bits - 1))])


def triples(x: Patterns, y: Patterns, c: Patterns) -> tuple[Patterns, Patterns, Patterns]:
    """Each with each."""
    a, b, d = np.meshgrid(x, y, c, indexing="ij")
    return a.ravel(), b.ravel(), d.ravel()


@pytest.mark.parametrize("build", slow_but(["bf16 2"], BUILDS, [f"{ALL} 2"]))
def test_sums_are_rounded_once(build: str) -> None:
    """All combinations of classes of values, and random ones, formats mixed from sum to sum."""
    *names, stages = build.split()
    columns: list[tuple[Patterns, ...]] = []
    wanted: list[Patterns] = []
    for number, name in enumerate(names):
        fmt = FLOAT_FORMATS[name]
        a, b = operand_pairs(fmt, cases(200_000) // len(names), seed=301 + number)
        result = FLOAT_FORMATS["fp64" if name == "fp64" else "fp32"]
        x, y, c = triples(representatives(fmt), representatives(fmt), representatives(result))
        triple = (
            np.concatenate([a, x]),
            np.concatenate([b, y]),
            np.concatenate([sums(a, b, fmt, 320 + number), c]),
        )
        columns.append((*triple, np.full(len(triple[0]), number, np.uint64)))
        wanted.append(accumulated(*triple, fmt))
        if name == "bf16":
            some = np.arange(0, len(triple[0]), 5)
            for n in some.tolist():
                exact = exactly(int(triple[0][n]), int(triple[1][n]), int(triple[2][n]), fmt)
                assert exact in (None, int(wanted[-1][n]))
    order = np.random.default_rng(330).permutation(sum(len(column[0]) for column in columns))
    x, y, c, number_of = (np.concatenate(parts)[order] for parts in zip(*columns, strict=True))
    simulation = unit(build)
    simulation.reset()
    words = pack({"x": x, "y": y, "sum": c, "format": number_of}, simulation.stream("i"))
    run = simulation.run(words)
    got = unpack(run.payloads, simulation.stream("o"))["o"].astype(np.uint64)
    low = np.array([FLOAT_FORMATS["fp64" if n == "fp64" else "fp32"].bits for n in names])
    bits = low.astype(np.uint64)[number_of.astype(np.int64)]
    mask = np.where(bits == 64, np.uint64(2**64 - 1), np.uint64(2**32 - 1))
    agree(f"accumulate ({build})", got & mask, np.concatenate(wanted)[order], x, y, c, number_of)
    assert (run.output_cycles - run.input_cycles == int(stages)).all()


def test_refusals() -> None:
    fp32 = FLOAT_FORMATS["fp32"]
    assert refusal(lambda: FloatAccumulate([fp32], stages=0)) == "`stages` must be in 1..3, not 0"
    nothing = "`formats` must name at least one format, not none"
    assert refusal(lambda: FloatAccumulate([])) == nothing
    assert refusal(lambda: FloatOperand([])) == nothing
