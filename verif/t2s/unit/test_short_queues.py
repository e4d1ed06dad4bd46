"""Queues that are too short: the Verilog waits for ever where counting words through queues says
so, and nowhere else. Two mappings that were found at random, with depths that were taken to be
enough and are not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.cli import main
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.t2s.config import T2S, T2sConfig
from tilewright.hw.spec.t2s.design import Design
from tilewright.hw.t2s.lowering import design as lowering
from tilewright.hw.t2s.lowering.periods import job
from tilewright.hw.t2s.lowering.queues import Queues, depth_of
from tilewright.hw.t2s.lowering.words_through import Stopped, run
from tilewright.sim.rtl.accelerator import AcceleratorTimeout, AxiBehaviour, NativeAccelerator
from tilewright.sim.t2s.driver import Driver
from tilewright.tables.t2s.designs import t2s_steps
from tilewright.verif.kit.pages import page
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import by_size, cases, slow_but

from ..random_mappings import KERNELS, KINDS, written
from .jobs import Case, DrawnConfig, check_case, drawn, largest_case_bytes, random_case

pytestmark = pytest.mark.long

HEAD = """\
from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k, ii, jj, kk, iii, jjj, kkk = indices("i j k ii jj kk iii jjj kkk")
A, B = tensor("A", "int8", i, k), tensor("B", "int8", k, j)
"""

ONE_MORE = f"""{HEAD}
C = compute("C", "int8", i, j, sum_over=k, semiring="minplus")[A[i, k] * B[k, j]]
C.tile(i, (ii, 2)).tile(j, (jj, 3), (jjj, 2)).tile(k, (kk, 2), (kkk, 2))
C.order(i, j, jj, ii, k, jjj, kkk, kk).unroll(ii, jjj).accumulate(stall="allowed")
load_a, _ = C.producers(A, "loader", "serializer")
feed_b, _ = C.producers(B, "feeder", "loader")
C.forward(load_a, jjj=1)
feed_b.unroll(jjj).scatter(jjj=1)
collect, _, _ = C.consumers("collector", "unloader", "deserializer")
collect.unroll(ii, jjj).gather(jjj=1, vector=True)
"""
"""`B_feeder` needs 3 words, and had 2 (gemm, seed 22)."""

GROWS = f"""{HEAD}
C = compute("C", "int8", i, j, sum_over=k)[A[i, k] * B[k, j]]
C.tile(i, (ii, 1), (iii, 2)).order(i, j, iii, ii, k).unroll(ii, iii).accumulate(stall="allowed")
C.producers(A, "loader")
load_b, _ = C.producers(B, "loader", "serializer")
C.forward(load_b, ii=1, iii=1)
drain, _ = C.consumers("drainer", "unloader")
drain.unroll(ii, iii).gather(iii=-1, vector=True)
"""
"""The first element passes words on that the second one takes when all of k are behind: jobs of
more than some iterations stopped (gemm, seed 57)."""

_CYCLES = 20_000
"""Jobs that end take a tenth of that."""


def config_of(
    text: str, file: Path, patch: pytest.MonkeyPatch, more: Mapping[str, int] | None = None
) -> T2sConfig:
    """Returns a configuration with proved queues, or with ``more`` words in channels than they have
    anyway, whether that is enough or not."""
    file.write_text(text)
    with patch.context() as patched:
        if more is not None:
            patched.setattr(lowering, "with_depths", lambda design, said: _held(design, more))
        return T2sConfig(design=str(file), trip_bits=6, outstanding=2)


def _held(design: Design, more: Mapping[str, int]) -> Design:
    links = (replace(one, depth=depth_of(design, one, more)) for one in design.links)
    return replace(design, links=tuple(links))


def ends(design: Design, trips: Mapping[str, int], more: Mapping[str, int]) -> bool:
    """Returns whether a job ends when words are counted through queues."""
    queues = Queues(design)
    try:
        run(job(design, queues, trips), queues, queues.rooms(more))
    except Stopped:
        return False
    return True


def device_of(config: T2sConfig, size: int) -> NativeAccelerator[T2sConfig]:
    return NativeAccelerator(emit(T2S, config), config, memory_bytes=size, time_out=_CYCLES)


def check_stops(device: NativeAccelerator[T2sConfig], case: Case) -> None:
    with pytest.raises(AcceleratorTimeout):
        check_case(device, case)
    device.reset()


def test_one_word_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    design = config_of(ONE_MORE, tmp_path / "enough.py", monkeypatch).plan
    assert {one.depth for one in design.links if one.channel == "B_feeder"} == {3}
    trips = dict.fromkeys("ijk", 2)
    assert ends(design, trips, {"B_feeder": 1})
    assert not ends(design, trips, {"B_feeder": 0})


@pytest.mark.slow
def test_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs with proved depths end, whatever the memory does."""
    rng = np.random.default_rng(22)
    config = config_of(ONE_MORE, tmp_path / "enough.py", monkeypatch)
    size = max(1 << 14, 2 * largest_case_bytes(config, 4))
    with device_of(config, size) as device:
        for number in range(8):
            device.behave(any_behaviour(rng) if number % 2 else AxiBehaviour())
            check_case(device, random_case(rng, config, size, 4))


