"""``tilewright run vector``: its results against arithmetic of the test's own; what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.apps.gta import vector as compute
from tilewright.sim.gta.driver import GtaDriver
from tilewright.sim.gta.model import GtaModel
from tilewright.verif.gta.devices import settings
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.sampling import slow_but

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


# ``tilewright run pair``: what it computes, counts, writes and refuses.

MODEL = ("--backend", "model")


def files(run: Run, name: str, m: int, k: int, n: int) -> tuple[str, np.ndarray]:
    """Returns two operands, in a job's syntax, and their product."""
    rng = np.random.default_rng(m + k)
    a, b = rng.integers(-9, 10, (m, k)), rng.integers(-9, 10, (k, n))
    paths = [run.save(f"{name}{part}.npy", array) for part, array in (("a", a), ("b", b))]
    return ",".join(map(str, paths)), a @ b


@pytest.mark.parametrize(
    ("modes", "more", "words", "lanes"),
    [
        (("int8", "fp32"), ("", ""), (), None),
        (("int64", "int16"), (",lanes=0+2", ",lanes=1+3"), ("--layout", "2x2"), [[0, 2], [1, 3]]),
        (("bf16", "fp64"), (",lanes=3", ",lanes=0-2"), (), [[3], [0, 1, 2]]),
        (("int32", "int8"), (",dataflow=is", ",dataflow=ws"), ("--layout", "1x4"), None),
    ],
)
def test_on_the_model(
    run: Run,
    modes: tuple[str, str],
    more: tuple[str, str],
    words: tuple[str, ...],
    lanes: list[list[int]] | None,
) -> None:
    drawn = [files(run, "x", 12, 20, 9), files(run, "y", 7, 31, 18)]
    jobs = [
        f"{text},mode={mode},out={run.directory / f'{mode}.npy'}{extra}"
        for (text, _), mode, extra in zip(drawn, modes, more, strict=True)
    ]
    where = run.directory / "report.json"
    assert run("pair", *jobs, *MODEL, *words, "--json", where) == 0
    for (_, expected), mode in zip(drawn, modes, strict=True):
        assert np.array_equal(np.load(run.directory / f"{mode}.npy"), expected)
    report = run.report()
    assert (report["mode"], report["mismatches"], report["checked"]) == (list(modes), 0, 234)
    assert [one["wrong"] for one in report["references"]] == [0, 0]
    assert [report[name] for name in ("cycles", "alone", "in_turn", "counters")] == [None] * 4
    found = [sorted(job["lanes"]) for job in report["jobs"]]
    assert lanes in (None, found)
    assert sorted(found[0] + found[1]) == [0, 1, 2, 3]
    assert [job["shape"] for job in report["jobs"]] == [[12, 20, 9], [7, 31, 18]]
    assert "bit for bit equal" in run.out


@pytest.mark.parametrize("name", slow_but([], ["all"], []))
def test_on_the_rtl(run: Run, name: str) -> None:
    """Cycles of both together are fewer than those of each alone on all lanes, and than those of
    each on the same lanes, one after the other."""
    jobs = [f"{files(run, name, 8, k, 8)[0]},mode=fp64" for name, k in (("x", 60), ("y", 65))]
    where = run.directory / "report.json"
    assert run("pair", *jobs, *settings(name), "--json", where) == 0
    report = run.report()
    assert (report["backend"], report["mismatches"], report["checked"]) == ("rtl", 0, 6 * 64)
    assert report["cycles"] == report["counters"]["cycles"]
    assert report["cycles"] < 0.6 * sum(report["alone"])
    assert report["cycles"] < 0.6 * sum(report["in_turn"])
    together, alone, in_turn = report["cycles"], sum(report["alone"]), sum(report["in_turn"])
    assert f"{together:,} of both at the same time" in run.out
    assert f"one after the other: {alone:,}, {alone / together:.2f} times as many" in run.out
    assert f"one after the other: {in_turn:,}, {in_turn / together:.2f} times as many" in run.out


def test_pair_cycles(run: Run) -> None:
    """Runs on the cycle model: the results are the golden model's, and nothing is compared."""
    drawn, out = [files(run, name, 4, k, 6) for name, k in (("x", 9), ("y", 12))], "d.npy"
    jobs = [f"{text},mode=int16,out={run.directory / f'{number}{out}'}"
            for number, (text, _) in enumerate(drawn)]  # fmt: skip
    where = run.directory / "report.json"
    assert run("pair", *jobs, "--backend", "cycles", "--json", where) == 0
    for number, (_, expected) in enumerate(drawn):
        assert np.array_equal(np.load(run.directory / f"{number}{out}"), expected)
    report = run.report()
    assert report["cycles"] == report["counters"]["cycles"] > 0
    assert len(report["alone"]) == len(report["in_turn"]) == 2
    assert (report["checked"], report["mismatches"]) == (0, 0)
    assert f"{report['cycles']:,} of both at the same time" in run.out
    assert "against the model" not in run.out


