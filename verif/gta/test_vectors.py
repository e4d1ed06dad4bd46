"""Vectors of any length through the driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.gta import GtaConfig
from tilewright.registry import entries
from tilewright.sim.gta.driver import GtaDevice, GtaDriver, ProductCall
from tilewright.sim.gta.model import TIMELESS, GtaModel
from tilewright.sim.gta.vector.tiling import most_chain
from tilewright.sim.rtl.accelerator import AxiBehaviour
from tilewright.verif.gta.devices import DEVICES, DRIVEN, LARGE_MEMORY_BYTES, NativeGta, native_gta
from tilewright.verif.gta.jobs import ProductCase, check_product, random_case, words
from tilewright.verif.gta.vectors import check_vector, random_vector, things_of
from tilewright.verif.kit.commands import refused
from tilewright.verif.kit.job_checks import QuietAtEnd
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but


@pytest.fixture(scope="module", params=slow_but(["tiny"], DRIVEN, []))
def device(request: pytest.FixtureRequest) -> Iterator[NativeGta]:
    with native_gta(DRIVEN[request.param]) as device:
        yield device


def test_any_vector_on_any_memory(device: NativeGta) -> None:
    """The counters that do not tell of time are the model's."""
    rng = rng_of(7)
    model = GtaModel(device.config, LARGE_MEMORY_BYTES)
    for number in range(by_size(30, 40, 3000)):
        device.behave(any_behaviour(rng) if number % 2 else AxiBehaviour())
        case = random_vector(rng, device.config)
        found, wanted = check_vector(QuietAtEnd(device), case), check_vector(model, case)
        assert [found[x] for x in TIMELESS] == [wanted[x] for x in TIMELESS], str(case)
    assert device.faults == []


def test_everything_on_every_format(device: NativeGta) -> None:
    rng = rng_of(8)
    device.behave(AxiBehaviour())
    for format in (*device.config.integers, *device.config.floats):
        for what in things_of(format):
            case = random_vector(rng, device.config, most=200, format=format, what=what)
            check_vector(QuietAtEnd(device), case)


def test_any_product_by_vectors(device: NativeGta) -> None:
    rng, config = rng_of(9), device.config
    model = GtaModel(config, LARGE_MEMORY_BYTES)
    formats = [x for x in config.integers if most_chain(config, x)] + [*config.floats]
    for number in range(by_size(6, 16, 600)):
        device.behave(any_behaviour(rng) if number % 2 else AxiBehaviour())
        format = formats[number % len(formats)]
        case = random_case(rng, config, dataflow="simd", format=format, most=20)
        found, wanted = check_product(QuietAtEnd(device), case), check_product(model, case)
        assert [found[x] for x in TIMELESS] == [wanted[x] for x in TIMELESS], str(case)
    assert device.faults == []


MODELS = {
    "default": GtaConfig(),
    "narrow": GtaConfig(lanes=8, vector_bytes=2048, data_bits=512, float_adders=16),
    "sums": GtaConfig(lanes=2, partial_bits=20, vector_bytes=4096, data_bits=64),
    "one": GtaConfig(lanes=1, vector_bytes=2048, data_bits=64, managers=1),
}


@pytest.mark.parametrize("name", MODELS)
def test_any_vector_on_the_model(name: str) -> None:
    """Runs every operation on each format, with vectors that fill the memories and with others."""
    rng, config = rng_of(1), MODELS[name]
    model = GtaModel(config, LARGE_MEMORY_BYTES)
    seen: Counter[tuple[str, str]] = Counter()
    for format in (*config.integers, *config.floats):
        for what in things_of(format):
            for _ in range(by_size(1, 1, 60)):
                most = 3000 if what != "reduce sum" else 600
                check_vector(model, random_vector(rng, config, most=most, format=format, what=what))
                seen[format, what] += 1
    assert len(seen) == 4 * (14 + 6) + 4 * (10 + 6)


@pytest.mark.parametrize("name", MODELS)
def test_any_product_by_vectors_on_the_model(name: str) -> None:
    rng, config = rng_of(3), MODELS[name]
    model = GtaModel(config, LARGE_MEMORY_BYTES)
    fitting = [x for x in config.integers if most_chain(config, x)]
    for format in (*fitting, *config.floats):
        for _ in range(by_size(1, 2, 40)):
            case = random_case(rng, config, dataflow="simd", format=format)
            check_product(model, case)


