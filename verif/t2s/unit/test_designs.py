"""Every design as hardware: random jobs against the model, for any behaviour of memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.jobs.t2s import job_spec
from tilewright.hw.spec.t2s.config import T2S, T2sConfig
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.t2s.driver import Driver
from tilewright.verif.kit.far_memory import FarAccelerator
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import cases, slow_but

from ..designs import FOLDER, IN_HARDWARE
from .jobs import check_case, largest_case_bytes, random_case

FORMATS = ("int8", "int16", "fp8e5m2", "fp16", "bf16", "fp32", "fp64")

_CHOSEN = {
    "gemm": "int8",
    "mttkrp": "fp16",
    "ttm": "int16",
    "ttmc": "bf16",
    "conv2d": "int8",
    "fir": "fp32",
    "gemv": "fp8e5m2",
    "ttv": "fp16",
    "apsp": "fp32",
    "stencil3d": "fp64",
    "cgra/gemm": "int8",
    "cgra/mttkrp": "fp16",
    "cgra/ttm": "bf16",
    "cgra/ttmc": "int16",
}
"""A format of each by default; all at length."""

SHORT = ["gemm"]
SAMPLE = ["conv2d"]
"""Design of the default test, besides ``SHORT``: the others differ in their loops only."""


def _config(name: str, fmt: str, **changes: Any) -> T2sConfig:
    return T2sConfig(design=name, format=fmt, **{"largest": 2, "outstanding": 2, **changes})


def _run(config: T2sConfig, seed: int, jobs: int) -> None:
    rng = np.random.default_rng(seed)
    size = max(1 << 16, 2 * largest_case_bytes(config, 2))
    with FarAccelerator(
        emit(T2S, config),
        config,
        job_spec(config),
        config.addr_bits,
        memory_bytes=size,
        inverted=True,
    ) as device:
        for number in range(jobs):
            device.behave(any_behaviour(rng) if number % 2 else AxiBehaviour())
            check_case(device, random_case(rng, config, size))


@pytest.mark.parametrize("name", slow_but(SHORT, sorted(IN_HARDWARE), SAMPLE))
def test_random_jobs(name: str) -> None:
    _run(_config(name, _CHOSEN[name]), seed=1, jobs=cases(60))


@pytest.mark.slow
def test_gathering_in_vectors() -> None:
    _run(T2sConfig(design="steps/step7_gathered", format="int8", largest=3), seed=5, jobs=cases(60))


@pytest.mark.long
def test_gathering_at_a_level(tmp_path: Path) -> None:
    """Words leave, and lie in memory, in another order of loops."""
    text = (FOLDER / "steps" / "step7_gathered.py").read_text()
    assert "gather(ii=-1)" in text
    file = tmp_path / "mine.py"
    file.write_text(text.replace("gather(ii=-1)", "gather(ii=-1, level=jjj)"))
    config = _config(str(file), "int8", largest=3)
    image = config.plan.program.tensor("C_image").image
    assert [one.name for one in image] == ["i", "j", "jj", "iii", "jjj", "ii"]
    _run(config, seed=7, jobs=cases(60))


@pytest.mark.long
def test_without_overlap(tmp_path: Path) -> None:
    """Sums leave before the next block begins."""
    text = (FOLDER / "gemm.py").read_text()
    assert "vectorise(kkk)" in text
    file = tmp_path / "mine.py"
    file.write_text(text.replace("vectorise(kkk)", "vectorise(kkk).drain_overlap(False)"))
    config = _config(str(file), "int8", largest=3)
    assert not config.plan.element.overlaps
    _run(config, seed=6, jobs=cases(60))


@pytest.mark.long
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("name", sorted(IN_HARDWARE))
def test_all_formats(name: str, fmt: str) -> None:
    _run(_config(name, fmt, largest=3), seed=2, jobs=30)


@pytest.mark.long
@pytest.mark.parametrize(
    "changes",
    [
        {"largest": 4, "data_bits": 512, "outstanding": 8},
        {"managers": 3, "addr_bits": 64, "trip_bits": 4},
        {"pipeline": 1, "data_bits": 64},
        {"pipeline": 6, "sizes": "III=1,JJJ=1"},
        {"sizes": "II=1,JJ=3,KKK=1", "largest": 3},
        {"sizes": "II=5,JJ=3,KK=3,III=3,JJJ=5,KKK=3", "largest": 0},
    ],
)
def test_other_sizes(changes: dict[str, Any]) -> None:
    _run(_config("gemm", "int8", **changes), seed=3, jobs=30)


def test_numbers() -> None:
    """The driver's result equals NumPy's."""
    config = _config("gemm", "int8")
    rng = np.random.default_rng(5)
    a, b = rng.integers(-128, 128, (7, 9)), rng.integers(-128, 128, (9, 6))
    with NativeAccelerator(emit(T2S, config), config, memory_bytes=1 << 16) as device:
        driver = Driver(device)
        assert np.array_equal(driver.compute(A=a, B=b), a @ b)
        assert driver.counts.operations == driver.counts.busy_cycles > 0
