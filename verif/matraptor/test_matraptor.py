"""MatRaptor's RTL from end to end, in cocotb: bit for bit, any memory, and every failure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.jobs.matraptor import ARRAYS, job_spec
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim.device.job_registers import JobRegisters
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.verif.bench.axi_memory import DECERR, SLVERR
from tilewright.verif.bench.device import AxiDevice
from tilewright.verif.kit.broken_rules import wrong_values
from tilewright.verif.kit.job_checks import check_interrupt, register_answers, started_twice
from tilewright.verif.kit.sampling import draw_until, rng_of, slow_but
from tilewright.verif.matraptor.cases import (
    SparseCase,
    first_rows,
    place_case,
    random_case,
    random_matrix,
)
from tilewright.verif.matraptor.faults import draw_fault
from tilewright.verif.matraptor.jobs import (
    check_case,
    check_failure,
    check_reset,
    check_result,
    load_case,
)

MEMORY_BYTES = 1 << 16
SMALL: dict[str, Any] = {"queues": 3, "queue_depth": 24, "outstanding": 4, "data_bits": 64}
CONFIGS: dict[str, dict[str, Any]] = {
    "small": {**SMALL, "lanes": 2, "channels": 2},
    # Lanes that share channels.
    "shared": {**SMALL, "lanes": 6, "channels": 2, "data_bits": 128, "queues": 4},
    # A lane with several channels.
    "many_channels": {**SMALL, "lanes": 2, "channels": 6, "value": "int32", "outstanding": 8},
    "one_lane": {**SMALL, "lanes": 1, "channels": 1, "value": "fp16", "index_bits": 16},
    "odd": {**SMALL, "lanes": 3, "channels": 3, "value": "bf16", "semiring": "minplus",
            "interleave": 256, "data_bits": 256, "addr_bits": 64},
    "wide": {**SMALL, "lanes": 4, "channels": 4, "value": "fp64", "data_bits": 512,
             "outstanding": 2, "queues": 5, "adder_stages": 1, "multiplier_stages": 1},
}  # fmt: skip
SEMIRING_VALUES = {"maxplus": "int32", "minmul": "fp16", "maxmul": "bf16", "minmax": "fp32",
                   "maxmin": "fp16", "orand": "fp32", "addnorm": "bf16"}  # fmt: skip
"""The semirings that no configuration has, each with a format."""
ROUGH: dict[str, Any] = {"latency": (1, 80), "stall": 0.3, "mixed": True, "modes": True}
BEHAVIOURS: tuple[dict[str, Any], ...] = ({}, ROUGH)


def sparse_device(name: str, **settings: Any) -> AxiDevice[MatRaptorConfig]:
    return device_of(MatRaptorConfig(**CONFIGS[name]), **settings)


def device_of(config: MatRaptorConfig, **settings: Any) -> AxiDevice[MatRaptorConfig]:
    return AxiDevice(
        emit("matraptor", config),
        config,
        outstanding=config.outstanding,
        may_wait=True,
        memory_bytes=MEMORY_BYTES,
        **settings,
    )


@pytest.fixture(scope="module", params=slow_but([], CONFIGS, ["small"]))
def device(request: pytest.FixtureRequest) -> Iterator[AxiDevice[MatRaptorConfig]]:
    with sparse_device(request.param, lite_stall=0.3) as device:
        yield device


Device = AxiDevice[MatRaptorConfig]


def heavy_case(rng: np.random.Generator, config: MatRaptorConfig) -> SparseCase:
    """A job that ends well, with some work in every lane."""
    return random_case(rng, config, MEMORY_BYTES, most=20, density=0.25)


def test_registers_are_those_of_the_table(device: Device) -> None:
    """Every word of the map, before any job: reads, writes and what is refused, as the model."""
    registers = job_spec(device.config).registers
    found = register_answers(device, registers)
    assert found == register_answers(MatRaptorModel(device.config, MEMORY_BYTES), registers)
    assert found.count("refused") > 10


def test_random_jobs(device: Device) -> None:
    rng = rng_of(1)
    device.behave()
    products = 0
    for _ in range(30):
        case = random_case(rng, device.config, MEMORY_BYTES)
        products += check_case(rng, device, case).counts["operations"]
    assert products > 0
    assert device.faults == []


def test_any_memory(device: Device) -> None:
    rng = rng_of(2)
    behaviours: list[dict[str, Any]] = [
        {"latency": (40, 40)},
        {"latency": (1, 200), "mixed": True},
        {"stall": 0.6},
        {"modes": True},
        ROUGH,
    ]
    for seed, behaviour in enumerate(behaviours):
        device.behave(seed=seed, **behaviour)
        for _ in range(4):
            check_case(rng, device, heavy_case(rng, device.config))
    assert device.faults == []


def test_jobs_that_cannot_run(device: Device) -> None:
    """Every rule that its register can break."""
    rng = rng_of(3)
    device.behave()
    config, spec = device.config, job_spec(device.config)
    case = heavy_case(rng, config)
    values = wrong_values(spec, case.registers)
    can = {"rows": config.index_bits < 32, "capacity": config.channel_lanes > 1}
    assert len(values) == (
        10 + 2 * can["rows"] + can["capacity"] + len(ARRAYS) * (config.addr_bits < 64)
    )
    for rule, value in values.items():
        wrong = {rule.error: [spec.registers[rule.register].offset]}
        status = check_failure(rng, device, case, wrong, overrides={rule.register: value})
        assert status.counts["bytes_read"] == status.counts["operations"] == 0
    check_case(rng, device, case)


def _overflowing(rng: np.random.Generator, config: MatRaptorConfig, rows: int) -> SparseCase | None:
    a = random_matrix(rng, config, (rows, 12), 0.8)
    b = random_matrix(rng, config, (12, 3 * config.queue_depth), 0.7)
    case = place_case(rng, config, MEMORY_BYTES, a, b)
    return case if len(case.product().overflow) else None


def test_overflow(device: Device) -> None:
    """Rows that do not fit the queues; afterwards all is as it was."""
    config = device.config
    rng = rng_of(4)
    for seed, behaviour in enumerate(BEHAVIOURS):
        device.behave(seed=seed, **behaviour)
        for rows in (1, 9):
            case = draw_until(partial(_overflowing, rng, config, rows))
            wrong = np.zeros(rows, np.bool_)
            wrong[case.product().overflow] = True
            allowed = first_rows(config, rows, wrong)
            check_failure(rng, device, case, {"overflow": allowed})
            check_case(rng, device, heavy_case(rng, config))
    assert device.faults == []


def test_region(device: Device) -> None:
    """A result that is larger than said: nothing is written behind the region."""
    config = device.config
    rng = rng_of(5)
    for seed, behaviour in enumerate(BEHAVIOURS):
        device.behave(seed=seed, **behaviour)
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
    device.behave()

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
    device.behave()
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


@pytest.mark.parametrize("array", ARRAYS)
def test_bus_errors(device: Device, array: str) -> None:
    """At any of the arrays, then a good job."""
    config = device.config
    rng = rng_of(8 + ARRAYS.index(array))
    case, where = draw_fault(rng, array, lambda: heavy_case(rng, config))
    bad = {address: (SLVERR, DECERR)[n % 2] for n, address in enumerate(where)}
    side, error = ("writes", "bus_write") if array[0] == "c" else ("reads", "bus_read")
    spoils: dict[str, Any] = {f"bad_{side}": bad}
    device.behave(seed=int(rng.integers(1000)), **ROUGH, **spoils)
    check_failure(rng, device, case, {error: where})
    device.behave()
    check_case(rng, device, heavy_case(rng, config))
    assert device.faults == []


def test_soft_reset_at_any_time(device: Device) -> None:
    rng = rng_of(9)
    stopped = 0
    for number in range(24):
        device.behave(seed=number, **(ROUGH if number % 2 else {"latency": (1, 30), "modes": True}))
        cycles = int(rng.integers(0, 400))
        stopped += check_reset(rng, device, heavy_case(rng, device.config), cycles)
        check_case(rng, device, heavy_case(rng, device.config))
    assert stopped > 24 // 4
    assert device.faults == []


def test_interrupt(device: Device) -> None:
    rng = rng_of(10)
    device.behave()
    case = heavy_case(rng, device.config)
    memory = load_case(rng, device, case)
    check_interrupt(device, job_spec(device.config), case.registers, 5000)
    check_result(device, case, memory)


def test_registers_are_free_while_a_job_runs(device: Device) -> None:
    """A job works on what was there at its start; a second start meanwhile does nothing."""
    config = device.config
    rng = rng_of(11)
    device.behave(latency=(400, 400))
    case = heavy_case(rng, config)
    memory = load_case(rng, device, case)
    registers = JobRegisters(device, job_spec(config))
    started_twice(device, registers, case.registers)
    check_result(device, case, memory)


def test_the_same_job_twice(device: Device) -> None:
    """Counters begin at zero in every job, and all of C is written again."""
    rng = rng_of(12)
    device.behave(latency=(20, 20))
    case = heavy_case(rng, device.config)
    first, second = check_case(rng, device, case), check_case(rng, device, case)
    assert first.counts == second.counts


@pytest.mark.parametrize("stall", slow_but([], [0.0, 0.4], [0.4]))
def test_the_memory_of_cocotbext_axi(stall: float) -> None:
    """On a memory and a count of what went over the bus that share no code with ours."""
    rng = rng_of(13)
    with sparse_device("small", axi_ram=True, seed=13, stall=stall) as device:
        products = sum(
            check_case(rng, device, random_case(rng, device.config, MEMORY_BYTES)).counts[
                "operations"
            ]
            for _ in range(6)
        )
        assert products > 0


@pytest.mark.parametrize("semiring", slow_but([], SEMIRING_VALUES, ["maxplus"]))
def test_other_semirings(semiring: str) -> None:
    value = SEMIRING_VALUES[semiring]
    config = MatRaptorConfig(**SMALL, lanes=2, channels=1, semiring=semiring, value=value)
    rng = rng_of(17)
    products = 0
    with device_of(config, lite_stall=0.3) as device:
        for number in range(20):
            device.behave(seed=number, **BEHAVIOURS[number % 2])
            case = random_case(rng, config, MEMORY_BYTES)
            products += check_case(rng, device, case).counts["operations"]
        assert device.faults == []
    assert products > 0


def test_every_semiring_is_here() -> None:
    covered = {MatRaptorConfig(**settings).semiring for settings in CONFIGS.values()}
    assert covered | set(SEMIRING_VALUES) == set(SEMIRINGS)