def test_chains_that_no_memory_holds() -> None:
    """Sums go on, part by part, with and without a start."""
    rng = rng_of(2)
    config = GtaConfig(lanes=1, vector_bytes=2048)
    model = GtaModel(config, LARGE_MEMORY_BYTES)
    for format in ("bf16", "fp64", "int16"):
        for _ in range(3):
            case = random_vector(rng, config, most=400, format=format, what="reduce sum")
            counts = check_vector(model, case)
            assert counts["operations"] >= 1
    long = rng.integers(0, 1 << 16, 200, dtype=np.uint64)
    driver = GtaDriver(model)
    assert driver.reduce("sum", "int16", long) == long.sum() & 0xFFFF
    assert driver.counts["operations"] > 3


def test_sums_that_no_element_holds() -> None:
    """Refuses int64, whose products need sums of eight limb products."""
    driver = GtaDriver(GtaModel(MODELS["sums"], 1 << 16))
    ones = np.ones((2, 2), np.uint64)
    message = "`partial_bits` must be more for sums of products of int64, not 20"
    with refused(ValueError, message):
        driver.pgemm("int64", ones, ones, dataflow="simd")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("vector", "mul", "int16", [1], [2]), "`format` must be one of int8, fp32, not 'int16'"),
        (
            ("vector", "mulh", "fp32", [1], [2]),
            "`function` on fp32 must be one of mul, fma, add, sub, min, max, eq, ne, lt, le, "
            "select, not 'mulh'; did you mean 'mul'?",
        ),
        (("vector", "add", "int8", [256], [2]), "words must be of 8 bits, not 256"),
        (
            ("vector", "add", "int8", np.zeros(0, np.uint8), [2]),
            "operands must be of at least one element, not of shape (0,)",
        ),
        (
            ("slide_up", "int8", [[1]], 2),
            "`a` must be a vector, from 1 element, not of shape (1, 1)",
        ),
        (("slide_down", "int8", [1], -1), "`places` must be at least 0, not -1"),
        (("slide_down", "int8", [1], 1, 256), "words must be of 8 bits, not 256"),
        (("reduce", "mean", "int8", [1]), "`operation` must be one of sum, min, max, not 'mean'"),
        (
            ("reduce", "min", "int8", np.zeros((3, 0), np.uint8)),
            "`a` must be of at least one element, not of shape (3, 0)",
        ),
        (("reduce", "min", "int8", [[1, 2]], 3), "`start` must have shape (1,), not ()"),
    ],
)
def test_what_is_refused(call: tuple[Any, ...], message: str) -> None:
    driver = GtaDriver(GtaModel(GtaConfig(lanes=2, formats=("int8", "fp32")), 1 << 16))
    with refused(ValueError, message):
        getattr(driver, call[0])(*call[1:])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("vector", "add", "int8", [1]), "`add` takes 2 operands, not 1"),
        (("vector", "add", "int8", [1.5], [1]), "words must be integers, not 1.5"),
        (("slide_up", "int8", [1], True), "`places` must be an integer, not True"),
        (("slide_up", "int8", [1], 1.0), "`places` must be an integer, not 1.0"),
    ],
)
def test_what_is_of_another_type(call: tuple[Any, ...], message: str) -> None:
    driver = GtaDriver(GtaModel(GtaConfig(lanes=2, formats=("int8", "fp32")), 1 << 16))
    with refused(TypeError, message):
        getattr(driver, call[0])(*call[1:])


# Two products at the same time, each on separate lanes.

CONFIGS: dict[str, Any] = {
    "registered": entries()["gta"].small_config,
    "all": DEVICES["all"].config,
    "regions": DEVICES["regions"].config,
}
SPLITS: list[tuple[tuple[int, ...], tuple[int, ...]] | None] = [
    None,
    ((0,), (1,)),
    ((1,), (0,)),
]


def call_of(case: ProductCase, lanes: tuple[int, ...] | None) -> ProductCall:
    kept = {name: case.settings[name] for name in ("result", "dataflow")}
    return ProductCall(format=case.format, a=case.a, b=case.b, c=case.c, lanes=lanes, **kept)


