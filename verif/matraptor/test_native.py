"""MatRaptor's RTL at native speed: volume, every semiring, many lanes, any memory, its errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.jobs.matraptor import job_spec
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.registry import entries
from tilewright.sim.matraptor.driver import SparseDriver
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.sparse.c2sr import from_csr
from tilewright.verif.kit.far_memory import FarAccelerator
from tilewright.verif.kit.pages import examples, page, register_rows
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import cases, draw_until, rng_of, slow_but
from tilewright.verif.matraptor.cases import (
    SparseCase,
    first_rows,
    place_case,
    random_case,
    random_matrix,
)
from tilewright.verif.matraptor.jobs import (
    check_case,
    check_failure,
    check_result,
    load_case,
    run_case,
)

MEMORY_BYTES = 1 << 18
SMALL = {"queues": 3, "queue_depth": 24, "outstanding": 4, "data_bits": 64}
CONFIGS: dict[str, dict[str, Any]] = {
    "small": {**entries()["matraptor"].small},
    "plus_times": {**SMALL, "lanes": 2, "channels": 2, "queue_sets": 3, "row_queue": 4,
                   "beat_queue": 2},
    "min_plus": {**SMALL, "semiring": "minplus", "lanes": 2, "channels": 2, "queues": 5},
    "max_plus": {**SMALL, "semiring": "maxplus", "value": "int32", "lanes": 1, "channels": 4},
    "min_mul": {**SMALL, "semiring": "minmul", "value": "fp16", "lanes": 3, "channels": 1},
    "max_mul": {**SMALL, "semiring": "maxmul", "value": "fp64", "data_bits": 128,
                "lanes": 2, "channels": 1},
    "min_max": {**SMALL, "semiring": "minmax", "value": "bf16", "lanes": 3, "channels": 3,
                "outstanding": 16, "a_outstanding": 2},
    "max_min": {**SMALL, "semiring": "maxmin", "lanes": 1, "channels": 6, "queues": 10},
    "or_and": {**SMALL, "semiring": "orand", "index_bits": 16, "lanes": 4, "channels": 2,
               "row_queue": 2, "beat_queue": 8},
    "add_norm": {**SMALL, "semiring": "addnorm", "lanes": 1, "channels": 2, "queues": 16,
                 "queue_sets": 4},
    # Lanes that share channels, a lane with several, and wide beats.
    "shared": {**SMALL, "lanes": 6, "channels": 2, "data_bits": 128, "queues": 4},
    "many_channels": {**SMALL, "lanes": 2, "channels": 6, "value": "int32", "outstanding": 8,
                      "a_outstanding": 16},
    "odd": {**SMALL, "lanes": 3, "channels": 3, "value": "bf16", "semiring": "minplus",
            "interleave": 256, "data_bits": 256, "addr_bits": 64},
    "wide": {**SMALL, "lanes": 4, "channels": 4, "value": "fp64", "data_bits": 512,
             "outstanding": 2, "queues": 5, "adder_stages": 1, "multiplier_stages": 1},
}  # fmt: skip
Device = NativeAccelerator[MatRaptorConfig]


@pytest.fixture(scope="module", params=slow_but(["small"], CONFIGS, []))
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    config = MatRaptorConfig(**CONFIGS[request.param])
    with FarAccelerator(
        emit("matraptor", config),
        config,
        job_spec(config),
        config.addr_bits,
        memory_bytes=MEMORY_BYTES,
        inverted=True,
        time_out=1_000_000,
    ) as device:
        yield device


def heavy_case(rng: np.random.Generator, config: MatRaptorConfig) -> SparseCase:
    return random_case(rng, config, MEMORY_BYTES, most=40, density=0.2)


def test_random_jobs(device: Device) -> None:
    rng = rng_of(1)
    products = 0
    for number in range(cases(200)):
        device.behave(any_behaviour(rng) if number % 3 else AxiBehaviour())
        case = random_case(rng, device.config, MEMORY_BYTES, most=40)
        products += check_case(rng, device, case).counts["operations"]
    assert products > 0


def _overflowing(rng: np.random.Generator, config: MatRaptorConfig, rows: int) -> SparseCase | None:
    a = random_matrix(rng, config, (rows, 12), 0.8)
    b = random_matrix(rng, config, (12, 3 * config.queue_depth), 0.7)
    case = place_case(rng, config, MEMORY_BYTES, a, b)
    return case if len(case.product().overflow) else None


def test_overflow(device: Device) -> None:
    """Rows that do not fit the queues; afterwards all is as it was."""
    config = device.config
    rng = rng_of(4)
    for behaviour in (AxiBehaviour(), any_behaviour(rng)):
        device.behave(behaviour)
        for rows in (1, 9):
            case = draw_until(partial(_overflowing, rng, config, rows))
            wrong = np.zeros(rows, np.bool_)
            wrong[case.product().overflow] = True
            allowed = first_rows(config, rows, wrong)
            check_failure(rng, device, case, {"overflow": allowed})
            check_case(rng, device, heavy_case(rng, config))
    assert device.faults == []


def test_region(device: Device) -> None:
    """Writes nothing after the region if the result is larger than announced."""
    config = device.config
    rng = rng_of(5)
    for behaviour in (AxiBehaviour(), any_behaviour(rng)):
        device.behave(behaviour)
        a = random_matrix(rng, config, (40, 6), 0.5)
        b = random_matrix(rng, config, (6, config.queue_depth), 0.9)
        block = config.layout.block_entries
        case = place_case(rng, config, MEMORY_BYTES, a, b, capacity=block)
        allowed = case.product().region
        assert len(allowed)
        check_failure(rng, device, case, {"region": allowed})
        check_case(rng, device, heavy_case(rng, config))
    assert device.faults == []


def test_a_column_of_a_that_b_has_no_row_for(device: Device) -> None:
    config = device.config
    rng = rng_of(6)
    device.behave(any_behaviour(rng))

    def draw() -> SparseCase | None:
        case = random_case(rng, config, MEMORY_BYTES, most=20, density=0.4)
        return case if case.a.patterns().columns.max(initial=0) > 0 else None

    for _ in range(4):
        case = draw_until(draw)
        starts, columns, _ = case.a.patterns()
        b_rows = int(columns.max())
        wrong = np.zeros(case.a.shape[0], np.bool_)
        wrong[np.searchsorted(starts, np.flatnonzero(columns >= b_rows), side="right") - 1] = True
        allowed = first_rows(config, len(wrong), wrong)
        check_failure(rng, device, case, {"index": allowed}, overrides={"B_ROWS": b_rows})
        check_case(rng, device, heavy_case(rng, config))


def test_columns_of_b_that_do_not_ascend(device: Device) -> None:
    config = device.config
    rng = rng_of(7)
    device.behave(any_behaviour(rng))
    layout = config.layout
    a = random_matrix(rng, config, (7, 5), 1.0)
    b = random_matrix(rng, config, (5, 8), 1.0)
    case = place_case(rng, config, MEMORY_BYTES, a, b)
    row = int(rng.integers(5))
    where = case.row_addresses("b", b, row).reshape(-1, layout.entry_bytes)
    # Its second entry once more.
    entry = int(b.patterns().values[8 * row + 1]) | 1 << config.format.bits
    content = entry.to_bytes(layout.entry_bytes, "little")
    spoiled = {int(where[2][0]): content}
    check_failure(rng, device, case, {"unsorted": range(config.lanes)}, spoiled=spoiled)
    check_case(rng, device, heavy_case(rng, config))


def test_columns_outside_the_range_may_be_in_any_order(device: Device) -> None:
    """Of a row of B only the entries in the range must ascend."""
    config = device.config
    rng = rng_of(8)
    device.behave(any_behaviour(rng))
    a = random_matrix(rng, config, (7, 5), 1.0)
    b = random_matrix(rng, config, (5, 12), 1.0)
    case = replace(place_case(rng, config, MEMORY_BYTES, a, b), column_range=(4, 8))

    def moved(row: int, place: int, column: int) -> dict[int, bytes]:
        """An entry of a row, which has all columns, with another column."""
        where = case.row_addresses("b", b, row).reshape(-1, config.layout.entry_bytes)
        entry = int(b.patterns().values[12 * row + place]) | column << config.format.bits
        return {int(where[place][0]): entry.to_bytes(config.layout.entry_bytes, "little")}

    allowed = {"unsorted": range(config.lanes)}
    check_failure(rng, device, case, allowed, spoiled=moved(2, 5, 4))
    memory = load_case(rng, device, case)
    for row in range(5):
        for address, content in (moved(row, 0, 3) | moved(row, 10, 9)).items():
            device.write_memory(address, content)
            memory[address : address + len(content)] = np.frombuffer(content, np.uint8)
    assert run_case(device, case).error == "none"
    check_result(device, case, memory)


def test_ranges_of_the_same_operands(device: Device) -> None:
    """Jobs one after the other with every width of range, on operands that stay in memory."""
    config = device.config
    rng = rng_of(9)
    count = config.queue_depth
    a, b = (random_matrix(rng, config, shape, 0.4) for shape in ((13, 15), (15, count)))
    case = place_case(rng, config, MEMORY_BYTES, a, b)
    load_case(rng, device, case)
    whole = 0
    for width in range(count):
        device.behave(any_behaviour(rng))
        low = int(rng.integers(0, count - width))
        part = replace(case, column_range=(low, low + width))
        memory = np.frombuffer(device.read_memory(0, MEMORY_BYTES), np.uint8).copy()
        status = run_case(device, part)
        assert status.error == "none"
        check_result(device, part, memory)
        whole = max(whole, status.counts["operations"])
    assert whole == case.product().statistics.products


def test_every_semiring_is_here() -> None:
    covered = {MatRaptorConfig(**settings).semiring for settings in CONFIGS.values()}
    assert covered == set(SEMIRINGS)


def conflicts(rng: np.random.Generator, device: Device, apart: bool) -> int:
    """Counts the conflicts of a product. Either every lane reads B's rows in its own channels, as
    it reads A's if there are enough channels, or all lanes read those of the first channel."""
    config = device.config
    rows, inner, cols = 24, 48, min(12, config.queue_depth)
    i, k = np.arange(rows)[:, None], np.arange(inner)[None, :]
    if apart:
        kept = k % config.lanes == i % config.lanes
    else:
        kept = k % config.channels == np.zeros_like(i)
    a = from_csr(sp.csr_array(np.where(kept, 1.0, 0.0)), config.layout)
    b = from_csr(sp.csr_array(np.ones((inner, cols))), config.layout)
    case = place_case(rng, config, MEMORY_BYTES, a, b)
    return check_case(rng, device, case).counts["conflicts"]


