"""Vectors of any length through the driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.gta import GtaConfig
from tilewright.sim.gta.driver import GtaDriver
from tilewright.sim.gta.model import TIMELESS, GtaModel
from tilewright.sim.gta.vector.tiling import most_chain
from tilewright.sim.rtl.accelerator import AxiBehaviour
from tilewright.verif.gta.devices import DRIVEN, LARGE_MEMORY_BYTES, NativeGta, native_gta
from tilewright.verif.gta.jobs import check_product, random_case
from tilewright.verif.gta.vectors import check_vector, random_vector, things_of
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.kit.job_checks import QuietAtEnd
from tilewright.verif.kit.refusal import refused
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but


@pytest.fixture(scope="module", params=slow_but(["tiny"], DRIVEN, ["all"]))
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
