"""The cycle model beside the Verilog: all counters of random jobs, cycle for cycle."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.cli import main
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.t2s.config import T2S, T2sConfig
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.t2s.cycles.machine import counts_of, run_job
from tilewright.sim.timing.memories import FLAT
from tilewright.tables.t2s.rate import BAR, SMALL, THESIS, t2s_rate
from tilewright.verif.kit.job_checks import Mismatch
from tilewright.verif.kit.pages import page
from tilewright.verif.kit.sampling import by_size, cases, slow_but

from ..designs import DESIGNS, FOLDER
from ..random_mappings import KERNELS
from ..unit.jobs import DrawnConfig, drawn, largest_case_bytes, random_case, run_case

_TIME_OUT = 1_000_000


def check_counters(
    config: T2sConfig, seed: int, jobs: int, latencies: tuple[int, ...] = (20, 1, 7), most: int = 3
) -> int:
    """Compares random jobs, one after the other, on memories with a fixed latency. Returns the
    number of operations started. Raises Mismatch."""
    rng = np.random.default_rng(seed)
    size = max(1 << 14, 2 * largest_case_bytes(config, most))
    turns: tuple[int, ...] = ()
    operations = 0
    with NativeAccelerator(
        emit(T2S, config), config, memory_bytes=size, time_out=_TIME_OUT
    ) as device:
        for number in range(jobs):
            latency = latencies[number % len(latencies)]
            device.behave(AxiBehaviour(latency=(latency, latency)))
            case = random_case(rng, config, size, most)
            status = run_case(device, case)
            if status.error != "none":
                raise Mismatch(f"{status.error}, detail {status.detail:#x}")
            timed = run_job(config, case.job, memory=replace(FLAT, latency=latency), turns=turns)
            turns, found = timed.turns, asdict(timed.counts)
            if found != status.counts:
                raise Mismatch(
                    f"job {number}, {dict(case.bounds)}, latency {latency}: the model counts "
                    f"{found}, the Verilog {status.counts}"
                )
            operations += found["operations"]
    return operations


_SETTINGS: dict[str, dict[str, Any]] = {
    "gemm": {"format": "int8", "managers": 3},
    "mttkrp": {"format": "fp16"},
    "ttm": {"format": "int16", "data_bits": 64},
    "ttmc": {"format": "bf16", "managers": 2, "data_bits": 256},
    "conv2d": {"format": "int8", "data_bits": 512},
    "fir": {"format": "fp32"},
    "gemv": {"format": "fp8e5m2", "outstanding": 16},
    "ttv": {"format": "fp16", "pipeline": 1},
    "apsp": {"format": "fp32", "pipeline": 6},
    "stencil3d": {"format": "fp64", "outstanding": 1},
    "cgra/gemm": {"format": "int8"},
    "cgra/mttkrp": {"format": "fp16", "managers": 4},
    "cgra/ttm": {"format": "int8", "outstanding": 8},
    "cgra/ttmc": {"format": "bf16", "data_bits": 64},
}

_OTHERS: list[dict[str, Any]] = [
    # The number of sums is that of a memory, or little more than operations need.
    {"design": "gemm", "sizes": "II=2,JJ=2,KK=2,III=6,JJJ=6,KKK=2", "largest": 0},
    {"design": "gemm", "sizes": "III=1,JJJ=1", "pipeline": 6, "largest": 2},
    {"design": "gemm", "sizes": "II=5,JJ=3,KK=3,III=3,JJJ=5,KKK=3", "largest": 0},
    {"design": "gemm", "largest": 4, "data_bits": 512, "outstanding": 16, "managers": 2},
    {"design": "mttkrp", "largest": 3, "data_bits": 256, "outstanding": 20, "managers": 4},
    {"design": "ttmc", "largest": 4, "pipeline": 1},
    *({"design": f"steps/{name}", "largest": 3} for name in (
        "step1_plain", "step2_tiled", "step3_unrolled", "step4_forwarded", "step5_buffered",
        "step6_scattered", "step7_gathered")),
]  # fmt: skip


_CONSUMERS = {
    "plain": "",
    "drained": 'C.consumers("drainer", "unloader")[0].unroll(ii, jj).gather(ii=-1)\n',
}
"""Consumers of results, as the last line of a mapping."""


def _settings(name: str) -> dict[str, Any]:
    return {"design": name, "largest": 2, "outstanding": 2, **_SETTINGS[name]}


def test_all_designs_are_here() -> None:
    assert set(DESIGNS) <= set(_SETTINGS)


@pytest.mark.parametrize("name", slow_but([], sorted(_SETTINGS), ["gemm"]))
def test_designs(name: str) -> None:
    assert check_counters(T2sConfig(**_settings(name)), seed=1, jobs=cases(24), most=2) > 0


@pytest.mark.long
@pytest.mark.parametrize("fmt", ["int8", "fp16", "fp32", "fp64"])
@pytest.mark.parametrize("name", sorted(_SETTINGS))
def test_formats(name: str, fmt: str) -> None:
    config = T2sConfig(**{**_settings(name), "format": fmt, "largest": 3})
    assert check_counters(config, seed=2, jobs=12) > 0


@pytest.mark.long
@pytest.mark.parametrize("settings", _OTHERS, ids=str)
def test_other_sizes(settings: dict[str, Any]) -> None:
    config = T2sConfig(**{"format": "int8", **settings})
    assert check_counters(config, seed=3, jobs=12, most=2) > 0


@pytest.mark.slow
@pytest.mark.parametrize("size", slow_but([], [2, 3, 5], [2]))
@pytest.mark.parametrize("consumers", slow_but([], list(_CONSUMERS), []))
def test_without_overlap(size: int, consumers: str, tmp_path: Path) -> None:
    """Sums that leave from where they are, into a queue or straight to the unloader."""
    text = (FOLDER / "steps" / "step6_scattered.py").read_text()
    assert "vectorise(kkk)" in text
    file = tmp_path / "mine.py"
    drains = "vectorise(kkk).drain_overlap(False)"
    file.write_text(text.replace("vectorise(kkk)", drains) + _CONSUMERS[consumers])
    config = T2sConfig(design=str(file), largest=size, format="int8", pipeline=2)
    assert not config.plan.element.overlaps
    assert check_counters(config, seed=5, jobs=6, most=2) > 0


@pytest.mark.slow
@pytest.mark.parametrize("kernel", slow_but([], sorted(KERNELS), ["ttm"]))
def test_random_mappings(kernel: str) -> None:
    _check_all(drawn(kernel, by_size(1, 1, 12), first=1000, format="int8"))


@pytest.mark.long
@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_initial_values(kernel: str) -> None:
    _check_all(drawn(kernel, 5, first=2000, format="fp16", words=True, data_bits=64))


def _check_all(configs: list[DrawnConfig]) -> None:
    for config in configs:
        try:
            check_counters(config, seed=4, jobs=6, most=2)
        except Exception as error:
            raise AssertionError(f"{config.kernel}, seed {config.seed}: {error}") from error


# Predicted cycles in ``tilewright t2s show``, and the table of rates.

GEMM = str(FOLDER / "gemm.py")
BOUNDS = {"i": 7, "j": 8, "k": 17}

_NO_HARDWARE = (
    "from tilewright.hw.t2s.language import compute, indices, tensor\n"
    'i, k = indices("i k")\n'
    'A, X = tensor("A", "int8", i, k), tensor("X", "int8", k)\n'
    'Y = compute("Y", "int8", i, sum_over=k)[A[i, k] * X[k]]\n'
)


def _shown(file: str, report: Path, *words: str) -> dict[str, Any]:
    assert main(["t2s", "show", file, *words, "--json", str(report)]) == 0
    found: dict[str, Any] = json.loads(report.read_text())
    return found


@pytest.mark.slow
def test_show_predicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--set", "II=2", "--set", "JJ=3", "--largest", "4", "--bounds", "i=7,j=8,k=17")
    found = _shown(GEMM, tmp_path / "r.json", *words)["predicted"]
    config = T2sConfig(design=GEMM, sizes="II=2,JJ=3", largest=4)
    assert found == asdict(counts_of(config, BOUNDS))
    told = capsys.readouterr().out
    assert f"{found['cycles']:,}, in {found['busy_cycles']:,} of them" in told
    assert f"{found['bytes_read']:,} read, {found['bytes_written']:,} written" in told


def test_what_is_not_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine, report = tmp_path / "mine.py", tmp_path / "r.json"
    mine.write_text(_NO_HARDWARE)
    found = _shown(str(mine), report, "--bounds", "i=4,k=3")["predicted"]
    assert "Y.accumulate: an element keeps 1 sum, and one takes 4 cycles" in found["not_known"]
    assert "not known: " in capsys.readouterr().out
    found = _shown(GEMM, report, "--largest", "2", "--bounds", "i=4000,j=4000,k=4000")["predicted"]
    assert found == {"not_known": "8,000,000,000 iterations are more than 4,000,000"}


def test_without_bounds_nothing_is_predicted(tmp_path: Path) -> None:
    assert "predicted" not in _shown(GEMM, tmp_path / "r.json")


@pytest.mark.long
def test_rates() -> None:
    """All rates reach the bar, and the page has the command's output."""
    shown = page("t2s-results.md").read_text()
    rows = {row.label: row for row in t2s_rate("cmos").rows}
    for label in (*SMALL, *THESIS):
        row = rows[label]
        share, least = row.ours[4:6]
        assert share is not None
        assert share >= BAR == least
        figures = [*map(re.escape, row.cells(row.ours))]
        pattern = rf"│ {label} +│ +" + r" │ +".join(figures) + " │"
        assert re.search(pattern, shown), label
    for label in THESIS:
        assert rows[label].ours[:2] == rows[label].paper[:2]
