"""Words in limbs of 8 bits: results, counts, refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.cli import main
from tilewright.sim.tcu import Cost, NumpyBackend, TensorUnit
from tilewright.sim.tcu.dense.recursive import strassen
from tilewright.sim.tcu.dense.tall import rectangular, tall
from tilewright.sim.tcu.elimination.blocked import eliminate
from tilewright.sim.tcu.formulas import dense as costs
from tilewright.sim.tcu.formulas import integers
from tilewright.sim.tcu.graphs.closure import closure
from tilewright.sim.tcu.graphs.distances import distances
from tilewright.sim.tcu.integers.karatsuba import karatsuba
from tilewright.sim.tcu.integers.schoolbook import schoolbook
from tilewright.sim.tcu.polynomials.evaluation import polyval
from tilewright.sim.tcu.sparse.output_sensitive import spmul
from tilewright.sim.tcu.split.narrow_reference import NarrowBackend
from tilewright.sim.tcu.split.split_unit import SplitUnit, split, split_error
from tilewright.sim.tcu.transform.dft import dft
from tilewright.sim.tcu.words import (
    BOOLEAN,
    COMPLEX,
    FP32,
    FP64,
    INT64,
    MINPLUS,
    Array,
    WordOverflow,
    Words,
    integer,
    modular,
)
from tilewright.verif.kit.commands import check_refused
from tilewright.verif.kit.pages import page

PRIME = 998244353
LIMBS: dict[Words, int] = {
    integer(8): 1, integer(9): 2, integer(16): 2, integer(24): 3, integer(32): 4, INT64: 8,
    modular(251): 1, modular(257): 2, modular(PRIME): 4, modular(2**61 - 1): 8, FP32: 3, FP64: 7,
}  # fmt: skip


def narrow(s: int, words: Words, weak: bool = False, **more: int) -> SplitUnit:
    return SplitUnit(NarrowBackend(s), words, weak=weak, **more)


def plain(s: int, words: Words, weak: bool = False) -> TensorUnit:
    return TensorUnit(NumpyBackend(s), words, weak=weak)


def drawn(words: Words, seed: int, terms: int, *shape: int) -> Array:
    """Draws words of either sign, as large as sums of ``terms`` products allow; modular words are
    any."""
    rng = np.random.default_rng(seed)
    if words.kind == "modular":
        return words.array(rng.integers(0, 2**62, shape))
    most = int((2 ** (words.bits - 1) // terms - 1) ** 0.5)  # type: ignore[attr-defined]
    return words.array(rng.integers(-most, most + 1, shape))


def test_limbs_of_words() -> None:
    assert {words: narrow(4, words).limbs for words in LIMBS} == LIMBS
    assert narrow(4, integer(32), bits=16, sums=40).limbs == 2


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from([words for words in LIMBS if words.exact]), st.booleans(), st.integers(1, 5),
    st.tuples(*[st.integers(1, 12)] * 3), st.integers(0, 999),
)  # fmt: skip
def test_products_are_exact(
    words: Words, weak: bool, s: int, shape: tuple[int, int, int], seed: int
) -> None:
    n, k, p = shape
    a, b = drawn(words, seed, k, n, k), drawn(words, seed + 1, k, k, p)
    unit = narrow(s, words, weak)
    found = rectangular(unit, a, b)
    exact = a.astype(object) @ b.astype(object)
    modulus = getattr(words, "modulus", 0)
    assert found.tolist() == (exact % modulus if modulus else exact).tolist()
    assert unit.cost == split(costs.rectangular(n, k, p, s, weak), s, words, weak)


@pytest.mark.parametrize("words", [words for words in LIMBS if words.kind.startswith("int")])
def test_the_ends_of_words(words: Any) -> None:
    """One product, of either sign; what does not fit is told with its bits."""
    least, most = -(1 << (words.bits - 1)), (1 << (words.bits - 1)) - 1
    for value in (least, least + 1, -1, 0, 1, most - 1, most):
        unit = narrow(1, words)
        a, b = (np.array([[x]], np.int64) for x in (value, 1))
        assert unit.multiply(a, b).tolist() == [[value]]
    with pytest.raises(WordOverflow, match=f"{2 * words.bits} bits to hold .* not {words.bits}$"):
        narrow(1, words).multiply(np.array([[least]]), np.array([[least]]))


@pytest.mark.parametrize("s", [4, 8, 16])
@pytest.mark.parametrize("words", [integer(8), integer(16), integer(32)])
def test_counts(words: Words, s: int) -> None:
    """L calls of L n rows for a call of n rows, on a weak unit L^2 calls."""
    count = LIMBS[words]
    for q in (1, 2, 3, 4, 5, 6, 7, 8):
        n = q * s
        a = np.eye(n, dtype=np.int64)
        unit, weak = narrow(s, words), narrow(s, words, weak=True)
        tall(unit, a, a)
        tall(weak, a, a)
        assert unit.cost.calls == count * q**2
        assert unit.unit_time == count**2 * n**3 // s
        assert (weak.cost.calls, weak.unit_time) == (count**2 * q**3, count**2 * n**3 // s)
        adds = (q - 1) * n * n + (count**2 - 1) * q * n * n
        assert (unit.cost.cpu_adds, unit.cost.fused_calls) == (adds, 0)
        assert unit.cost == split(costs.tall(n, s), s, words)
        assert weak.cost == split(costs.tall(n, s, weak=True), s, words, weak=True)


def graph(n: int) -> Array:
    found = np.random.default_rng(n).random((n, n)) < 2 / n
    return np.asarray((found | found.T) & ~np.eye(n, dtype=bool)).astype(int)


def square(n: int) -> Array:
    return np.random.default_rng(n).integers(0, 100, (n, n))


ALGORITHMS: dict[str, tuple[Words, Callable[[TensorUnit], Any]]] = {
    "strassen": (integer(32), lambda unit: strassen(unit, square(13), square(13))),
    "eliminate": (modular(PRIME), lambda unit: eliminate(unit, square(13))),
    "closure": (integer(16), lambda unit: closure(unit, graph(13))),
    "distances": (integer(16), lambda unit: distances(unit, graph(13))),
    "ntt": (modular(PRIME), lambda unit: dft(unit, np.arange(64))),
    "dft of residues": (integer(32), lambda unit: dft(unit, np.arange(64), 12289)),
    "dft": (FP32, lambda unit: dft(unit, np.cos(np.arange(64)))),
    "karatsuba": (INT64, lambda unit: karatsuba(unit, 3**900, 7**500)),
    "polyval": (modular(PRIME), lambda unit: polyval(unit, np.arange(50), np.arange(9))),
}  # fmt: skip


@pytest.mark.parametrize("weak", [False, True])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_runs_on_limbs(name: str, weak: bool) -> None:
    """Results are those of a unit of wide words, and the cost follows from that unit's cost."""
    words, run = ALGORITHMS[name]
    unit, wide = narrow(4, words, weak), plain(4, words, weak)
    found, expected = run(unit), run(wide)
    if words.exact:
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, atol=1e-4)
    assert unit.cost == split(wide.cost, 4, words, weak)
    assert unit.cost.calls > wide.cost.calls > 0