def test_every_run_is_checked(
    run: Run, on_model: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong bit of any of the results is found; the model stands for the RTL."""
    taken = GtaModel.read_memory
    jobs = [f"{files(run, name, 3, 4, 5)[0]},mode=int8" for name in "xy"]
    words = ("pair", *jobs, "--backend", "rtl", "--json", run.directory / "report.json")
    reads = 6
    for wrong in range(reads):
        count = 0

        def read(self: GtaModel, address: int, size: int, wrong: int = wrong) -> bytes:
            nonlocal count
            found = taken(self, address, size)
            count += 1
            return bytes([found[0] ^ 1]) + found[1:] if count == wrong + 1 else found

        monkeypatch.setattr(GtaModel, "read_memory", read)
        assert run(*words) == 1
        assert run.report()["mismatches"] == 1
        assert sum(one["wrong"] for one in run.report()["references"]) == (wrong < 2)
        assert count == reads
    assert len(on_model) == reads


@pytest.mark.parametrize(
    ("second", "words", "line"),
    [
        ("{a}", (), "a job must be A,B[,mode=FORMAT][,dataflow=FLOW][,lanes=N-N+N][,out=FILE], "
                    "not '{a}'"),
        ("{job},color=red", (), "{job},color=red: a setting must be one of mode, dataflow, lanes, "
                                "out, not 'color'"),
        ("{job},mode=int8,mode=int16", (), "{job},mode=int8,mode=int16: mode must be given once, "
                                           "not as 'int8' and 'int16'"),
        ("{job},dataflow=simd", (), "{job},dataflow=simd: dataflow must be one of auto, ws, is, "
                                    "os, not 'simd'"),
        ("{job},dataflow=ws", (), "{job},dataflow=ws: dataflow must be one of auto, os in fp32, "
                                  "not 'ws'"),
        ("{job},lanes=3-1", (), "{job},lanes=3-1: lanes must be numbers, or ranges of them, joined "
                                "by +, such as 0-1 or 0+2, not '3-1'"),
        ("{job},out=", (), "{job},out=: out must be a file, not ''"),
        ("{job},mode=tf32", (), "mode must be one of int8, int16, int32, int64, bf16, fp16, fp32, "
                                "fp64, not 'tf32'"),
        ("{job},mode=int16", ("--set", "formats=int8,fp32"),
         "mode must be one that gta is built with (int8, fp32), not 'int16': see `formats`"),
        ("{job},lanes=0", (), "`lanes` must be of one product each, not 0 of both"),
        ("{job},lanes=1+2+4", ("--set", "lanes=8"),
         "`lanes` must be a rectangle of any layout, not 1+2+4"),
        ("{job},lanes=2+3", ("--layout", "4x1"), ""),
        ("{job},lanes=1+3", ("--layout", "4x1"),
         "`lanes` must be a rectangle of the layout 4x1, not 1+3"),
        ("{job},lanes=4", (), "`lanes` must be in 0..3, not 4"),
        ("{job}", (), "`lanes` must be given of both products, or of neither"),
        ("{job},lanes=1", ("--layout", "3x1"),
         "--layout must be one of 1x4, 2x2, 4x1, as there are 4 lanes, not '3x1'"),
        ("{job},lanes=1", ("--backend", "cpu"),
         "backend must be one of rtl, cycles, model, not 'cpu'"),
        ("{job},lanes=1", ("--set", "mask_bits=1"),
         "gta: masks must be at most 2, one for each region or lane"),
    ],
)  # fmt: skip
def test_refusals(run: Run, second: str, words: tuple[str, ...], line: str) -> None:
    """Refuses each with one line and writes nothing."""
    job = files(run, "x", 3, 4, 5)[0]
    names = {"job": job, "a": job.split(",")[0]}
    out = run.directory / "d.npy"
    given = f"{job},lanes=0,out={out}", second.format(**names)
    backend = () if "--backend" in words else MODEL
    if not line:
        assert run("pair", *given, *backend, *words) == 0
        return
    assert run.refused("pair", *given, *backend, *words) == line.format(**names)
    assert not out.exists()


def test_shapes_and_outputs(run: Run, tmp_path: Path) -> None:
    job, other = files(run, "x", 3, 4, 5)[0], files(run, "y", 3, 6, 5)[0]
    a, b = job.split(",")[0], other.split(",")[1]
    line = run.refused("pair", job, f"{a},{b}", *MODEL)
    assert line == f"{b}: must have 4 rows, as {a} is 3 x 4, not 6"
    out = tmp_path / "d.npy"
    line = run.refused("pair", f"{job},out={out}", f"{other},out={out}", *MODEL)
    assert line == f"out must be another file for each job, not {str(out)!r} twice"
    line = run.refused("pair", job, other, *MODEL, "--set", "lanes=1")
    assert line == "`lanes` must be at least 2 for two products at the same time, not 1"
