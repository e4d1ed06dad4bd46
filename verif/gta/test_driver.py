"""Products of any size through the driver, on the RTL at native speed and on the model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.gta import GtaConfig, result_bytes
from tilewright.hw.spec.jobs.gta import job_spec
from tilewright.sim.device.driver import JobRegisters
from tilewright.sim.gta.driver import GtaDriver
from tilewright.sim.gta.model import TIMELESS, GtaModel
from tilewright.sim.gta.regions import Region
from tilewright.sim.gta.tiles.choice import tilings
from tilewright.sim.gta.tiles.segment_sums import Slots, StreamImage
from tilewright.sim.gta.tiles.tiling import Problem
from tilewright.sim.rtl.accelerator import AxiBehaviour
from tilewright.verif.gta.devices import DRIVEN, LARGE_MEMORY_BYTES, NativeGta, native_gta
from tilewright.verif.gta.jobs import ProductCase, check_product, random_case, words
from tilewright.verif.kit.commands import refused
from tilewright.verif.kit.job_checks import QuietAtEnd, soft_reset_after
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but


@pytest.fixture(scope="module", params=slow_but(["tiny"], DRIVEN, []))
def device(request: pytest.FixtureRequest) -> Iterator[NativeGta]:
    with native_gta(DRIVEN[request.param]) as device:
        yield device


def test_any_product_on_any_memory(device: NativeGta) -> None:
    """The counters that do not tell of time are the model's."""
    rng = rng_of(1)
    model = GtaModel(device.config, LARGE_MEMORY_BYTES)
    for number in range(by_size(40, 50, 3000)):
        device.behave(any_behaviour(rng) if number % 2 else AxiBehaviour())
        case = random_case(rng, device.config)
        found, wanted = check_product(QuietAtEnd(device), case), check_product(model, case)
        assert [found[x] for x in TIMELESS] == [wanted[x] for x in TIMELESS], str(case)
    assert device.faults == []


def test_large_products(device: NativeGta) -> None:
    """Many tiles each way: memories hold parts of them in turn."""
    rng = rng_of(2)
    device.behave(AxiBehaviour())
    for _ in range(by_size(1, 2, 60)):
        case = random_case(rng, device.config, most=by_size(90, 120, 300))
        check_product(QuietAtEnd(device), case)


def test_after_a_soft_reset_nothing_is_left(device: NativeGta) -> None:
    """Resets jobs in the middle of bursts and folds; the next job is unaffected."""
    rng = rng_of(3)
    registers = JobRegisters(device, job_spec(device.config))
    stopped, count = 0, by_size(10, 12, 600)
    for _ in range(count):
        device.behave(any_behaviour(rng))
        check_product(device, random_case(rng, device.config))
        stopped += soft_reset_after(device, registers, int(rng.integers(1, 800)))
        check_product(device, random_case(rng, device.config))
    assert stopped > count // 4
    assert device.faults == []


def test_the_bus_and_the_array_work_at_the_same_time(device: NativeGta) -> None:
    """A product with long streams keeps the array busy most of the time."""
    config = device.config
    rng = rng_of(4)
    device.behave(AxiBehaviour())
    name = (*config.integers, *config.floats)[0]
    k = min(512, config.most_products)
    a, b = words(rng, name, (64, k)), words(rng, name, (k, 64))
    counts = check_product(device, ProductCase(name, a, b, None, {}))
    assert counts["busy_cycles"] + counts["stalls"] <= counts["cycles"]
    assert counts["element_cycles"] == 64 * config.lanes * counts["busy_cycles"]
    assert counts["operations"] > 1


MODELS = {
    "default": GtaConfig(),
    "narrow": GtaConfig(lanes=8, vector_bytes=2048, data_bits=512, float_adders=16),
    "sums": GtaConfig(lanes=2, partial_bits=22, vector_bytes=4096, data_bits=64),
}