@pytest.mark.parametrize("weak", [False, True])
def test_sparse_floats_count_on_limbs_of_integers(weak: bool) -> None:
    """Calls of both kinds of words, once each, in the limbs of each."""
    few = np.random.default_rng(7).random((2, 16, 16)) < 0.3
    left, right = np.random.default_rng(8).standard_normal((2, 16, 16)) * few
    unit, wide = narrow(4, FP32, weak), plain(4, FP32, weak)
    dense = spmul(unit, left, right).result.to_dense(FP32)
    np.testing.assert_allclose(dense, left @ right, atol=1e-4)
    spmul(wide, left, right)
    assert [one.words for one in unit.units] == [one.words for one in wide.units] == [FP32, INT64]
    for one, whole, limbs in zip(unit.units, wide.units, (3, 8), strict=True):
        assert one.own.calls == limbs ** (1 + weak) * whole.own.calls > 0
        assert one.own.rows == limbs**2 * whole.own.rows
    assert unit.cost.work == unit.units[0].own + unit.units[1].own


@settings(deadline=None, max_examples=30)
@given(
    st.sampled_from((FP32, FP64)), st.integers(1, 6), st.integers(0, 40), st.integers(0, 999)
)  # fmt: skip
def test_floats_are_within_their_bound(words: Words, s: int, spread: int, seed: int) -> None:
    """The reference is a product in fractions; magnitudes differ widely."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, s, s)) * 2.0 ** rng.integers(-spread, spread + 1, (2, s, s))
    a, b = words.array(a), words.array(b)
    found = narrow(s, words).multiply(a, b)
    assert found.dtype == words.dtype
    bound = split_error(a, b, words)  # type: ignore[arg-type]
    for i in range(s):
        for j in range(s):
            terms = (Fraction(float(a[i, k])) * Fraction(float(b[k, j])) for k in range(s))
            assert abs(Fraction(float(found[i, j])) - sum(terms)) <= Fraction(float(bound[i, j]))


def test_small_integers_are_exact_in_floats() -> None:
    a = np.random.default_rng(1).integers(-99, 99, (8, 8))
    assert tall(narrow(4, FP32), a, a).tolist() == (a @ a).tolist()
    assert tall(narrow(4, FP64), a, 0 * a).tolist() == (0 * a).tolist()


def test_fused_calls_are_sums_of_the_cpu() -> None:
    a = np.arange(16).reshape(4, 4)
    unit = narrow(4, integer(16))
    assert unit.multiply_add(a, a, a).tolist() == (a @ a + a).tolist()
    assert unit.cost == split(Cost(1, 4), 4, integer(16)) + Cost(cpu_adds=16)


@pytest.mark.parametrize("bits", [100, 3000])
def test_pieces_of_long_integers_are_limbs(bits: int) -> None:
    """Pieces are limbs of 8 bits, with carries apart, so nothing is split."""
    x = 2**bits - 1
    for algorithm, formula in (
        (schoolbook, integers.schoolbook), (karatsuba, integers.karatsuba),
    ):  # fmt: skip
        unit = TensorUnit(NarrowBackend(4), integer(32))
        assert algorithm(unit, x, x, 8) == x * x
        assert unit.cost == formula(-(-bits // 8), 4, bits=32, piece=8)


def test_what_is_no_limb_is_refused() -> None:
    unit = TensorUnit(NarrowBackend(2), integer(32))
    a = np.array([[255, -128], [0, 1]])
    assert unit.multiply(a, a).tolist() == (a @ a).tolist()
    for value in (256, -129):
        with pytest.raises(ValueError, match=r"^`b` must hold words of 8 bits, not "):
            unit.multiply(a, np.full((2, 2), value))


def test_sums_of_limbs_must_fit() -> None:
    a = np.full((4, 4), 255)
    with pytest.raises(WordOverflow, match=r"^words must have 19 bits to hold the result, not 16$"):
        narrow(4, integer(32), sums=16).multiply(a, a)


@pytest.mark.parametrize("words", [BOOLEAN, MINPLUS, COMPLEX])
def test_other_words_are_refused(words: Words) -> None:
    message = f"words that are split must be integers, residues or real floats, not {words.name}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        narrow(4, words)


def test_floats_must_be_finite() -> None:
    with pytest.raises(ValueError, match=r"^floats that are split must be finite, not nan or inf$"):
        narrow(1, FP32).multiply(np.array([[np.inf]], np.float32), np.ones((1, 1), np.float32))


# ``tilewright table tcu-low-precision``: its figures beside the theorems, refusals.

NAME = "tcu-low-precision"


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    assert main(["table", NAME, "--set", "l=1000", "--json", "table.json"]) == 0
    return json.loads(Path("table.json").read_text())["parts"]


def rows_of(part: Any) -> dict[str, dict[str, float | None]]:
    columns = part["columns"]
    return {row["label"]: dict(zip(columns, row["ours"], strict=True)) for row in part["rows"]}


def test_limbs(parts: Any) -> None:
    rows = rows_of(parts[0])
    n, s, latency, q = 1024, 16, 1000, 64
    for words, count in (("int16", 2), ("int32", 4), ("fp32", 3), ("fp64", 7)):
        row = rows[f"tall, side 1,024, {words}"]
        assert (row["limbs"], row["time of a word"]) == (count, count**2)
        assert row["l beside it"] == pytest.approx(latency / count)
        assert row["calls"] == count * q * q
        wide = n**3 / s + q * q * latency
        narrow = count**2 * n**3 / s + count * q * q * latency
        assert row["millions of words"] == pytest.approx(wide / 1e6)
        assert row["millions of limbs"] == pytest.approx(narrow / 1e6)
        assert row["times"] == pytest.approx(narrow / wide)
        assert 1 < (row["times"] or 0) < count**2
    closure = rows["closure, 1,024 vertices, int8"]
    assert (closure["limbs"], closure["times"], closure["times "]) == (1, 1, 1)
    assert (rows["strassen, side 1,024, int16"]["calls"]) == 2 * 7**6
    long = rows["schoolbook, 1,048,576 bits, pieces of 29 and of 8"]
    assert (long["limbs"], long["calls"]) == (None, 2**20 // 8 // 256)


def test_sparse_operands(parts: Any) -> None:
    for row in rows_of(parts[1]).values():
        assert (row["m"], row["time of a word"], row["l beside it"]) == (512, 0.5, 2000)
        assert 0.5 <= (row["times"] or 0) < 0.53
    half = rows_of(parts[1])["A B, A sparse, 1,024 x 1,024 x 1,024"]
    assert half["millions, 2:4"] == pytest.approx((1024**3 / 32 + 2048 * 1000) / 1e6)
    assert half["millions of places"] == pytest.approx(1024**3 / 32 / 4 / 1e6)


def test_figures_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["table", NAME, "--json", "table.json"]) == 0
    rows = rows_of(json.loads(Path("table.json").read_text())["parts"][0])
    pieces = "1,048,576 bits, pieces of 29 and of 8"
    shown = {
        "tall, side 1,024, int32": "15.82", f"schoolbook, {pieces}": "13.06",
        f"karatsuba, {pieces}": "4.98",
    }  # fmt: skip
    text = page("tcu-algorithms.md").read_text()
    for label, figure in shown.items():
        assert f"{rows[label]['times']:.2f}" == figure
        assert f"{figure} times" in text


BAD_WORDS = {
    "--target ecp5": f"{NAME} is computed by formulas: no --target, not 'ecp5'",
    "--set m=48": "--m must be a square, as 36 and 49 are, not 48",
    "--set m=9": "m must be the square of an even side, for 2:4 sparsity, not 9",
    "--set l=-1": "l must be a number in 0..1000000000000000, not '-1'",
    "--set m=x": "m must be an integer in 4..65536, not 'x'",
    "--set s=4": f"{NAME}: unknown parameter 's'; it has m and l",
}


@pytest.mark.parametrize("words", BAD_WORDS)
def test_bad_words(words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_refused(["table", NAME, *words.split()], BAD_WORDS[words], tmp_path, capsys)
