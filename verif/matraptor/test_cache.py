"""MatRaptor with a cache of B: its RTL never computes with an old block, nor with a broken one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.jobs.matraptor import counters, job_spec
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.device.driver import JobRegisters
from tilewright.sim.matraptor.driver import SparseDriver
from tilewright.sim.matraptor.model import MatRaptorModel, needed
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.sparse.image import image
from tilewright.sim.timing.dram import FLAT
from tilewright.tables.cycle_deviation import CONFIGS, INPUTS, compare, device_of
from tilewright.verif.kit.job_checks import soft_reset_after
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import by_size, cases, rng_of, slow_but
from tilewright.verif.matraptor.cases import SparseCase, place_case, random_case, random_matrix
from tilewright.verif.matraptor.jobs import (
    check_case,
    check_failure,
    check_result,
    load_case,
    run_case,
)

MEMORY_BYTES = 1 << 17
SMALL: dict[str, Any] = {
    "lanes": 2,
    "channels": 2,
    "queues": 4,
    "queue_depth": 64,
    "outstanding": 4,
}
SIZES: dict[str, dict[str, Any]] = {
    "large": {**SMALL, "cache_bytes": 1 << 15},
    "tiny": {**SMALL, "cache_bytes": 1 << 10},
    "shared": {**SMALL, "lanes": 6, "interleave": 256, "cache_bytes": 1 << 14},
    "odd": {**SMALL, "lanes": 3, "channels": 3, "value": "bf16", "data_bits": 512,
            "cache_bytes": 3 << 11},
    "many": {**SMALL, "channels": 6, "data_bits": 64, "cache_bytes": 3 << 12},
}  # fmt: skip
Device = NativeAccelerator[MatRaptorConfig]


@pytest.fixture(scope="module", params=slow_but(["large"], SIZES, []))
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    config = MatRaptorConfig(**SIZES[request.param])
    emitted = emit("matraptor", config)
    with NativeAccelerator(emitted, config, memory_bytes=MEMORY_BYTES) as made:
        yield made


def dense_case(rng: np.random.Generator, config: MatRaptorConfig) -> SparseCase:
    """Rows of B that are used often, and as many rows of A."""
    a, b = (random_matrix(rng, config, (24, 24), 0.3) for _ in range(2))
    return place_case(rng, config, MEMORY_BYTES, a, b)


def misses(device: Device, case: SparseCase, **registers: int) -> int:
    """Runs a job, whose result must be right, with the cache as it is; returns its misses."""
    memory = np.frombuffer(device.read_memory(0, MEMORY_BYTES), np.uint8).copy()
    status = run_case(device, case, registers)
    assert status.error == "none"
    check_result(device, case, memory)
    return status.counts["cache_misses"]


def test_random_jobs(device: Device) -> None:
    """Operands change from job to job, under any behaviour of the memory."""
    rng = rng_of(1)
    for number in range(cases(60)):
        device.behave(any_behaviour(rng) if number % 3 else AxiBehaviour())
        check_case(rng, device, random_case(rng, device.config, MEMORY_BYTES, most=40))


def test_blocks_are_kept(device: Device) -> None:
    """If the driver says so and B has the same registers; not after an error or a soft reset."""
    rng = rng_of(2)
    device.behave(any_behaviour(rng))
    case = dense_case(rng, device.config)
    registers = JobRegisters(device, job_spec(device.config))
    load_case(rng, device, case)
    first = misses(device, case, KEEP=0)
    kept = misses(device, case, KEEP=1)
    assert kept < first
    if device.config.cache_bytes == SIZES["large"]["cache_bytes"]:
        assert kept == 0
    again = misses(device, case, KEEP=0)
    assert again > kept
    assert kept or again == first
    larger = case.b.shape[0] + 1
    assert misses(device, case, KEEP=1, B_ROWS=larger) > kept
    again = misses(device, case, KEEP=1, B_ROWS=larger)
    assert again < first
    assert kept or not again
    assert run_case(device, case, {"KEEP": 1, "ROWS": 0}).error == "zero_size"
    assert misses(device, case, KEEP=1) > kept
    control = registers.register("CTRL")
    registers.write("CTRL", control.put(soft_reset=1, irq_enable=1))
    assert misses(device, case, KEEP=1) > kept


def test_the_host_changes_b(device: Device) -> None:
    """Without KEEP a job sees what is in memory."""
    rng = rng_of(3)
    case = dense_case(rng, device.config)
    for _ in range(4):
        device.behave(any_behaviour(rng))
        changed = random_matrix(rng, device.config, case.b.shape, 0.3)
        case = place_case(rng, device.config, MEMORY_BYTES, case.a, changed)
        load_case(rng, device, case)
        misses(device, case, KEEP=0)


@pytest.mark.parametrize("seed", range(3))
def test_c_is_written_over_b(device: Device, seed: int) -> None:
    """A job without entries writes its pairs over those of B; the next one, with KEEP, must see
    that rows of B are empty now."""
    config, rng = device.config, rng_of(4 + seed)
    device.behave(any_behaviour(rng))
    case = dense_case(rng, config)
    load_case(rng, device, case)
    misses(device, case, KEEP=0)
    rows = int(rng.integers(1, 25))
    empty = random_matrix(rng, config, (rows, 24), 0.0)
    for block in image(empty, pairs_base=case.base["a_pairs"], entries_base=0):
        device.write_memory(block.address, block.data.tobytes())
    over = {"KEEP": 1, "ROWS": rows, "C_PAIRS": case.base["b_pairs"]}
    assert run_case(device, case, over).error == "none"
    for block in image(
        case.a, pairs_base=case.base["a_pairs"], entries_base=case.base["a_entries"]
    ):
        device.write_memory(block.address, block.data.tobytes())
    left = replace(case, b=needed(case.b, np.arange(24) >= rows))
    assert misses(device, left, KEEP=1) > 0


@pytest.mark.parametrize("name", ["c_pairs", "c_entries"])
def test_bases_off_a_stripe_keep_nothing(device: Device, name: str) -> None:
    """Other channels' caches may have the blocks that such a job writes: the next one begins with
    an empty cache."""
    config, rng = device.config, rng_of(12)
    device.behave(any_behaviour(rng))
    case = dense_case(rng, config)
    ranks = {each: n for n, each in enumerate(sorted(case.base, key=lambda at: case.base[at]))}
    step = 2 * config.geometry.stripe_bytes
    case = replace(case, base={each: case.base[each] + step * n for each, n in ranks.items()})
    load_case(rng, device, case)
    first = misses(device, case, KEEP=0)
    kept = misses(device, case, KEEP=1)
    off = {"KEEP": 1, name.upper(): case.base[name] + config.interleave}
    assert run_case(device, case, off).error == "none"
    assert misses(device, case, KEEP=1) > kept
    if config.cache_bytes == SIZES["large"]["cache_bytes"]:
        misses(device, case, KEEP=0)
        assert run_case(device, case, off).error == "none"
        assert misses(device, case, KEEP=1) == first


def test_a_block_that_fails_is_not_kept(device: Device) -> None:
    """A read of B fails, merged with others or not; the error names the block, and the next job
    reads it again."""
    config, rng = device.config, rng_of(8)
    case = dense_case(rng, config)
    for _ in range(cases(12)):
        row = int(rng.choice(case.rows_of_b[case.b.lengths[case.rows_of_b] > 0]))
        pair = bool(rng.integers(2))
        bytes_ = case.pair_addresses("b", np.array([row])) if pair else (
            case.row_addresses("b", case.b, row)
        )  # fmt: skip
        address = int(rng.choice(bytes_)) & -config.beat_bytes
        behaviour = any_behaviour(rng)
        device.behave(AxiBehaviour(**{**vars(behaviour), "read_errors": {address: 2}}))
        block = address & -config.interleave
        check_failure(rng, device, case, {"bus_read": [block]}, overrides={"KEEP": 0})
        device.behave(behaviour)
        misses(device, case, KEEP=1)


def test_a_soft_reset_at_any_time(device: Device) -> None:
    rng = rng_of(9)
    registers = JobRegisters(device, job_spec(device.config))
    for _ in range(cases(30)):
        device.behave(any_behaviour(rng))
        case = dense_case(rng, device.config)
        load_case(rng, device, case)
        registers.write_all(case.registers | {"KEEP": int(rng.integers(2))})
        soft_reset_after(device, registers, int(rng.integers(0, 2000)))
        check_case(rng, device, case)


CACHED: dict[str, dict[str, Any]] = {
    "2x2": {
        **CONFIGS["2x2"],
        "cache_bytes": 4096,
        "queue_sets": 3,
        "row_queue": 8,
        "beat_queue": 4,
    },
    "4x2": {**CONFIGS["4x2"], "cache_bytes": 1024},
    "2x6": {**CONFIGS["2x6"], "cache_bytes": 6 << 13},
    "3x3": {**CONFIGS["3x3"], "cache_bytes": 3 << 13},
    "8x8": {**CONFIGS["8x8"], "cache_bytes": 1 << 20},
}
SHAPES = by_size(["short_3"], ["short_3", "power_law", "dense_column", "empty_rows"], [*INPUTS])


@pytest.mark.parametrize("name", slow_but([], CACHED, ["2x2"]))
def test_the_cycle_model_counts_as_the_rtl(name: str) -> None:
    """Every counter, those of the cache included, on memories without times of their own."""
    config = MatRaptorConfig(**CACHED[name])
    with device_of(config) as rtl:
        for shape in SHAPES:
            for latency in (1, 20, 100):
                counts = compare(rtl, INPUTS[shape](), latency)
                wrong = {key: pair for key, pair in counts.items() if pair[0] != pair[1]}
                assert not wrong, (shape, latency)


def _after_empty_rows(rows: int) -> sp.csr_array:
    """Rows of A without entries, whose pairs of C are written at once, before some with."""
    a = sp.random_array((rows + 24, 24), density=0.2, format="lil", rng=np.random.default_rng(3))
    a[:rows, :] = 0
    return a.tocsr()


@pytest.mark.parametrize("rows", by_size([32], [16, 32, 48], [*range(8, 72, 4)]))
def test_the_model_of_the_walk(device: Device, rows: int) -> None:
    """Writes are answered before, in and after the last cycle of the walk over the sets; a job
    without reads of B ends with the walk, so that the next one does not meet it."""
    b = sp.random_array((24, 30), density=0.3, format="csr", rng=np.random.default_rng(4))
    for latency in range(1, by_size(10, 30, 60)):
        counts = compare(device, (_after_empty_rows(rows), b), latency)
        assert not {key: pair for key, pair in counts.items() if pair[0] != pair[1]}, latency
    counts = compare(device, (sp.csr_array((rows, 24)), b), 1)
    assert not {key: pair for key, pair in counts.items() if pair[0] != pair[1]}
    assert counts["cycles"][0] > device.config.cache_sets


def test_jobs_of_a_product_keep_b() -> None:
    """The tiles of an outer product that read the same B: in the cycle model, without misses but
    in the first of them."""
    config = MatRaptorConfig(**{**SMALL, "cache_bytes": 1 << 15}, outer_product=True)
    rng = rng_of(11)
    a, b = (random_matrix(rng, config, (90, 90), 0.2) for _ in range(2))
    driver = SparseDriver(MatRaptorModel(config, channel=FLAT))
    plain = SparseDriver(MatRaptorModel(config))
    assert driver.multiply(a, b, mode="outer").same_as(plain.multiply(a, b, mode="outer"))
    tiles = driver.tiles(a, b)
    assert len(tiles.row_ranges) > 1
    found = [job.counts["cache_misses"] for job in driver.jobs]
    rows = len(tiles.row_ranges)
    assert all((count == 0) == (number % rows > 0) for number, count in enumerate(found))
    assert set(counters(config)) >= {"cache_hits", "cache_merged", "cache_evictions"}
