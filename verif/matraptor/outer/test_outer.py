"""Outer products on MatRaptor's RTL at native speed: volume, every semiring and division of lanes
and channels, any memory, every error, resets, and both modes by turns on one accelerator.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from amaranth.sim import Simulator
from tilewright.hw.emit.unit import emit
from tilewright.hw.matraptor.outer.product import OuterProduct
from tilewright.hw.spec.jobs.matraptor import job_spec
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.device.driver import JobRegisters
from tilewright.sim.matraptor.driver import SparseDriver
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.sim.matraptor.result.outer import overflow_rows
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.sparse.c2sr import from_csr
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import cases, draw_until, rng_of, slow_but
from tilewright.verif.matraptor.cases import random_case, random_matrix
from tilewright.verif.matraptor.jobs import check_case, check_failure, fits
from tilewright.verif.matraptor.outer.outer_cases import (
    OuterCase,
    check_outer,
    in_rows,
    outer_case,
    random_outer,
    rows_about,
    spoil_unused,
)

MEMORY_BYTES = 1 << 18
SMALL = {"queues": 3, "queue_depth": 64, "outstanding": 4, "data_bits": 64, "outer_product": True}
CONFIGS: dict[str, dict[str, Any]] = {
    "plus_times": {**SMALL, "lanes": 2, "channels": 2},
    "one_lane": {**SMALL, "semiring": "minplus", "lanes": 1, "channels": 1, "queues": 9},
    "max_plus": {**SMALL, "semiring": "maxplus", "value": "int32", "lanes": 2, "channels": 4,
                 "queue_depth": 48, "index_bits": 16},
    "min_mul": {**SMALL, "semiring": "minmul", "value": "fp16", "lanes": 4, "channels": 2,
                "data_bits": 128, "interleave": 128},
    "max_mul": {**SMALL, "semiring": "maxmul", "value": "fp64", "data_bits": 128,
                "lanes": 2, "channels": 1, "queues": 5},
    "min_max": {**SMALL, "semiring": "minmax", "value": "bf16", "lanes": 3, "channels": 3,
                "adder_stages": 1, "multiplier_stages": 1},
    "max_min": {**SMALL, "semiring": "maxmin", "lanes": 1, "channels": 6, "queues": 10},
    "or_and": {**SMALL, "semiring": "orand", "index_bits": 16, "lanes": 6, "channels": 2},
    "add_norm": {**SMALL, "semiring": "addnorm", "lanes": 1, "channels": 2, "queues": 16},
    "halves": {**SMALL, "value": "fp16", "index_bits": 16, "lanes": 2, "channels": 6, "queues": 6,
               "adder_stages": 2, "multiplier_stages": 2},
}  # fmt: skip
Device = NativeAccelerator[MatRaptorConfig]


@pytest.fixture(scope="module", params=slow_but([], CONFIGS, ["one_lane"]))
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    config = MatRaptorConfig(**CONFIGS[request.param])
    with NativeAccelerator(
        emit("matraptor", config), config, memory_bytes=MEMORY_BYTES, time_out=200_000
    ) as device:
        yield device


def any_outer(rng: np.random.Generator, config: MatRaptorConfig) -> OuterCase:
    return random_outer(rng, config, MEMORY_BYTES, most=40)


def heavy_outer(rng: np.random.Generator, config: MatRaptorConfig) -> OuterCase:
    """A job with some work in every lane."""
    return random_outer(rng, config, MEMORY_BYTES, most=24, density=0.4)


def dense_outer(
    rng: np.random.Generator, config: MatRaptorConfig, shape: tuple[int, int, int], **how: Any
) -> OuterCase:
    rows, inner, columns = shape
    a = random_matrix(rng, config, (rows, inner), 1.0)
    b = random_matrix(rng, config, (inner, columns), 1.0)
    return outer_case(rng, config, MEMORY_BYTES, a, b, **how)


def largest_columns(config: MatRaptorConfig, rows: int) -> int:
    """The most for which the sums fit."""
    return max(n for n in range(1, config.queue_depth + 1) if fits(config, rows, n))


def test_random_jobs(device: Device) -> None:
    rng = rng_of(1)
    products = 0
    for number in range(cases(200)):
        device.behave(any_behaviour(rng) if number % 3 else AxiBehaviour())
        products += check_outer(rng, device, any_outer(rng, device.config)).counts["operations"]
    assert products > 0


def test_both_modes_by_turns(device: Device) -> None:
    """Leftovers of one mode in the queues, or in COLUMNS, do not affect the other."""
    rng = rng_of(2)
    done = {"rows": 0, "outer": 0}
    for _ in range(cases(120)):
        device.behave(any_behaviour(rng) if rng.integers(2) else AxiBehaviour())
        if rng.integers(2):
            by_rows = in_rows(rng, random_case(rng, device.config, MEMORY_BYTES, most=30))
            done["rows"] += check_case(rng, device, by_rows).counts["operations"]
        else:
            case = any_outer(rng, device.config)
            done["outer"] += check_outer(rng, device, case).counts["operations"]
    assert min(done.values()) > 0


def test_results_that_just_fit(device: Device) -> None:
    """Every line of the queues in use, twice; and rows of as many columns as there may be."""
    rng = rng_of(3)
    config = device.config
    for rows in {1, config.lanes, 2 * config.lanes, 5 * config.lanes - 1}:
        device.behave(any_behaviour(rng))
        columns = largest_columns(config, rows)
        assert rows > config.lanes or columns == config.queue_depth
        for _ in range(2):
            check_outer(rng, device, dense_outer(rng, config, (rows, 3, columns)))


def test_overflow(device: Device) -> None:
    """Results that do not fit, by a column, by a row, or by far; the next job is a good one. If no
    lane's part fits, nothing is written."""
    rng = rng_of(4)
    config = device.config
    block, depth = config.layout.block_entries, config.queue_depth
    rows, banks = depth * config.lanes, config.accumulator_banks
    wide = largest_columns(config, 3 * config.lanes)
    shapes = [(rows + 1, 2, 1), (rows, 2, banks + 1), (3 * rows, 1, 3)]
    shapes += [(3 * config.lanes, 2, wide + 1)] if wide < depth else []
    shapes += [((banks + 1) * config.lanes, 2, depth)]
    for shape in shapes:
        assert not fits(config, shape[0], shape[2])
        device.behave(any_behaviour(rng))
        case = dense_outer(rng, config, shape, capacity=block)
        allowed = overflow_rows(config, shape[0], shape[2])
        status = check_failure(rng, device, case, {"overflow": allowed})
        assert status.counts["results"] == status.counts["bytes_written"] == 0
        check_outer(rng, device, heavy_outer(rng, config))
    # One lane has a row more than the others, whose parts fit.
    each = depth // -(-depth // banks)
    uneven = each * config.lanes + 1, 2, depth
    assert config.lanes == 1 or fits(config, uneven[0] - 1, depth)
    device.behave(AxiBehaviour())
    allowed = overflow_rows(config, uneven[0], depth)
    assert len(allowed) == 1
    check_failure(rng, device, dense_outer(rng, config, uneven, capacity=block),
                  {"overflow": allowed})  # fmt: skip
    check_outer(rng, device, heavy_outer(rng, config))


