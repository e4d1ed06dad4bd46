"""Segments of K that run at the same time, each in a separate region, and their sums."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.gta import GtaConfig, is_float, result_bytes
from tilewright.sim.gta.driver import GtaDevice, GtaDriver
from tilewright.sim.gta.golden.pgemm import RESULTS, pgemm
from tilewright.sim.gta.model import GtaModel
from tilewright.sim.gta.regions import Region
from tilewright.sim.gta.schedule.cost import PGemm
from tilewright.sim.gta.schedule.evaluate import choose_filled, cut
from tilewright.sim.gta.tiles.choice import regions_of
from tilewright.sim.gta.tiles.program import merged
from tilewright.sim.gta.tiles.segment_sums import segment_sums
from tilewright.sim.gta.tiles.segmented_product import segment_sizes
from tilewright.sim.gta.timed import TimedGta
from tilewright.sim.rtl.accelerator import AxiBehaviour
from tilewright.sim.timing.memories import FLAT
from tilewright.verif.gta.devices import DEVICES, LARGE_MEMORY_BYTES, NativeGta, native_gta
from tilewright.verif.gta.jobs import ProductCase, check_product, random_case, words
from tilewright.verif.kit.commands import refused
from tilewright.verif.kit.job_checks import QuietAtEnd
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but

pytestmark = pytest.mark.long

INTEGERS = ("int8", "int16", "int32", "int64")
CONFIGS = {
    "all": DEVICES["all"].config,
    "four": GtaConfig(lanes=4, formats=INTEGERS, vector_bytes=4096, outstanding=4, mask_bits=2),
}


def cases(config: GtaConfig, seed: int, count: int) -> Iterator[ProductCase]:
    """Draws integer products with more than one segment."""
    rng = rng_of(seed)
    while count:
        segments = int(rng.choice([2, 3, 4, 5]))
        case = random_case(
            rng, config, format=str(rng.choice(config.integers)), segments=segments, most=60
        )
        count -= 1
        yield case


def ten_segments(config: GtaConfig) -> Iterator[ProductCase]:
    """Yields products of each format in each dataflow. K has ten segments of one or of several
    products, or is 1; segments follow each other, and some of integers run at the same time."""
    rng = rng_of(67)
    for format in (*config.integers, *config.floats):
        flows = ("ws", "is", "os") if format in config.integers else ("os",)
        for flow in (*flows, "simd"):
            for depth in (10, 170, 1):
                a, b = words(rng, format, (9, depth)), words(rng, format, (depth, 5))
                settings = {"segments": min(10, depth), "dataflow": flow}
                yield ProductCase(format, a, b, None, settings)


def check_ten_segments(device: GtaDevice) -> None:
    """A segment is an EXECUTE at least, but in WS, which has a fold of 8 products along K at
    least."""
    for case in ten_segments(device.config):
        done = check_product(device, case)["operations"]
        assert done >= case.settings["segments"] or case.a.shape[1] == 10
        assert done >= case.settings["segments"] or case.settings["dataflow"] in ("ws", "is")


def test_ten_segments_on_the_model() -> None:
    check_ten_segments(GtaModel(MODELS["default"], LARGE_MEMORY_BYTES))


@pytest.mark.slow
def test_ten_segments_on_the_rtl() -> None:
    with native_gta(CONFIGS["all"]) as device:
        check_ten_segments(QuietAtEnd(device))
        assert device.faults == []


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["all"]))
def test_on_the_rtl(name: str) -> None:
    """Checks every result on any memory; products that are small compared to their K take less
    time."""
    config = CONFIGS[name]
    rng = np.random.default_rng(61)
    with native_gta(config) as device:
        for case in cases(config, 62, by_size(0, 12, 1500)):
            device.behave(any_behaviour(rng))
            check_product(QuietAtEnd(device), case)
        device.behave(AxiBehaviour())
        cycles = [_cycles(device, segments) for segments in (1, 2)]
        assert cycles[1] < 0.9 * cycles[0]
        assert device.faults == []


def _cycles(device: NativeGta, segments: int) -> int:
    """Returns the cycles of 8 x 8 sums of 1,000 products, as large as one array."""
    rng = np.random.default_rng(63)
    a, b = words(rng, "int8", (8, 1000)), words(rng, "int8", (1000, 8))
    settings = {"segments": segments, "dataflow": "os"}
    return check_product(device, ProductCase("int8", a, b, None, settings))["cycles"]


MODELS = {
    "default": GtaConfig(),
    "beats": GtaConfig(lanes=8, vector_bytes=2048, data_bits=512),
    "many": GtaConfig(lanes=16, vector_bytes=4096, data_bits=64, mask_bits=3),
    "sums": GtaConfig(lanes=4, partial_bits=22, vector_bytes=2048, data_bits=64, mask_bits=1),
}


@pytest.mark.parametrize("name", MODELS)
def test_on_the_model(name: str) -> None:
    config = MODELS[name]
    model = GtaModel(config, LARGE_MEMORY_BYTES)
    seen: set[int] = set()
    for case in cases(config, 64, by_size(12, 15, 800)):
        check_product(model, case)
        k, settings = case.a.shape[1], case.settings
        seen.add(regions_of(config, case.format, settings["result"], settings["segments"], k))
    assert max(seen) == min(4, 1 << config.mask_bits)


def driver_of(**changes: Any) -> GtaDriver:
    return GtaDriver(GtaModel(GtaConfig(**changes), LARGE_MEMORY_BYTES))


def laid_out(driver: GtaDriver, format: str, segments: int, **settings: Any) -> tuple[int, int]:
    """Returns how many segments run at the same time, and how many parts K is split into."""
    rng = np.random.default_rng(65)
    a, b = words(rng, format, (5, 100)), words(rng, format, (100, 7))
    result = settings.get("result", "wrap")
    found = driver.pgemm(format, a, b, segments=segments, **settings)
    assert np.array_equal(found, pgemm(format, a, b, result=result))
    choice = driver.choice
    assert choice is not None
    return len(choice.regions), len(choice.regions) * choice.tiling.counts[2]


def test_how_many_run_at_the_same_time() -> None:
    """Segments run at the same time only if the device can add up their sums."""
    driver = driver_of()
    assert laid_out(driver, "int8", 1)[0] == 1
    assert laid_out(driver, "int8", 4, dataflow="os") == (4, 4)
    assert laid_out(driver, "int8", 3, dataflow="os")[0] == 2
    assert laid_out(driver, "int8", 100)[0] == 4
    assert laid_out(driver, "int16", 2, result="saturate")[0] == 2
    assert laid_out(driver, "int32", 4)[0] == 4
    one, parts = laid_out(driver, "int32", 4, result="saturate", dataflow="os")
    assert (one, parts >= 4) == (1, True)
    one, parts = laid_out(driver, "fp32", 4)
    assert (one, parts >= 4) == (1, True)
    assert laid_out(driver_of(formats=("int8", "int64")), "int8", 4)[0] == 1
    assert laid_out(driver_of(formats=("int8", "int64")), "int8", 4, result="saturate")[0] == 4
    assert laid_out(driver_of(formats=("int8", "int32")), "int8", 4)[0] == 4
    assert laid_out(driver_of(mask_bits=1), "int8", 4)[0] == 2


def test_the_layout_is_that_of_a_region() -> None:
    driver = driver_of()
    for layout in ((1, 2), (2, 1)):
        assert laid_out(driver, "int8", 2, layout=layout)[0] == 2
        assert driver.choice is not None
        region = driver.choice.tiling.region
        assert (region.rows, region.cols) == layout
    zeros = np.zeros((2, 2), np.uint64)
    with refused(ValueError, "`layout` must be rows x columns of 2 lanes, not 2x2"):
        driver.pgemm("int8", zeros, zeros, segments=2, layout=(2, 2))


def test_sizes_of_segments() -> None:
    assert segment_sizes(10, 4) == (3, 3, 2, 2)
    assert segment_sizes(3, 3) == (1, 1, 1)


def test_no_format_or_no_room_for_sums() -> None:
    regions = [Region(1, 0, 1, 1), Region(1, 1, 1, 1)]
    assert segment_sums(GtaConfig(), 2, 16, regions) is None
    assert segment_sums(GtaConfig(formats=("int8",)), 2, 4, regions) is None
    little = GtaConfig(lanes=16, vector_bytes=2048, data_bits=512)
    assert segment_sums(little, 16, 8, [Region(1, n, 1, 1) for n in range(16)]) is None
    found = segment_sums(GtaConfig(), 2, 4, regions)
    assert found is not None
    assert found.weights().tolist() == [[1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 0, 0]]


def test_what_is_behind_goes_first() -> None:
    """Steps of 10 cycles beside steps of 3."""
    order: list[str] = []

    def steps(name: str, cycles: int, count: int) -> Iterator[int]:
        for _ in range(count):
            order.append(name)
            yield cycles

    assert sum(merged([steps("a", 10, 2), steps("b", 3, 6)])) == 20
    assert "".join(order) == "abbbbabb"


# Filled schedules by the driver: full folds and the rest after them, together.

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
def test_filled_on_the_rtl(device: NativeGta) -> None:
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
