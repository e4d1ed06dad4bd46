"""The (x) and (+) ALUs of the semiring unit, each alone, against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.arith.semiring.otimes import Otimes
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.formats import FLOAT_FORMATS, FloatFormat
from tilewright.hw.spec.semirings import SEMIRINGS, Semiring
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, pack, unpack
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import cases, operand_pairs, slow_but
from tilewright.verif.matrix_units.simd2.semiring_alus import OplusUnit, OtimesUnit
from tilewright.verif.oracles import stimuli
from tilewright.verif.oracles.softfloat import Value, decode, order_key, round_exact

ROWS = tuple(SEMIRINGS.values())
FP32 = FLOAT_FORMATS["fp32"]
TERMS, WINDOW = 3, 56

Words = npt.NDArray[np.uint64]


def real(value: Value) -> Fraction:
    return Fraction(value.integer) * Fraction(2) ** value.exponent


@cache
def otimes(name: str) -> NativeSimulation:
    component = OtimesUnit(FLOAT_FORMATS[name], FP32, ROWS)
    return NativeSimulation(emit_component(component, name=f"otimes_{name}"))


def terms_of(name: str, row: Semiring, a: Words, b: Words) -> dict[str, npt.NDArray[np.int64]]:
    unit = otimes(name)
    given = {"a": a, "b": b, "index": np.full(a.shape, ROWS.index(row), np.uint64)}
    pauses = Pauses(seed=5, gap=0.1, stall=0.1)
    got = unpack(unit.run(pack(given, unit.stream("i")), pauses=pauses).payloads, unit.stream("o"))
    fields = {field: values.astype(np.int64) for field, values in got.items()}
    bits = next(f["width"] for f in unit.stream("o")["fields"] if f["name"] == "exponent")
    fields["exponent"] -= (fields["exponent"] >> (bits - 1) & 1) << bits
    return fields


def nan_of(row: Semiring, x: Value, y: Value) -> bool:
    kinds = {x.kind, y.kind}
    if row.times == "and":
        return False
    if row.times == "mul" and "infinite" in kinds and "nan" not in kinds:
        return 0 in (z.integer for z in (x, y) if z.kind == "finite")
    if row.times in ("add", "square_difference") and kinds == {"infinite"}:
        return (x.negative != y.negative) ^ (row.times == "square_difference")
    return "nan" in kinds


def exact(row: Semiring, x: Value, y: Value, fmt: FloatFormat) -> Fraction:
    """Applies (x) to two finite values; a difference is rounded to the format's precision."""
    p, q = real(x), real(y)
    if row.times == "mul":
        return p * q
    if row.times == "square_difference":
        return _rounded(p - q, fmt.significand_bits) ** 2
    return {"add": p + q, "min": min(p, q), "max": max(p, q)}[row.times]


def _rounded(value: Fraction, bits: int) -> Fraction:
    if not value:
        return value
    exponent = 0
    while abs(value) >= 2**bits:
        value, exponent = value / 2, exponent + 1
    while abs(value) < 2 ** (bits - 1):
        value, exponent = value * 2, exponent - 1
    return round(value) * Fraction(2) ** exponent


