"""GTA's array as a backend: words, numbers beside Python's, its line, long integers in Verilog."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.cli import main
from tilewright.sim.tcu import TensorUnit
from tilewright.sim.tcu.hardware.held_words import GTA_KIND
from tilewright.sim.tcu.integers.karatsuba import karatsuba
from tilewright.sim.tcu.integers.schoolbook import schoolbook
from tilewright.sim.tcu.presets import calibrate
from tilewright.sim.tcu.words import (
    BOOLEAN,
    COMPLEX64,
    FP32,
    FP64,
    INT64,
    MINPLUS,
    WordOverflow,
    Words,
    integer,
    modular,
)
from tilewright.verif.tcu.backends.simulated import gta, simulated

ELEMENTS: dict[Words, tuple[str, str]] = {
    integer(5): ("int8", "int32"),
    integer(8): ("int8", "int32"),
    integer(9): ("int16", "int32"),
    integer(32): ("int32", "int64"),
    INT64: ("int64", "int64"),
    FP32: ("fp32", "fp32"),
    FP64: ("fp64", "fp64"),
    modular(97): ("int8", "int32"),
    modular(2**15): ("int32", "int64"),
    modular(2**30): ("int32", "int64"),
}
"""Formats for blocks of 4 x 4. Four products of residues below 2^15 are below 2^32, which a signed
sum of 32 bits cannot hold."""


MODEL = gta(4)


def test_what_it_holds() -> None:
    for words, formats in ELEMENTS.items():
        held = GTA_KIND.holds(words, 4)
        assert held is not None, words
        assert (held.element, held.result) == formats
    for other in (COMPLEX64, BOOLEAN, MINPLUS, modular(2**31)):
        assert not gta(4).holds(other)


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_integers_fit_or_are_refused(data: Any) -> None:
    size = data.draw(st.sampled_from((8, 20, 30, 31, 40, 64)))
    one = st.integers(-(2 ** (size - 1)), 2 ** (size - 1) - 1)
    a, b, c = (np.array(data.draw(st.lists(one, min_size=16, max_size=16))).reshape(4, 4)
               for _ in range(3))  # fmt: skip
    exact = a.astype(object) @ b.astype(object) + c
    if all(-(2**63) <= x < 2**63 for x in exact.flat):
        assert MODEL.multiply_add(a, b, c, INT64).tolist() == exact.tolist()
    else:
        with pytest.raises(WordOverflow, match=r"^sums of backend gta must be integers of at most"):
            MODEL.multiply_add(a, b, c, INT64)


@pytest.mark.parametrize("bits", [8, 9, 16, 17, 32, 64])
def test_ends_of_words(bits: int) -> None:
    words, one = integer(bits), np.eye(4, dtype=int)
    for end in (2 ** (bits - 1) - 1, -(2 ** (bits - 1))):
        np.testing.assert_array_equal(MODEL.multiply(one * end, one, words), one * end)
    message = f"^words must have {bits + 1} bits to hold the result, not {bits}$"
    if bits == 64:
        message = "^sums of backend gta must be integers of at most 64 bits, not of 65$"
    with pytest.raises(WordOverflow, match=message):
        MODEL.multiply(one * -(2 ** (bits - 1)), -one, words)
    # A sum that does not fit the array either is told in the words' own bits.
    with pytest.raises(WordOverflow, match=f", not {'of 130' if bits == 64 else bits}$"):
        MODEL.multiply(np.full((4, 4), end), np.full((4, 4), end), words)


@pytest.mark.parametrize("words", [FP32, FP64], ids=lambda words: words.name)
def test_sums_of_floats_are_chains(words: Words) -> None:
    """Each product and sum is rounded once, in order: here by fractions."""
    rng = np.random.default_rng(4)
    a, b, c = (words.array(rng.standard_normal((n, 4))) for n in (7, 4, 7))
    found = MODEL.multiply_add(a, b, c, words)
    for i, j in np.ndindex(found.shape):
        total = c[i, j]
        for k in range(4):
            exact = Fraction(float(a[i, k])) * Fraction(float(b[k, j])) + Fraction(float(total))
            total = _rounded(exact, words)
        assert found[i, j] == total


def _rounded(exact: Fraction, words: Words) -> Any:
    """Returns the float nearest to the exact number, among those around the float quotient."""
    near = words.array(np.array([float(exact)]))[0]
    around = [near, *(np.nextafter(near, words.dtype.type(end)) for end in (-np.inf, np.inf))]
    return min(around, key=lambda x: abs(Fraction(float(x)) - exact))


@pytest.mark.parametrize(
    ("words", "side", "lanes", "least"),
    [(INT64, 4, 1, 0.9999), (INT64, 8, 1, 0.9999), (INT64, 16, 4, 0.9999), (FP64, 16, 4, 0.9999),
     (FP32, 16, 4, 0.9999), (integer(8), 16, 4, 0.9999), (integer(32), 16, 4, 0.9999),
     (integer(16), 16, 4, 0.9997), (FP32, 8, 4, 0.995)],
)  # fmt: skip
def test_its_line(words: Words, side: int, lanes: int, least: float) -> None:
    """The bar is 0.9999, but where tiles of long calls are larger."""
    backend = gta(side, f"lanes={lanes}")
    found = calibrate("gta", side, lambda rows: backend.call_cycles(rows, words))
    assert least < found.r_squared < 1
    held = backend.kind.holds(words, side)
    assert held is not None
    if words is INT64:
        # 64 products of limbs are a cycle of 64 elements.
        assert found.word_cycles == pytest.approx(side / lanes, rel=0.01 if side > 4 else 1.01)
    if least < 0.9999:
        tiles = backend.why_off_line(1024, words).removeprefix("its tiles of D are ")
        short, long = tiles.split(", those of 4,096 rows ")
        assert int(short.split(" x ")[0]) < int(long.split(" x ")[0])


def test_calls_of_one_length_are_counted_once() -> None:
    backend = gta(4, "lanes=1")
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-9, 9, (n, 4)) for n in (13, 4))
    for times in (1, 2, 3):
        np.testing.assert_array_equal(backend.multiply(a, b, INT64), a @ b)
        assert backend.tally.cycles == times * backend.call_cycles(13, INT64)
    assert backend.tally.operations > 0
    assert backend.tally.bytes_written == 3 * 13 * 4 * 8


def test_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    i = np.random.default_rng(1).integers(-9, 9, (21, 21))
    np.save("i.npy", i)
    words = "run strassen i.npy i.npy --words int64 --m 64 --backend gta --set lanes=1 -o d.npy"
    assert main([*words.split(), "--json", "report.json"]) == 0
    report = json.loads(Path("report.json").read_text())
    np.testing.assert_array_equal(np.load("d.npy"), i @ i)
    assert report["calls"] == 49
    told = report["hardware"]
    assert report["measured_cycles"] == told["cycles"] == 49 * 692
    assert abs(report["predicted_cycles"] / told["cycles"] - 1) < 0.12
    assert report["calibration"]["r_squared"] > 0.9999
    assert f"{told['bytes_read']:,} bytes read" in capsys.readouterr().out

    assert main(["tcu", "calibrate", "gta", "--m", "64"]) == 0
    said = " ".join(capsys.readouterr().out.replace("│", "").split())
    assert "R2 is below 0.9999: a call of 1,024 rows takes 4,127 cycles, by the line 3,534" in said
    assert "its tiles of D are 128 x 8, those of 4,096 rows 256 x 8" in said


@pytest.mark.parametrize(
    "bits", [3000, pytest.param(1 << 16, marks=pytest.mark.long)], ids=lambda bits: f"{bits} bits"
)
@pytest.mark.long
def test_long_integers_in_verilog(bits: int) -> None:
    backend = gta(16, rtl=True) if bits > 3000 else simulated("gta")
    draw = random.Random(bits)
    x, y = (draw.getrandbits(bits) | 1 << bits - 1 for _ in range(2))
    ones = (1 << bits) - 1
    unit = TensorUnit(backend, INT64)
    assert karatsuba(unit, x, y) == x * y
    assert schoolbook(unit, ones, y) == ones * y
    assert backend.tally.mismatches == 0
    assert backend.tally.checked > unit.cost.rows * unit.s


def test_the_longest_integers_by_the_model() -> None:
    draw = random.Random(9)
    x, y = (draw.getrandbits(1 << 18) | 1 << (1 << 18) - 1 for _ in range(2))
    unit = TensorUnit(gta(16), INT64)
    assert karatsuba(unit, x, y) == x * y


@pytest.mark.long
@pytest.mark.parametrize("words", [pytest.param(INT64), pytest.param(FP32, marks=pytest.mark.long)],
                         ids=["int64", "fp32"])  # fmt: skip
def test_its_line_in_verilog(words: Words) -> None:
    """The bar of 0.9999, on calls of s to 4096 rows, all counters those of the cycle model."""
    backend = simulated("gta")

    def measured(rows: int) -> int:
        before = backend.tally.cycles
        backend.multiply(
            words.array(np.ones((rows, 4), int)), words.array(np.eye(4, dtype=int)), words
        )
        return backend.tally.cycles - before

    found = calibrate("gta", 4, measured)
    assert found.r_squared > 0.9999
    assert backend.tally.mismatches == 0