@pytest.mark.parametrize("name", MODELS)
def test_any_product_on_the_model(name: str) -> None:
    rng = rng_of(5)
    model = GtaModel(MODELS[name], LARGE_MEMORY_BYTES)
    for _ in range(by_size(20, 25, 2000)):
        check_product(model, random_case(rng, MODELS[name]))


def test_every_tiling_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tiling gives the same result, not only the one that the driver would choose."""
    config = GtaConfig(lanes=2, vector_bytes=4096)
    model, rng = GtaModel(config, LARGE_MEMORY_BYTES), rng_of(6)
    seen = set()
    for flow, name in (("ws", "int16"), ("is", "int8"), ("os", "int32"), ("os", "bf16")):
        fixed: dict[str, Any] = {"segments": 1, "layout": (1, 2), "result": "wrap"}
        case = random_case(rng, config, most=80, format=name, dataflow=flow, **fixed)
        operation = "os" if flow == "os" else "ws"
        shape = (case.a.shape[0], case.b.shape[1])
        m, n = shape[::-1] if flow == "is" else shape
        problem = Problem(
            m=m, n=n, k=case.a.shape[1], format=name, operation=operation, width=result_bytes(name)
        )
        for tiling in tilings(problem, Region(2, 0, 1, 2), config):
            monkeypatch.setattr(
                "tilewright.sim.gta.tiles.choice.tilings", lambda *_, made=tiling: iter([made])
            )
            check_product(model, case)
            seen.add((flow, tiling.row_folds, tiling.col_folds))
    assert len(seen) > 8


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "fp16"}, "`format` must be one of int8, int64, fp32, not 'fp16'"),
        ({"result": "half"}, "`result` must be one of wrap, saturate, long, not 'half'"),
        ({"result": "long"}, "`result` of int8 must be wrap or saturate, not 'long'"),
        (
            {"format": "fp32", "result": "saturate"},
            "`result` of fp32 must be wrap, not 'saturate'",
        ),
        (
            {"format": "fp32", "dataflow": "ws"},
            "`dataflow` must be one of auto, os, simd, not 'ws'",
        ),
        ({"dataflow": "rs"}, "`dataflow` must be one of auto, ws, is, os, simd, not 'rs'"),
        (
            {"dataflow": "simd", "result": "saturate"},
            "`result` must be wrap with dataflow simd, not 'saturate'",
        ),
        (
            {"dataflow": "simd", "layout": (1, 3)},
            "`layout` must be rows x columns of 2 lanes, not 1x3",
        ),
        ({"layout": (3, 1)}, "`layout` must be rows x columns of 2 lanes, not 3x1"),
        ({"segments": 0}, "`segments` must be at least 1, not 0"),
        (
            {"b": np.zeros((3, 2), np.uint64)},
            "`a` and `b` must be M x K and K x N, from 1, not (2, 2), (3, 2)",
        ),
        ({"c": np.zeros((3, 2), np.uint64)}, "`c` must have shape (2, 2), not (3, 2)"),
        (
            {
                "format": "int64",
                "result": "saturate",
                "a": np.full((2, 2), 1 << 63, np.uint64),
                "b": np.full((2, 2), 1 << 63, np.uint64),
            },
            "sums of int64 must fit 128 bits to be saturated; K times the largest of `a` and of "
            "`b` has 128 bits and a sign",
        ),
    ],
)
def test_what_is_refused(changes: dict[str, Any], message: str) -> None:
    model = GtaModel(GtaConfig(lanes=2, formats=("int8", "int64", "fp32")), 1 << 16)
    call: dict[str, Any] = {
        "format": "int8",
        "a": np.zeros((2, 2), np.uint64),
        "b": np.zeros((2, 2), np.uint64),
    }
    with refused(ValueError, message):
        GtaDriver(model).pgemm(**{**call, **changes})


@pytest.mark.parametrize("layout", ["2x1", 2, (2,), (2, 1.0), (1, 1, 2)])
def test_what_is_no_layout(layout: Any) -> None:
    driver = GtaDriver(GtaModel(GtaConfig(lanes=2), 1 << 16))
    zeros = np.zeros((2, 2), np.uint64)
    message = f"`layout` must be a tuple of two integers, rows and columns, not {layout!r}"
    with refused(TypeError, message):
        driver.pgemm("int8", zeros, zeros, layout=layout)


@pytest.mark.parametrize("name", ["lateral", "overlap"])
@pytest.mark.parametrize("given", [1, "x"])
def test_what_is_no_flag(name: str, given: Any) -> None:
    driver = GtaDriver(GtaModel(GtaConfig(lanes=1), 1 << 16))
    zeros = np.zeros((2, 2), np.uint64)
    with refused(TypeError, f"`{name}` must be True or False, not {given!r}"):
        driver.pgemm("int8", zeros, zeros, **{name: given})


_TOO_LITTLE = (
    "`partial_bits` or `vector_bytes` must be more for this dataflow and layout, not {} and {}"
)


def test_results_that_fit_no_bank() -> None:
    """128 rows of 8 bytes."""
    config = GtaConfig(lanes=16, vector_bytes=2048)
    zeros = np.zeros((2, 2), np.uint64)
    driver = GtaDriver(GtaModel(config, 1 << 16))
    with refused(ValueError, _TOO_LITTLE.format(config.partial_bits, 2048)):
        driver.pgemm("int8", zeros, zeros, dataflow="os", layout=(16, 1), result="saturate")
    assert not driver.pgemm("int8", zeros, zeros, dataflow="os", result="saturate").any()
    assert driver.choice is not None
    assert driver.choice.layout > 0


def test_floats_need_adders() -> None:
    with refused(ValueError, "`float_adders` must not be 0 with formats of floats alone"):
        GtaConfig(formats=("fp32",), float_adders=0)


def test_no_dataflow_for_sums_that_are_too_short() -> None:
    config = GtaConfig(lanes=1, partial_bits=20)
    zeros = np.zeros((2, 2), np.uint64)
    driver = GtaDriver(GtaModel(config, 1 << 16))
    with refused(ValueError, _TOO_LITTLE.format(20, 16384)):
        driver.pgemm("int8", zeros, zeros, dataflow="ws")
    assert not driver.pgemm("int8", zeros, zeros, dataflow="os").any()


def test_too_little_memory() -> None:
    driver = GtaDriver(GtaModel(GtaConfig(), 1 << 10))
    zeros = np.zeros((64, 64), np.uint64)
    with pytest.raises(ValueError, match=re.escape("bytes of memory are needed for operands")):
        driver.pgemm("int32", zeros, zeros)


@pytest.mark.parametrize("element", [1, 2, 4, 8, 16])
def test_images(element: int) -> None:
    """Packs and unpacks images with pieces of any size; each starts at a beat and is padded with
    zeros."""
    rng = rng_of(7)
    for piece in (1, 3, 8, 100):
        image = StreamImage(streams=5, count=21, piece=piece, element=element, beat=32)
        shape = (5, 21, 2) if element == 16 else (5, 21)
        bits = 8 * min(element, 8)
        content = rng.integers(0, 1 << min(bits, 63), shape, dtype=np.uint64)
        made = image.to_bytes(content)
        assert len(made) == image.size
        assert image.stride % 32 == image.piece_bytes % 32 == 0
        assert (image.from_bytes(made) == content).all()
        begin = image.offset(2, 0)
        first = content.reshape(5, 21, -1)[2, 0, 0]
        assert int.from_bytes(made[begin : begin + min(element, 8)], "little") == first


def test_slots_hold_what_was_used_last() -> None:
    slots = Slots(16, 2)
    taken = [slots.take(tile) for tile in ("a", "b", "a", "c", "a", "b")]
    assert [slot.word for slot, _ in taken] == [0, 8, 0, 8, 0, 8]
    assert [fill for _, fill in taken] == [True, True, False, True, False, True]