@pytest.mark.long
def test_one_word_less_in_verilog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(22)
    config = config_of(ONE_MORE, tmp_path / "short.py", monkeypatch, more={})
    size = max(1 << 14, 2 * largest_case_bytes(config, 2))
    with device_of(config, size) as device:
        for _ in range(3):
            case = random_case(rng, config, size, 2)
            assert not ends(config.plan, case.job.trips, {})
            check_stops(device, case)


@pytest.mark.long
def test_longer_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mapping that is refused: jobs end up to as many iterations as are counted, and no longer
    ones."""
    with pytest.raises(ValueError, match=r": C would stop: B_iii_forward would have to hold more "):
        config_of(GROWS, tmp_path / "refused.py", monkeypatch)
    rng = np.random.default_rng(57)
    more = {"B_iii_forward": 3}
    config = config_of(GROWS, tmp_path / "grows.py", monkeypatch, more=more)
    size = max(1 << 14, 2 * largest_case_bytes(config, 8))
    seen = set()
    with device_of(config, size) as device:
        for _ in range(24):
            case = random_case(rng, config, size, 8)
            well = ends(config.plan, case.job.trips, more)
            seen.add((case.job.trips["k"], well))
            if well:
                check_case(device, case)
            else:
                check_stops(device, case)
    assert {(6, True), (7, False)} <= seen


# Random mappings as hardware: random jobs against the model, for any behaviour of memory.

_JOBS = 6
_TIME_OUT = 1_000_000


@pytest.mark.parametrize("kernel", slow_but([], sorted(KERNELS), ["gemm", "mttkrp", "ttmc"]))
def test_random_mappings(kernel: str) -> None:
    _run(kernel, drawn(kernel, by_size(1, 1, 17), format="int8"))


@pytest.mark.long
@pytest.mark.parametrize("format", ["int8", "fp16"])
@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_initial_values_and_functions_of_words(kernel: str, format: str) -> None:
    configs = drawn(kernel, 6, format=format, words=True)
    programs = [one.plan.program for one in configs]
    assert any(one.start for one in programs)
    assert any(tensor.functions for one in programs for tensor in one.tensors)
    _run(kernel, configs)


def _run(kernel: str, configs: list[DrawnConfig]) -> None:
    rng = np.random.default_rng(7)
    for config in configs:
        size = max(1 << 14, 2 * largest_case_bytes(config, 2))
        with NativeAccelerator(
            emit(T2S, config), config, memory_bytes=size, time_out=_TIME_OUT
        ) as device:
            for number in range(_JOBS):
                device.behave(any_behaviour(rng) if number % 2 else AxiBehaviour())
                try:
                    check_case(device, random_case(rng, config, size))
                except Exception as error:
                    raise AssertionError(f"{kernel}, seed {config.seed}: {error}") from error


# Functions of words and initial values as hardware: random jobs beside the model.

FORMATS = ("int8", "fp16", "fp8e5m2", "fp32")

CHOSEN = {"bias": "fp16", "operands": "int8"}
"""Formats of those that the default run has; at length all have all."""


@pytest.mark.parametrize("kind", slow_but([], KINDS, list(CHOSEN)))
def test_random_jobs(kind: str, tmp_path: Path) -> None:
    _run_words(kind, CHOSEN.get(kind, "bf16"), tmp_path, seed=1, jobs=cases(40))


@pytest.mark.long
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
def test_all_formats(kind: str, fmt: str, tmp_path: Path) -> None:
    _run_words(kind, fmt, tmp_path, seed=2, jobs=20)


def _run_words(kind: str, fmt: str, folder: Path, *, seed: int, jobs: int) -> None:
    config = T2sConfig(design=str(written(kind, folder)), format=fmt, outstanding=2)
    rng = np.random.default_rng(seed)
    size = max(1 << 14, 2 * largest_case_bytes(config, 2))
    with NativeAccelerator(emit(T2S, config), config, memory_bytes=size) as device:
        for number in range(jobs):
            device.behave(any_behaviour(rng) if number % 2 else AxiBehaviour())
            check_case(device, random_case(rng, config, size))


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_numbers(kind: str, tmp_path: Path) -> None:
    """The driver's result equals NumPy's, for numbers whose negatives int8 can hold."""
    config = T2sConfig(design=str(written(kind, tmp_path)), format="int8")
    rng = np.random.default_rng(5)
    a, b = rng.integers(-127, 128, (7, 9)), rng.integers(-127, 128, (9, 8))
    t = rng.integers(-(2**20), 2**20, (7, 8))
    # Factors have 8 bits, initial values of sums have 32.
    u = rng.integers(-127, 128, 8)
    given: dict[str, Any] = {"A": a, "B": b, "T": t, "U": u}
    with NativeAccelerator(emit(T2S, config), config, memory_bytes=1 << 16) as device:
        names = {one.tensor for one in config.plan.loaders}
        found = Driver(device).compute(**{name: given[name] for name in names})
    assert np.array_equal(found, KINDS[kind][1](a, b, t, u))


# ``tilewright run einsum``, and the tables of mapped products.

A, B = np.arange(35).reshape(5, 7) - 17.0, np.arange(28).reshape(7, 4) - 11.0


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, array in (("a", A), ("b", B)):
        np.save(tmp_path / f"{name}.npy", array)
    return [str(tmp_path / "a.npy"), str(tmp_path / "b.npy")]


@pytest.mark.parametrize(
    "backend", ["model", *(pytest.param(x, marks=pytest.mark.slow) for x in ("cycles", "rtl"))]
)
def test_a_product(files: list[str], tmp_path: Path, backend: str) -> None:
    report, result = tmp_path / "r.json", tmp_path / "c.npy"
    words = ["--set", "largest=2", "--set", "format=int8", "--backend", backend]
    asked = ["run", "einsum", "ab, bc -> ac", *files, *words, "-o", str(result)]
    assert main([*asked, "--json", str(report)]) == 0
    assert np.array_equal(np.load(result), A @ B)
    found = json.loads(report.read_text())
    assert found["bounds"] == {"i": 5, "j": 4, "k": 7}
    assert (found["wrong"], found["mismatches"]) == (0, 0 if backend == "rtl" else None)
    assert ("cycles" in found) == (backend != "model")


def test_floats(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--set", "largest=2", "--set", "format=bf16", "--backend", "model"]
    assert main(["run", "einsum", "ik,kj->ij", *files, *words]) == 0
    assert "NumPy's up to rounding" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ik,kj->ji", "{a}", "{b}"], "expression must be ik,kj->ij for gemm, not 'ik,kj->ji'"),
        (["ik,kj->ij", "{a}"], "operands must be 2 for ik,kj->ij, not 1"),
        (
            ["ik,kj->ij", "{b}", "{a}"],
            "B must have 4 places for k, its dimension 0, not 5: k = 4 in A",
        ),
        (
            ["ik,kj->ij", "{a}", "{b}", "--set", "design=fir"],
            "Y is not an einsum: X has an index n + t",
        ),
        (
            ["ik,kj->ij", "{a}", "{b}", "--set", "design=apsp"],
            "C is not an einsum: its semiring is minplus",
        ),
        (
            ["ik,kj->ij", "{a}", "{b}", "--set", "design=cgra/gemm"],
            "C is not an einsum: its sums start from T",
        ),
        (
            ["ik,kj->ij", "{a}", "{b}", "--backend", "numpy"],
            "backend must be one of rtl, cycles, model, not 'numpy'",
        ),
    ],
)
def test_refused(
    files: list[str], words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [word.format(a=files[0], b=files[1]) for word in words]
    assert main(["run", "einsum", *given, "--set", "largest=2"]) == 2
    assert capsys.readouterr().err == f"error: {message}\n"


def test_a_mapping_of_ones_own(files: list[str], tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from tilewright.hw.t2s.language import compute, indices, tensor\n"
        'i, j, k = indices("i j k")\n'
        'A, B = tensor("A", "int16", i, k), tensor("B", "int16", k, j)\n'
        'C = compute("C", "int16", i, j, sum_over=k)[A[i, k] * B[k, j]]\n'
        'C.accumulate(stall="allowed")\n'
    )
    words = ["--spec", str(mine), "--backend", "model"]
    assert main(["run", "einsum", "ik,kj->ij", *files, *words]) == 0
    assert main(["generate", "t2s", "--spec", str(mine), "-o", str(tmp_path / "unit.v")]) == 0
    assert (tmp_path / "unit.v").read_text().count("endmodule") > 10


@pytest.mark.long
def test_the_page_has_the_steps() -> None:
    shown = page("t2s.md").read_text()
    for row in t2s_steps("cmos").rows:
        figures = [*map(re.escape, row.cells(row.ours))]
        pattern = rf"│ {row.label} +│ +" + r" │ +".join(figures) + " │"
        assert re.search(pattern, shown), row.label