def test_region(device: Device) -> None:
    """Writes nothing after the region if the result is larger than announced."""
    rng = rng_of(5)
    config = device.config
    block = config.layout.block_entries
    columns = min(config.queue_depth, 9)
    rows = max(n for n in range(1, 60) if fits(config, n, columns))

    def draw() -> OuterCase | None:
        a = random_matrix(rng, config, (rows, 6), 0.7)
        b = random_matrix(rng, config, (6, columns), 0.7)
        case = outer_case(rng, config, MEMORY_BYTES, a, b, capacity=block)
        return case if len(case.product().region) else None

    for _ in range(cases(40)):
        device.behave(any_behaviour(rng))
        case = draw_until(draw)
        check_failure(rng, device, case, {"region": case.product().region})
        check_outer(rng, device, heavy_outer(rng, config))


def test_columns_that_are_too_large(device: Device) -> None:
    """Entries of A for rows that C does not have; of B, where it is read, for such columns."""
    rng = rng_of(6)
    config = device.config

    def draw() -> OuterCase | None:
        case = any_outer(rng, config)
        several = case.left.shape[0] > 1 and case.b.patterns().columns.max(initial=0) > 0
        return case if several else None

    seen = {"a": 0, "b": 0}
    for number in range(cases(60)):
        device.behave(any_behaviour(rng))
        case = draw_until(draw)
        t, b = case.a.patterns(), case.b.patterns()
        if number % 2:
            rows = int(rng.integers(1, case.left.shape[0]))
            of = np.repeat(np.arange(case.a.shape[0]), case.a.lengths)
            # Lanes without rows of C have nothing to do.
            far = (t.columns * config.lanes + of % config.lanes >= rows) & (
                of % config.lanes < rows
            )
            overrides, allowed, which = {"ROWS": rows}, np.unique(of[far]).tolist(), "a"
        else:
            columns = int(rng.integers(1, int(b.columns.max()) + 1))
            k = np.repeat(np.arange(case.b.shape[0]), case.b.lengths)[b.columns >= columns]
            overrides, allowed, which = {"COLUMNS": columns}, rows_about(case, k), "b"
        if allowed:
            check_failure(rng, device, case, {"index": allowed}, overrides=overrides)
            seen[which] += 1
        check_outer(rng, device, heavy_outer(rng, config))
    assert min(seen.values()) > 0