def _pattern(value: Fraction, negative_zero: bool) -> int:
    """The fp32 pattern nearest to a dyadic fraction."""
    return round_exact(
        value.numerator, 1 - value.denominator.bit_length(), FP32, negative_zero=negative_zero
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize(
    "name", slow_but(["fp16"], ["fp8e4m3", "fp8e5m2", "fp16", "bf16"], ["fp8e4m3"])
)
def test_otimes_makes_the_exact_term(name: str, row: Semiring) -> None:
    """Special pairs and random ones: value, class, and a leading one where terms are chosen."""
    fmt = FLOAT_FORMATS[name]
    a, b = operand_pairs(fmt, cases(20_000), seed=31)
    got = terms_of(name, row, a, b)
    width = next(f["width"] for f in otimes(name).stream("o")["fields"]
                 if f["name"] == "significand")  # fmt: skip
    values = [decode(pattern, fmt) for pattern in range(1 << fmt.bits)]
    for i, (x, y) in enumerate((values[p], values[q]) for p, q in zip(a, b, strict=True)):
        term: dict[str, Any] = {field: int(column[i]) for field, column in got.items()}
        context = f"{row.name}({int(a[i]):#x}, {int(b[i]):#x}) gives {term}"
        assert bool(term["nan"]) == nan_of(row, x, y), context
        if row.times == "and":
            nonzero = all(z.kind != "finite" or z.integer for z in (x, y))
            assert bool(term["zero"]) == (not nonzero), context
            continue
        if term["nan"] or "infinite" in (x.kind, y.kind):
            continue
        value, significand = exact(row, x, y, fmt), term["significand"]
        assert bool(term["zero"]) == (value == 0), context
        if not value:
            assert significand == 0, context
            continue
        chosen = row.plus != "add"
        place = term["exponent"] - width + (1 + term["raised"] if chosen else 2)
        assert not chosen or significand >> (width - 1), context
        found = significand * Fraction(2) ** place * (-1 if term["sign"] else 1)
        if row.times == "add":
            assert _pattern(found, False) == _pattern(value, False), context
        else:
            assert found == value, context


@pytest.mark.parametrize("row", [r for r in ROWS if r.plus in ("min", "max")], ids=lambda r: r.name)
def test_otimes_marks_infinities(row: Semiring) -> None:
    """An infinite term is infinite with the right sign, for every pair that makes one."""
    fmt = FLOAT_FORMATS["fp16"]
    a, b = operand_pairs(fmt, 2_000, seed=32)
    values = [(decode(int(p), fmt), decode(int(q), fmt)) for p, q in zip(a, b, strict=True)]
    reals = np.array([[_real(z) for z in pair] for pair in values])
    with np.errstate(invalid="ignore"):
        expected = {
            "add": reals.sum(axis=1),
            "mul": reals.prod(axis=1),
            "min": np.minimum(*reals.T),
            "max": np.maximum(*reals.T),
        }[row.times]
    got = terms_of("fp16", row, a, b)
    infinite = np.isinf(expected)
    assert infinite.any()
    assert np.array_equal(got["infinite"][~np.isnan(expected)], infinite[~np.isnan(expected)])
    assert np.array_equal(got["sign"][infinite] == 1, expected[infinite] < 0)


def _real(value: Value) -> float:
    if value.kind == "finite":
        return float(real(value))
    size = float("nan") if value.kind == "nan" else float("inf")
    return -size if value.negative else size


def test_a_squared_difference_needs_the_register() -> None:
    said = refusal(lambda: Otimes(FLOAT_FORMATS["fp16"], FP32, ROWS))
    assert said == "`cuts` must have prepared for squared differences, not ()"


@cache
def oplus(pipeline: int) -> tuple[NativeSimulation, Any]:
    fp16 = FLOAT_FORMATS["fp16"]
    component = OplusUnit(fp16, FP32, ROWS, terms=TERMS, alignment_bits=WINDOW, pipeline=pipeline)
    return NativeSimulation(emit_component(component, name="oplus")), component.term


def _random_terms(
    rng: np.random.Generator, row: Semiring, count: int
) -> tuple[list[list[dict[str, int]]], list[list[Fraction]]]:
    """Terms as (x) gives them, and what they stand for; zeros of both signs among them."""
    terms, values = [], []
    for _ in range(count):
        line, reals = [], []
        base = int(rng.integers(-40, 20))
        for _ in range(TERMS):
            sign, zero = int(rng.integers(2)), bool(rng.random() < 0.15)
            bits = 26 if row.times == "add" else 22
            leading = row.plus != "add" or rng.random() < 0.5
            significand = int(rng.integers(1 << (bits - 1 - (not leading)), 1 << bits))
            significand = 0 if zero else significand << (26 - bits)
            exponent = base + int(rng.integers(-3, 4))
            raised = int(rng.integers(2)) if row.plus != "add" else 0
            line.append({"significand": significand, "exponent": exponent, "raised": raised,
                         "sign": sign, "zero": int(zero), "infinite": 0, "nan": 0})  # fmt: skip
            place = exponent - 26 + (1 + raised if row.plus != "add" else 2)
            size = significand * Fraction(2) ** place
            reals.append(-size if sign else size)
        terms.append(line)
        values.append(reals)
    return terms, values


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("pipeline", slow_but([4], [1, 2, 4, 6], [1]))
def test_oplus_joins_and_rounds_once(pipeline: int, row: Semiring) -> None:
    """Terms and c close to each other, so that most sums fit the window: exact, then rounded."""
    unit, layout = oplus(pipeline)
    rng = np.random.default_rng(33)
    count = cases(6_000)
    terms, values = _random_terms(rng, row, count)
    c = stimuli.values(rng, "moderate", (count,), FP32)
    c[::7] &= np.uint64(1 << 31)
    given: dict[str, Any] = {"c": c, "index": np.full(count, ROWS.index(row), np.uint64)}
    for k in range(TERMS):
        packed = [layout.const(line[k]).as_bits() for line in terms]
        given[f"term_{k}"] = np.array(packed, np.uint64)
    pauses = Pauses(seed=34, gap=0.1, stall=0.1)
    payloads = unit.run(pack(given, unit.stream("i")), pauses=pauses).payloads
    got = unpack(payloads, unit.stream("o"))["d"].astype(np.uint64)
    for i in range(count):
        expected = _joined(row, terms[i], values[i], int(c[i]))
        assert int(got[i]) in expected, f"{row.name} {terms[i]} c={int(c[i]):#x}: {int(got[i]):#x}"


def _joined(
    row: Semiring, terms: list[dict[str, int]], values: list[Fraction], c: int
) -> tuple[int, ...]:
    """The admissible results: one, or two where a sum leaves the window."""
    addend = decode(c, FP32)
    if row.plus == "or":
        return (FP32.one if addend.integer or any(values) else 0,)
    if row.plus == "add":
        total = sum(values) + real(addend)
        negative = all(t["zero"] and t["sign"] for t in terms) and c == 1 << 31
        exponents = [t["exponent"] for t in terms if not t["zero"]]
        if addend.integer:
            exponents.append(addend.integer.bit_length() - 1 + addend.exponent)
        slack = (TERMS + 1) * Fraction(2) ** (max(exponents, default=0) - WINDOW)
        fits = all((v * Fraction(2) ** (WINDOW - max(exponents, default=0))).denominator == 1
                   for v in [*values, real(addend)])  # fmt: skip
        low, high = (total, total) if fits else (total - slack, total + slack)
        return tuple({_pattern(low, negative), _pattern(total, negative), _pattern(high, negative)})
    signs = [t["sign"] for t in terms]
    patterns = [_pattern(v, bool(s)) for v, s in zip(values, signs, strict=True)]
    best = min if row.plus == "min" else max
    return (best([*patterns, c], key=lambda pattern: order_key(pattern, FP32)),)