def check_pair(device: GtaDevice, rng: np.random.Generator) -> dict[str, int]:
    """Checks two random products, on given lanes or on lanes that the driver chooses."""
    config = device.config
    fixed: dict[str, Any] = {"segments": 1, "layout": None}
    drawn = [random_case(rng, config, most=30, **fixed) for _ in range(2)]
    lanes = SPLITS[int(rng.integers(len(SPLITS)))] or (None, None)
    driver = GtaDriver(device)
    first, second = (call_of(case, own) for case, own in zip(drawn, lanes, strict=True))
    found = driver.pair(first, second)
    for case, result in zip(drawn, found, strict=True):
        assert np.array_equal(result, case.expected()), str(case)
    return driver.counts


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["registered"]))
def test_on_the_rtl(name: str) -> None:
    """Checks every result on any memory; counters that do not depend on time are the model's. Two
    products that each fill a lane take less time together than in succession on all lanes."""
    config = CONFIGS[name]
    model = GtaModel(config, LARGE_MEMORY_BYTES)
    rng = np.random.default_rng(71)
    with native_gta(config) as device:
        for seed in range(by_size(0, 15, 800)):
            device.behave(any_behaviour(rng))
            counts = check_pair(QuietAtEnd(device), np.random.default_rng(seed))
            wanted = check_pair(model, np.random.default_rng(seed))
            assert [counts[x] for x in TIMELESS] == [wanted[x] for x in TIMELESS], seed
        device.behave(AxiBehaviour())
        if name == "all":
            _less_than_alone(device)
        assert device.faults == []


def _less_than_alone(device: NativeGta) -> None:
    """A pair of float products takes less time than both alone; 8 x 8 sums fill one lane's
    elements."""
    rng, driver = np.random.default_rng(72), GtaDriver(device)
    calls = [
        ProductCall(format=name, a=words(rng, name, (8, k)), b=words(rng, name, (k, 8)))
        for name, k in (("fp32", 200), ("fp16", 225))
    ]
    together = driver.pair(calls[0], calls[1])
    cycles = driver.counts["cycles"]
    alone = 0
    for call, found in zip(calls, together, strict=True):
        assert np.array_equal(driver.pgemm(call.format, call.a, call.b), found)
        alone += driver.counts["cycles"]
    assert cycles < 0.6 * alone


MODELS_PAIR = {
    "default": GtaConfig(),
    "wide": GtaConfig(lanes=8, vector_bytes=4096, data_bits=512, float_adders=16),
    "two": GtaConfig(lanes=2, vector_bytes=2048, partial_bits=24, data_bits=64, mask_bits=1),
}


@pytest.mark.parametrize("name", MODELS_PAIR)
def test_on_the_model(name: str) -> None:
    model = GtaModel(MODELS_PAIR[name], LARGE_MEMORY_BYTES)
    rng = np.random.default_rng(73)
    for _ in range(by_size(10, 15, 600)):
        check_pair(model, rng)


@pytest.mark.parametrize(
    ("layout", "lanes", "rows", "cols"),
    [
        ((2, 2), ((0, 2), (1, 3)), (2, 2), (1, 1)),
        ((2, 2), ((2, 3), (0, 1)), (1, 1), (2, 2)),
        ((4, 1), ((0, 1, 2), (3,)), (3, 1), (1, 1)),
        ((1, 4), ((3,), (0, 1, 2)), (1, 1), (1, 3)),
        (None, ((1, 3), (0,)), (2, 1), (1, 1)),
    ],
)
def test_lanes_that_are_given(
    layout: tuple[int, int] | None,
    lanes: tuple[tuple[int, ...], tuple[int, ...]],
    rows: tuple[int, int],
    cols: tuple[int, int],
) -> None:
    rng = np.random.default_rng(74)
    config = GtaConfig()
    driver = GtaDriver(GtaModel(config, LARGE_MEMORY_BYTES))
    fixed: dict[str, Any] = {"segments": 1, "layout": None}
    drawn = [random_case(rng, config, **fixed) for _ in lanes]
    calls = [call_of(case, own) for case, own in zip(drawn, lanes, strict=True)]
    found = driver.pair(calls[0], calls[1], layout)
    for case, result in zip(drawn, found, strict=True):
        assert np.array_equal(result, case.expected())
    assert driver.choices is not None
    regions = [choice.tiling.region for choice in driver.choices]
    assert tuple(region.rows for region in regions) == rows
    assert tuple(region.cols for region in regions) == cols
    assert [tuple(sorted(region.lanes)) for region in regions] == [tuple(sorted(x)) for x in lanes]


