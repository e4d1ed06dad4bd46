"""Functions of words: their meaning and their hardware."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from amaranth.sim import Simulator
from tilewright.hw.spec.formats import FORMATS, FloatFormat, Format
from tilewright.hw.spec.t2s.arithmetic import FUNCTIONS, WordFunctions, function_of, pad_pattern
from tilewright.hw.t2s.loader import WordFunction
from tilewright.sim.numbers.scalars import through
from tilewright.verif.oracles import stimuli

_NUMPY: dict[str, Any] = {
    "absolute": np.abs,
    "negate": np.negative,
    "relu": lambda words: np.maximum(words, words.dtype.type(0)),
}
_TYPES: dict[str, Any] = {
    "fp16": np.float16,
    "fp32": np.float32,
    "fp64": np.float64,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
}
_SMALL = 16
"""Widths up to this one are tried with all patterns."""


def _patterns(fmt: Format) -> npt.NDArray[np.uint64]:
    if fmt.bits <= _SMALL:
        return np.arange(1 << fmt.bits, dtype=np.uint64)
    rng = np.random.default_rng(1)
    found = rng.integers(0, 1 << fmt.bits, 2000, np.uint64)
    if isinstance(fmt, FloatFormat):
        return np.concatenate([found, stimuli.values(rng, "special", (500,), fmt)])
    ends = [(1 << (fmt.bits - 1)) + n for n in range(-2, 2)]
    return np.concatenate([found, np.array([0, 1, *ends], np.uint64)])


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("fmt", _TYPES)
def test_they_are_numpys(fmt: str, name: str) -> None:
    """The exceptions are NaN, which is the canonical one, and relu of -0, which NumPy does not
    define."""
    row = FORMATS[fmt]
    words = _patterns(row)
    numbers = words.astype(f"u{row.bits // 8}").view(_TYPES[fmt])
    wanted = _NUMPY[name](numbers)
    if isinstance(row, FloatFormat):
        wanted = np.where(np.isnan(numbers), _TYPES[fmt](np.nan), wanted)
        if name == "relu":
            wanted = wanted + _TYPES[fmt](0)
        assert np.array_equal(np.isnan(wanted), np.isnan(numbers))
    found = through((name,), words, row)
    assert found.tolist() == wanted.view(f"u{row.bits // 8}").tolist()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("fmt", FORMATS)
def test_many_words_at_once(fmt: str, name: str) -> None:
    row = FORMATS[fmt]
    words = _patterns(row)[:: 1 if row.bits < _SMALL else 7]
    one_by_one = [function_of(name, int(word), row) for word in words]
    assert through((name,), words, row).tolist() == one_by_one


def _hardware(functions: WordFunctions, words: list[int]) -> list[int]:
    unit = WordFunction(functions)
    found = []

    async def bench(ctx: Any) -> None:
        for word in words:
            ctx.set(unit.i, word)
            await ctx.delay(1e-9)
            found.append(ctx.get(unit.o))

    simulator = Simulator(unit)
    simulator.add_testbench(bench)
    simulator.run()
    return found


@pytest.mark.parametrize("fmt", ["fp8e4m3", "fp8e5m2", "int8", "tf32", "fp32", "int32"])
def test_hardware(fmt: str) -> None:
    row = FORMATS[fmt]
    words = _patterns(row)[-600:]
    chains = [(name,) for name in FUNCTIONS]
    for names in (*chains, ("negate", "relu"), ("relu", "negate", "absolute", "negate")):
        found = _hardware(WordFunctions(names, row), words.tolist())
        assert found == through(names, words, row).tolist(), names


@pytest.mark.parametrize("fmt", ["fp16", "fp8e5m2", "int8", "int32"])
@pytest.mark.parametrize(
    ("names", "pad", "padded"),
    [
        (("negate",), "-inf", "+inf"),
        (("negate",), "+inf", "-inf"),
        (("absolute", "negate"), "+inf", "-inf"),
        (("negate", "relu"), "0", "0"),
        (("relu",), "+inf", "+inf"),
    ],
)
def test_what_pads_is_made_what_a_semiring_pads_with(
    fmt: str, names: tuple[str, ...], pad: str, padded: str
) -> None:
    row = FORMATS[fmt]
    assert WordFunctions(names, row).of(pad_pattern(names, pad, row)) == row.constant(padded)