def test_lanes_meet_at_channels_that_they_share(device: Device) -> None:
    """Lanes conflict exactly at the channels that they share."""
    rng = rng_of(5)
    config = device.config
    for _ in range(3):
        device.behave(any_behaviour(rng))
        assert (conflicts(rng, device, apart=True) > 0) == (config.channel_lanes > 1)
        assert (conflicts(rng, device, apart=False) > 0) == (config.lanes > 1)


def test_the_driver_splits_what_overflows(device: Device) -> None:
    """Bit for bit what the driver makes of the model."""
    rng = rng_of(4)
    config = device.config
    device.behave(any_behaviour(rng))
    split = 0
    for _ in range(4):
        a = random_matrix(rng, config, (30, 40), 0.5)
        b = random_matrix(rng, config, (40, 3 * config.queue_depth), 0.3)
        driver, model = SparseDriver(device), SparseDriver(MatRaptorModel(config, MEMORY_BYTES))
        assert driver.multiply(a, b).same_as(model.multiply(a, b))
        assert [job.error for job in driver.jobs] == [job.error for job in model.jobs]
        split += len(driver.jobs) > 1
    assert split > 0


# The pages say what registers the second mode has, and their examples work.

PAGE, JOB_PAGE = page("matraptor.md"), page("matraptor-job.md")


def test_registers_of_the_second_mode() -> None:
    both = register_rows(job_spec(MatRaptorConfig(outer_product=True)).registers)
    plain = register_rows(job_spec(MatRaptorConfig()).registers)
    more = [row for row in both if not row.startswith("| |") and row not in plain]
    assert len(more) == 2
    text = JOB_PAGE.read_text()
    assert all(row in text for row in more)


def test_python_examples_run() -> None:
    found = examples(PAGE, "python")
    assert found
    names: dict[str, object] = {}
    for example in found:
        exec(compile(example, str(PAGE), "exec"), names)