def test_columns_of_b_that_do_not_ascend(device: Device) -> None:
    rng = rng_of(7)
    config = device.config
    layout = config.layout
    model = MatRaptorModel(config, MEMORY_BYTES)
    for _ in range(cases(20)):
        device.behave(any_behaviour(rng))
        a = random_matrix(rng, config, (5, 6), 0.6)
        b = random_matrix(rng, config, (6, 8), 1.0)
        case = outer_case(rng, config, MEMORY_BYTES, a, b)
        row, entry = int(rng.integers(6)), int(rng.integers(1, 8))
        allowed = rows_about(case, np.array([row]))
        where = case.row_addresses("b", b, row).reshape(-1, layout.entry_bytes)
        # The column before it once more, or a smaller one.
        column = int(rng.integers(entry))
        word = int(b.patterns().values[8 * row + entry]) | column << config.format.bits
        spoiled = {int(where[entry][0]): word.to_bytes(layout.entry_bytes, "little")}
        if allowed:
            check_failure(rng, device, case, {"unsorted": allowed}, spoiled=spoiled)
            model.write_memory(0, device.read_memory(0, MEMORY_BYTES))
            found = JobRegisters(model, job_spec(config)).submit(case.registers)
            assert (found.error, found.detail) == ("unsorted", min(allowed))
        else:
            check_outer(rng, device, case, spoiled=spoiled)
        check_outer(rng, device, heavy_outer(rng, config))


def test_rows_of_b_that_no_lane_needs_may_be_anything(device: Device) -> None:
    rng = rng_of(8)
    config = device.config

    def draw() -> tuple[OuterCase, dict[int, bytes]] | None:
        case = random_outer(rng, config, MEMORY_BYTES, most=24, density=0.15)
        spoiled = spoil_unused(rng, case)
        return (case, spoiled) if spoiled and case.product().statistics.products else None

    for _ in range(cases(30)):
        device.behave(any_behaviour(rng))
        case, spoiled = draw_until(draw)
        check_outer(rng, device, case, spoiled=spoiled)


def test_the_driver_cuts_what_does_not_fit(device: Device) -> None:
    """Bit for bit, and count by count, what the driver makes of the model."""
    rng = rng_of(17)
    config = device.config
    device.behave(any_behaviour(rng))
    model = SparseDriver(MatRaptorModel(config, MEMORY_BYTES))
    driver = SparseDriver(device)
    rows = 5 * config.lanes
    a = random_matrix(rng, config, (rows, 20), 0.5)
    b = random_matrix(rng, config, (20, largest_columns(config, rows) + 9), 0.5)
    assert driver.multiply(a, b, mode="outer").same_as(model.multiply(a, b, mode="outer"))
    assert len(driver.jobs) == len(model.jobs) > 1
    for job, expected in zip(driver.jobs, model.jobs, strict=True):
        counts = {name: value for name, value in expected.counts.items() if value}
        assert {name: job.counts[name] for name in counts} == counts


def test_products_of_dense_rows(device: Device) -> None:
    """An entry of C for every pair; several outer products to the same sums, one after another."""
    rng = rng_of(18)
    config = device.config
    device.behave(AxiBehaviour())
    whole = from_csr(sp.csr_array(np.ones((config.lanes, 64))), config.layout)
    b = from_csr(sp.csr_array(np.ones((64, config.accumulator_banks))), config.layout)
    status = check_outer(rng, device, outer_case(rng, config, MEMORY_BYTES, whole, b))
    assert status.counts["operations"] == config.lanes * 64 * config.accumulator_banks


# Raises two errors of an outer product at once: the detail belongs to the reported one.

CONFIG = MatRaptorConfig(lanes=1, channels=1, queues=3, queue_depth=4, outer_product=True)
ROWS, COLUMNS = 6, 2
FULL_ROW = 4
"""A line a row: the fifth one has no room."""
ROW = 99
"""Row of A, as it is stored, to which the wrong entry of B belongs."""


def run(wrong: str, offered: int) -> dict[str, int]:
    """Returns the cycle of each error if the wrong entry is offered from a given cycle on."""
    unit = OuterProduct(CONFIG)
    seen: dict[str, int] = {}

    async def drive(ctx: Any) -> None:
        ctx.set(unit.job.rows, ROWS)
        ctx.set(unit.job.columns, COLUMNS)
        ctx.set(unit.rows_in_lane, ROWS)
        ctx.set(unit.start, 1)
        for cycle in range(1, 24):
            await ctx.tick()
            ctx.set(unit.start, 0)
            if cycle >= offered:
                # Two entries in column 1, or one in a column that B does not have.
                ctx.set(unit.i.valid, 1)
                ctx.set(unit.i.payload.present, 1)
                ctx.set(unit.i.payload.column, 1 if wrong == "unsorted" else COLUMNS)
                ctx.set(unit.i.payload.row.index, ROW)
            found = {name: ctx.get(getattr(unit, name)) for name in ("overflow", wrong)}
            detail = ctx.get(unit.error_row.index)
            if found[wrong]:
                assert detail == ROW
            elif found["overflow"]:
                assert detail == FULL_ROW
            seen.update({name: cycle for name in found if found[name] and name not in seen})

    simulator = Simulator(unit)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()
    assert set(seen) == {"overflow", wrong}
    return seen


@pytest.mark.parametrize("wrong", ["index_error", "unsorted"])
def test_an_overflow_and_a_wrong_row_of_b(wrong: str) -> None:
    seen = [run(wrong, offered) for offered in range(1, 9)]
    assert {(x[wrong] > x["overflow"]) - (x[wrong] < x["overflow"]) for x in seen} == {-1, 0, 1}