def test_the_longer_one_has_more_lanes() -> None:
    rng = np.random.default_rng(75)
    driver = GtaDriver(GtaModel(GtaConfig(), LARGE_MEMORY_BYTES))
    long = ProductCall(
        format="int32", a=words(rng, "int32", (40, 60)), b=words(rng, "int32", (60, 40))
    )
    short = ProductCall(
        format="int32", a=words(rng, "int32", (4, 60)), b=words(rng, "int32", (60, 4))
    )
    driver.pair(long, short)
    assert driver.choices is not None
    sizes = [choice.tiling.region.rows * choice.tiling.region.cols for choice in driver.choices]
    assert sizes == [3, 1]


@pytest.mark.parametrize(
    ("lanes", "layout", "message"),
    [
        (((0,), None), None, "`lanes` must be given of both products, or of neither"),
        (((0,), (4,)), None, "`lanes` must be in 0..3, not 4"),
        (((0,), (-1,)), None, "`lanes` must be in 0..3, not -1"),
        (((0,), ()), None, "`lanes` must be at least one, not none"),
        (((0, 1), (1, 2)), None, "`lanes` must be of one product each, not 1 of both"),
        (((0, 3), (1,)), None, "`lanes` must be a rectangle of any layout, not 0+3"),
        (((0, 1), (2, 3)), (2, 2), ""),
        (((0, 2), (1,)), (1, 4), "`lanes` must be a rectangle of the layout 1x4, not 0+2"),
        (((0, 2), (1,)), None, ""),
        (((0, 1, 2), (3,)), (2, 2), "`lanes` must be a rectangle of the layout 2x2, not 0+1+2"),
        (((0,), (1,)), (3, 1), "`layout` must be rows x columns of 4 lanes, not 3x1"),
    ],
)
def test_pair_what_is_refused(
    lanes: tuple[tuple[int, ...] | None, ...], layout: tuple[int, int] | None, message: str
) -> None:
    driver = GtaDriver(GtaModel(GtaConfig(), LARGE_MEMORY_BYTES))
    zeros = np.zeros((2, 2), np.uint64)
    first, second = (ProductCall(format="int8", a=zeros, b=zeros, lanes=own) for own in lanes)
    if not message:
        assert not any(found.any() for found in driver.pair(first, second, layout))
        return
    with refused(ValueError, message):
        driver.pair(first, second, layout)


def test_what_a_device_has_not() -> None:
    zeros = np.zeros((2, 2), np.uint64)
    call = ProductCall(format="int8", a=zeros, b=zeros)
    driver = GtaDriver(GtaModel(GtaConfig(lanes=1), LARGE_MEMORY_BYTES))
    message = "`lanes` must be at least 2 for two products at the same time, not 1"
    with refused(ValueError, message):
        driver.pair(call, call)
    driver = GtaDriver(GtaModel(GtaConfig(formats=("int8",)), LARGE_MEMORY_BYTES))
    with refused(ValueError, "`format` must be int8, not 'fp32'"):
        driver.pair(call, ProductCall(format="fp32", a=zeros, b=zeros))
    with refused(ValueError, "`dataflow` must be ws, is, os or auto for a product on separate "
                             "lanes, not "
                             "'simd'"):  # fmt: skip
        driver.pair(call, ProductCall(format="int8", a=zeros, b=zeros, dataflow="simd"))


def test_rectangles_of_different_layouts() -> None:
    """Lanes 0 and 2 of eight are a rectangle in 4 x 2, 1 and 5 in 2 x 4: the layouts differ."""
    driver = GtaDriver(GtaModel(GtaConfig(lanes=8), LARGE_MEMORY_BYTES))
    zeros = np.zeros((2, 2), np.uint64)
    first, second = (
        ProductCall(format="int8", a=zeros, b=zeros, lanes=lanes) for lanes in ((0, 2), (1, 5))
    )
    with refused(ValueError, "`lanes` must be rectangles of one layout, not 0+2 and 1+5"):
        driver.pair(first, second)
