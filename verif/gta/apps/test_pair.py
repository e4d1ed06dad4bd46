"""``tilewright run pair``: what it computes, counts, writes and refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tilewright.sim.gta.model import GtaModel
from tilewright.verif.gta.devices import settings
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.sampling import slow_but

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


def test_cycles(run: Run) -> None:
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
