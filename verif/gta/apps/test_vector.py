"""``tilewright run vector``: its results against arithmetic of the test's own; what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tilewright.apps.gta import vector as compute
from tilewright.sim.gta.driver import GtaDriver
from tilewright.verif.kit.commands import Run

WIDTH = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def wrapped(number: int, bits: int) -> int:
    return (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


INTEGERS: dict[str, Callable[..., int]] = {
    "add": lambda w, a, b: a + b,
    "sub": lambda w, a, b: a - b,
    "mul": lambda w, a, b: a * b,
    "mulh": lambda w, a, b: a * b >> w,
    "fma": lambda w, a, b, c: a * b + c,
    "min": lambda w, a, b: min(a, b),
    "max": lambda w, a, b: max(a, b),
    "sll": lambda w, a, b: a << b % w,
    "srl": lambda w, a, b: a % (1 << w) >> b % w,
    "sra": lambda w, a, b: a >> b % w,
    "eq": lambda w, a, b: int(a == b),
    "ne": lambda w, a, b: int(a != b),
    "lt": lambda w, a, b: int(a < b),
    "le": lambda w, a, b: int(a <= b),
    "select": lambda w, a, b, c: b if a else c,
}
"""Functions on Python's integers, w bits each."""


@pytest.mark.parametrize("mode", WIDTH)
def test_integers(run: Run, mode: str, on_model: list[int]) -> None:
    """Every function, element by element; the reference and the model agree."""
    rng, bits = np.random.default_rng(3), WIDTH[mode]
    ends = [-(1 << bits - 1), (1 << bits - 1) - 1, -1, 0, 1]
    given = [rng.choice(np.array(ends, np.int64), (5, 30)) for _ in range(3)]
    files = [run.save(f"{name}.npy", array) for name, array in zip("abc", given, strict=True)]
    out, where = run.directory / "o.npy", run.directory / "report.json"
    for function, computed in INTEGERS.items():
        count = computed.__code__.co_argcount - 1
        words = ("--mode", mode, "-o", out, "--json", where)
        assert run("vector", function, *files[:count], *words) == 0
        expected = [
            wrapped(computed(bits, *map(int, each)), bits)
            for each in zip(*(array.ravel() for array in given[:count]), strict=True)
        ]
        assert np.load(out).ravel().tolist() == expected, function
        report = run.report()
        assert report["mismatches"] == 0
        assert report["checked"] == 150
        (one,) = report["references"]
        assert (one["criterion"], one["values"], one["wrong"]) == ("exact", 150, 0)


@pytest.mark.parametrize("mode", ["bf16", "fp16", "fp32", "fp64"])
def test_floats(run: Run, mode: str, on_model: list[int]) -> None:
    """Numbers that all formats have; NumPy has what it has."""
    a, b = np.array([1.5, -2.0, np.inf, np.nan, -0.0]), np.array([0.25, 4.0, -np.inf, 1.0, 0.0])
    files = [run.save("a.npy", a), run.save("b.npy", b), run.save("c.npy", np.array([8.0]))]
    out, where = run.directory / "o.npy", run.directory / "report.json"

    def result(function: str, count: int) -> Any:
        words = ("--mode", mode, "-o", out, "--json", where)
        assert run("vector", function, *files[:count], *words) == 0
        return np.load(out)

    nan = np.nan
    np.testing.assert_array_equal(result("mul", 2), [0.375, -8, -np.inf, nan, -0.0])
    assert len(run.report()["references"]) == (mode != "bf16")
    np.testing.assert_array_equal(result("fma", 3), [8.375, 0, -np.inf, nan, 8])
    assert run.report()["references"] == []
    assert "none but the model" in run.out
    np.testing.assert_array_equal(result("add", 2), [1.75, 2, nan, nan, 0])
    np.testing.assert_array_equal(result("max", 2), [1.5, 4, np.inf, nan, 0])
    np.testing.assert_array_equal(result("lt", 2), [0, 1, 0, 0, 0])
    np.testing.assert_array_equal(result("reduce_min", 1), nan)
    np.testing.assert_array_equal(result("slide_down", 1), [-2, np.inf, nan, -0.0, 0])
    assert run.report()["places"] == 1


def test_reductions_of_rows(run: Run, on_model: list[int]) -> None:
    rows = np.arange(-20, 30).reshape(5, 10)
    file, out = run.save("a.npy", rows), run.directory / "o.npy"
    for function, expected in [
        ("reduce_sum", (rows.sum(1) + 128) % 256 - 128),
        ("reduce_min", rows.min(1)),
        ("reduce_max", rows.max(1)),
    ]:
        assert run("vector", function, file, "--mode", "int8", "-o", out) == 0
        assert np.load(out).tolist() == expected.tolist()
    thirds = run.save("f.npy", np.full((2, 100), 1 / 3))
    assert run("vector", "reduce_sum", thirds, "--mode", "fp16", "-o", out) == 0
    total = np.float16(0)
    for _ in range(100):
        total += np.float16(1 / 3)
    assert np.load(out).tolist() == [total, total]


def test_one_number(run: Run, on_model: list[int]) -> None:
    """Broadcasts an operand without dimensions, and prints the result of a reduction."""
    files = run.save("a.npy", np.arange(1, 10)), run.save("number.npy", np.array(-3))
    out = run.directory / "o.npy"
    assert run("vector", "mul", *files, "--mode", "int16", "-o", out) == 0
    assert np.load(out).tolist() == [-3 * n for n in range(1, 10)]
    for words, result in [
        (("reduce_sum", files[0], "--mode", "int8"), "45"),
        (("reduce_max", files[0]), "9.0"),
        (("slide_up", files[1], "--mode", "int64"), "0"),
        (("lt", files[1], files[1]), "0"),
    ]:
        assert run("vector", *words) == 0
        assert f"result │ {result}".replace(" ", "") in run.out.replace(" ", "")
        assert "1 value, all equal" in run.out
    assert run("vector", "reduce_min", files[1], "-o", out) == 0
    assert "-3.0, in " in run.out
    assert np.load(out) == -3


