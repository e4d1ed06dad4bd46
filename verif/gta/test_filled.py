"""Filled schedules by the driver: full folds and the rest after them, together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.gta import GtaConfig, is_float, result_bytes
from tilewright.sim.gta.driver import GtaDriver
from tilewright.sim.gta.golden.pgemm import RESULTS
from tilewright.sim.gta.model import GtaModel
from tilewright.sim.gta.schedule.block_cost import PGemm
from tilewright.sim.gta.schedule.evaluate import cut
from tilewright.sim.gta.schedule.filled_choice import choose_filled
from tilewright.sim.gta.timed import TimedGta
from tilewright.sim.rtl.accelerator import AxiBehaviour
from tilewright.sim.timing.memories import FLAT
from tilewright.verif.gta.devices import DEVICES, LARGE_MEMORY_BYTES, NativeGta, native_gta
from tilewright.verif.gta.jobs import ProductCase, check_product, words
from tilewright.verif.kit.sampling import by_size, rng_of

pytestmark = pytest.mark.long

CONFIG = DEVICES["all"].config


@pytest.fixture(scope="module")
def device() -> Iterator[NativeGta]:
    with native_gta(CONFIG) as device:
        yield device


def random_filled(rng: np.random.Generator, config: GtaConfig) -> ProductCase:
    """Something is left over of it in the direction."""
    while True:
        format = str(rng.choice([*config.integers, *config.floats]))
        flows = ("auto", "os") if is_float(format) else ("auto", "ws", "is", "os")
        # Results of floats always wrap; results of 4 bytes are never long.
        most = 1 if is_float(format) else 3 if result_bytes(format) == 8 else 2
        m, n, k = (int(size) for size in rng.integers(1, 45, 3))
        settings: dict[str, Any] = {
            "dataflow": str(rng.choice(flows)),
            "lateral": bool(rng.integers(2)),
            "result": str(rng.choice(RESULTS[:most])),
        }
        if rng.integers(2):
            settings["layout"] = [(2, 1), (1, 2)][rng.integers(2)]
        try:
            choose_filled(config, format, (m, n, k), **settings)
        except ValueError:
            continue
        a, b = words(rng, format, (m, k)), words(rng, format, (k, n))
        if format == "int64":
            a = (a.view(np.int64) >> np.int64(12)).view(np.uint64)
        wide = {4: "int32", 8: "int64"}[result_bytes(format)]
        if is_float(format):
            wide = {4: "fp32", 8: "fp64"}[result_bytes(format)]
        shape = (m, n, 2) if settings["result"] == "long" else (m, n)
        c = words(rng, wide, shape) if rng.integers(2) else None
        return ProductCase(format, a, b, c, {**settings, "filled": True})


def check_parts(driver: GtaDriver, case: ProductCase) -> str:
    """Checks that the driver split the product as the space of schedules does; returns the sizes
    that were split."""
    schedule, rest = driver.schedule, driver.left_over
    assert schedule is not None
    assert schedule.filled
    assert rest is not None
    (m, k), n = case.a.shape, case.b.shape[1]
    parts = cut(PGemm(m=m, n=n, k=k, format=case.format), replace(schedule, filled=False))
    assert parts is not None
    sizes = [(part.m, part.n, part.k) for part in parts]
    assert driver.choice is not None
    for one, (rows, cols, deep) in zip((driver.choice, rest), sizes, strict=True):
        problem = one.tiling.problem
        found = problem.m, problem.n, problem.k
        assert found == ((cols, rows, deep) if one.dataflow == "is" else (rows, cols, deep))
    return "mnk"[[a == b for a, b in zip(sizes[0], (m, n, k), strict=True)].index(False)]


@pytest.mark.slow
def test_on_the_rtl(device: NativeGta) -> None:
    """Results bit for bit, counters those of the model of cycles."""
    rng = rng_of(1)
    device.behave(AxiBehaviour(latency=(FLAT.latency, FLAT.latency)))
    for _ in range(by_size(4, 16, 300)):
        case = random_filled(rng, CONFIG)
        timed = TimedGta(CONFIG, LARGE_MEMORY_BYTES)
        counts = [check_product(one, case) for one in (device, timed)]
        assert counts[0] == counts[1], case


def test_parts() -> None:
    rng, seen = rng_of(2), set()
    for _ in range(by_size(20, 60, 400)):
        case = random_filled(rng, CONFIG)
        driver = GtaDriver(GtaModel(CONFIG, LARGE_MEMORY_BYTES))
        found = driver.pgemm(case.format, case.a, case.b, case.c, **case.settings)
        assert np.array_equal(found, case.expected()), case
        seen.add(check_parts(driver, case))
    assert seen == set("mnk")
    driver.pgemm("int8", np.zeros((3, 3), np.uint64), np.zeros((3, 3), np.uint64))
    assert driver.left_over is None


@pytest.mark.slow
def test_it_pays() -> None:
    """Saves cycles if few columns are left over and M is long."""
    config, cycles = GtaConfig(), []
    driver = GtaDriver(TimedGta(config, 1 << 22, values=False))
    a, b = np.zeros((128, 512), np.uint64), np.zeros((512, 33), np.uint64)
    for filled in (False, True):
        driver.pgemm("int8", a, b, dataflow="os", layout=(1, 4), filled=filled)
        cycles.append(driver.counts["cycles"])
    assert cycles[1] < 0.9 * cycles[0]


def test_refusals() -> None:
    driver = GtaDriver(GtaModel(CONFIG))
    ones = np.ones((16, 16), np.uint64)
    nothing = (
        "`filled` must be False where nothing is left over, as of 16 x 16 x 16 in int8 in the "
        "dataflow, layout and direction that are given"
    )
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({}, ValueError, nothing),
        ({"segments": 2}, ValueError, "`filled` must be False with 2 segments, not True"),
        ({"dataflow": "simd"}, ValueError, "`filled` must be False with dataflow simd, not True"),
    ]
    for settings, kind, line in cases:
        with pytest.raises(kind, match=f"^{re.escape(line)}$"):
            driver.pgemm("int8", ones, ones, filled=True, **settings)
    with pytest.raises(TypeError, match=r"^`filled` must be True or False, not 1$"):
        driver.pgemm("int8", ones, ones, filled=1)  # type: ignore[arg-type]