@pytest.mark.parametrize(("mode", "chosen"), [("fp16", [8, 1, 1, 1, 1]), ("int8", [8, 8, 1, 1])])
def test_masks(run: Run, mode: str, chosen: list[int], on_model: list[int]) -> None:
    """A mask selects by bits that are not all 0: -0 and NaN of floats count. An integer's zero has
    no sign, and a number below a format's least is not 0."""
    mask = np.array([0.0, -0.0, 1e-300, -7.5, np.nan][: len(chosen)])
    files = [run.save(f"{name}.npy", array) for name, array in
             [("mask", mask), ("b", np.array(1)), ("c", np.array(8))]]  # fmt: skip
    out = run.directory / "o.npy"
    assert run("vector", "select", *files, "--mode", mode, "-o", out) == 0
    assert np.load(out).tolist() == chosen


def test_a_wrong_bit_is_found(
    run: Run, on_model: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit status 1, on the accelerator or in the model."""
    file = run.save("a.npy", np.arange(5))
    honest = GtaDriver.vector

    def wrong(self: GtaDriver, *given: Any) -> Any:
        found = honest(self, *given)
        found[3] ^= np.uint64(4)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(GtaDriver, "vector", wrong)
        assert run("vector", "add", file, file, "--mode", "int16") == 1
        assert "1 mismatches in 5 results: DIFFERENT" in run.out
    monkeypatch.setattr(compute, "elementwise", lambda *given: np.zeros(5, np.uint64))
    words = ("--mode", "int16", "--backend", "model")
    assert run("vector", "add", file, file, *words) == 1
    assert "4 DIFFERENT" in run.out


FLOATS = "mul, fma, add, sub, min, max, eq, ne, lt, le, select, slide_up, slide_down"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("mulh", "a", "a"),
         f"FUNCTION in fp32 must be one of {FLOATS}, reduce_sum, reduce_min, reduce_max, not "
         "'mulh'; did you mean 'mul'?"),
        (("add", "a"), "add takes A and B, not 1 operand"),
        (("reduce_sum", "a", "a"), "reduce_sum takes A, not 2 operands"),
        (("fma", "a", "a"), "fma takes A, B and C, not 2 operands"),
        (("add", "a", "a", "--mode", "tf32"),
         "mode must be one of int8, int16, int32, int64, bf16, fp16, fp32, fp64, not 'tf32'"),
        (("add", "a", "a", "--backend", "cpu"),
         "backend must be one of rtl, cycles, model, not 'cpu'"),
        (("add", "a", "a", "--places", "2"),
         "--places must come with slide_up or slide_down, not with add"),
        (("slide_up", "m"), "{m}: must hold a vector (1 dimension), not 2 dimensions"),
        (("add", "a", "m"), "{a}: must be 3 x 4, as {m} is, or one number, not 5"),
        (("add", "a", "a", "--set", "formats=int8"),
         "mode must be one that gta is built with (int8), not 'fp32': see `formats`"),
        (("mulh", "h", "h", "--mode", "int8"),
         "{h}: 1 of 2 values are not integers, which int8 needs"),
        (("add", "a", "absent"), "{absent}: cannot be read: No such file or directory"),
    ],
)  # fmt: skip
def test_what_is_refused(run: Run, words: tuple[str, ...], line: str) -> None:
    files = {
        "a": run.save("a.npy", np.arange(5)),
        "m": run.save("m.npy", np.ones((3, 4))),
        "h": run.save("h.npy", np.array([1, 0.5])),
        "absent": run.directory / "absent.npy",
    }
    given = [files.get(word, word) for word in words]
    out = run.directory / "o.npy"
    backend = () if "--backend" in words else ("--backend", "model")
    assert run.refused("vector", *given, *backend, "-o", out) == line.format(**files)
    assert not out.exists()


def test_a_run_that_nobody_waits_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    file = run.save("a.npy", np.ones((2, 4000)))
    others = {"rtl": "; --backend cycles takes up to 400,000,000", "cycles": ""}
    for backend, other in others.items():
        monkeypatch.setitem(compute.MOST_CYCLES, backend, 1000)
        assert run.refused("vector", "add", file, file, "--backend", backend) == (
            f"{file}: some 6,256 cycles are too many for the {backend} backend; at most 1,000 are "
            f"allowed{other}"
        )


def test_cycles(run: Run) -> None:
    """Runs on the cycle model: the results are the golden model's, and nothing is compared."""
    rows = np.arange(-20, 40).reshape(2, 30)
    file, out = run.save("a.npy", rows), run.directory / "o.npy"
    words = ("--mode", "int16", "--backend", "cycles", "--json", run.directory / "report.json")
    for function, expected in [("reduce_sum", rows.sum(1)), ("reduce_max", rows.max(1))]:
        assert run("vector", function, file, *words, "-o", out) == 0
        assert np.load(out).tolist() == expected.tolist()
        report = run.report()
        assert report["cycles"] == report["counters"]["cycles"] > 0
        assert (report["checked"], report["mismatches"]) == (0, 0)
        assert f"{report['cycles']:,} of jobs" in run.out
        assert "against the model" not in run.out
