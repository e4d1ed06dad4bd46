"""MatRaptor's RTL from end to end, in cocotb: bit for bit, any memory, and every failure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit import emit
from tilewright.hw.spec.job_registers import Check
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.matraptor_registers import CHECKS, ERRORS, ID, register_map
from tilewright.sim.device import RegisterError
from tilewright.sim.job_registers import JobRegisters
from tilewright.sim.matraptor_device import MatRaptorModel
from tilewright.verif.kit.axi_device import AxiDevice
from tilewright.verif.kit.axi_memory import DECERR, SLVERR
from tilewright.verif.kit.matraptor_cases import (
    SparseCase,
    first_rows,
    place_case,
    random_case,
    random_matrix,
    wrong_value,
)
from tilewright.verif.kit.matraptor_jobs import (
    check_case,
    check_failure,
    check_reset,
    load_case,
    run_case,
)
from tilewright.verif.kit.sampling import QUICK, cases, slow_but

MEMORY_BYTES = 1 << 16
SMALL = {"queues": 3, "queue_depth": 24, "outstanding": 4, "data_bits": 64}
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
ROUGH: dict[str, Any] = {"latency": (1, 80), "stall": 0.3, "mixed": True}
BEHAVIOURS: tuple[dict[str, Any], ...] = ({}, ROUGH)


def sparse_device(name: str, **settings: Any) -> AxiDevice[MatRaptorConfig]:
    config = MatRaptorConfig(**CONFIGS[name])
    return AxiDevice(
        emit("matraptor", config),
        config,
        outstanding=config.outstanding,
        may_wait=True,
        memory_bytes=MEMORY_BYTES,
        **settings,
    )


@pytest.fixture(scope="module", params=slow_but([], CONFIGS))
def device(request: pytest.FixtureRequest) -> Iterator[AxiDevice[MatRaptorConfig]]:
    with sparse_device(request.param, lite_stall=0.3) as device:
        yield device


Device = AxiDevice[MatRaptorConfig]


def rng_of(seed: int) -> np.random.Generator:
    print(f"seed {seed}")
    return np.random.default_rng(seed)


def heavy_case(rng: np.random.Generator, config: MatRaptorConfig) -> SparseCase:
    """A job that ends well, with some work in every lane."""
    return random_case(rng, config, MEMORY_BYTES, most=20, density=0.25)


def test_registers_are_those_of_the_table(device: Device) -> None:
    """Every word of the map, before any job: reads, writes and what is refused, as the model."""
    config = device.config
    model = MatRaptorModel(config, MEMORY_BYTES)
    answers: dict[str, list[int | str]] = {"rtl": [], "model": []}
    targets: dict[str, Any] = {"rtl": device, "model": model}
    # Bit 0 of CTRL would start a job.
    values = {register_map(config)["CTRL"].offset: 4}
    for name, target in targets.items():
        for offset in range(0, register_map(config).size + 8, 4):
            try:
                answers[name].append(target.read_register(offset))
            except RegisterError:
                answers[name].append("refused")
            try:
                target.write_register(offset, values.get(offset, 0xA5A5_A5A5))
                answers[name].append(target.read_register(offset))
            except RegisterError:
                answers[name].append("refused")
    assert answers["rtl"] == answers["model"]
    assert answers["rtl"].count("refused") > 10


def test_random_jobs(device: Device) -> None:
    rng = rng_of(1)
    device.behave()
    products = 0
    for _ in range(cases(30)):
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
        ROUGH,
    ]
    for seed, behaviour in enumerate(behaviours):
        device.behave(seed=seed, **behaviour)
        for _ in range(1 if QUICK else 4):
            check_case(rng, device, heavy_case(rng, device.config))
    assert device.faults == []


@pytest.mark.parametrize("rule", CHECKS, ids=lambda rule: f"{rule.error}-{rule.register}")
def test_a_job_that_cannot_run(device: Device, rule: Check) -> None:
    rng = rng_of(3)
    device.behave()
    case = heavy_case(rng, device.config)
    value = wrong_value(device.config, rule)
    if value == 0 and rule.error != "zero_size":
        assert rule.error == "size_limit"
        return
    if value >> 64:
        assert rule.error == "address_range"
        assert device.config.addr_bits == 64
        return
    offset = register_map(device.config)[rule.register].offset
    status = check_failure(
        rng, device, case, {rule.error: [offset]}, overrides={rule.register: value}
    )
    assert status.counts["bytes_read"] == status.counts["operations"] == 0


def test_overflow(device: Device) -> None:
    """Rows that do not fit the queues; afterwards all is as it was."""
    config = device.config
    rng = rng_of(4)
    for seed, behaviour in enumerate(BEHAVIOURS):
        device.behave(seed=seed, **behaviour)
        for rows in (1, 9):
            a = random_matrix(rng, config, (rows, 12), 0.8)
            b = random_matrix(rng, config, (12, 3 * config.queue_depth), 0.7)
            case = place_case(rng, config, MEMORY_BYTES, a, b)
            wrong = np.zeros(rows, np.bool_)
            wrong[case.product().overflow] = True
            if wrong.any():
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
    for _ in range(4):
        case = random_case(rng, config, MEMORY_BYTES, most=20, density=0.4)
        starts, columns, _ = case.a.patterns()
        if not len(columns):
            continue
        b_rows = int(columns.max())
        if b_rows == 0:
            continue
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


def test_bus_errors(device: Device) -> None:
    """At any of the arrays, then a good job."""
    config = device.config
    rng = rng_of(8)
    for name in ("a_pairs", "a_entries", "b_pairs", "b_entries", "c_pairs", "c_entries"):
        case = heavy_case(rng, config)
        operand = {"a": case.a, "b": case.b, "c": case.product().c}[name[0]]
        assert operand is not None
        used = np.flatnonzero(operand.lengths)
        if name[0] == "b":
            used = np.unique(case.a.patterns().columns)
            used = used[operand.lengths[used] > 0]
        if not len(used):
            continue
        row = rng.choice(used)
        if name.endswith("pairs"):
            address = int(case.pair_addresses(name[0], np.array([row]))[0])
        else:
            address = int(rng.choice(case.row_addresses(name[0], operand, row)))
        size = config.interleave if name[0] == "c" else config.beat_bytes
        block = address // size * size
        bad = {block + n: (SLVERR, DECERR)[n % 2] for n in range(0, size, config.beat_bytes)}
        side, error = ("writes", "bus_write") if name[0] == "c" else ("reads", "bus_read")
        spoils: dict[str, Any] = {f"bad_{side}": bad}
        device.behave(seed=int(rng.integers(1000)), **ROUGH, **spoils)
        check_failure(rng, device, case, {error: bad})
        assert device.faults == []
        device.behave()
        check_case(rng, device, heavy_case(rng, config))


def test_soft_reset_at_any_time(device: Device) -> None:
    rng = rng_of(9)
    stopped = 0
    for number in range(4 if QUICK else 24):
        device.behave(seed=number, **(ROUGH if number % 2 else {"latency": (1, 30)}))
        cycles = int(rng.integers(0, 400))
        stopped += check_reset(rng, device, heavy_case(rng, device.config), cycles)
        check_case(rng, device, heavy_case(rng, device.config))
    assert stopped > 0
    assert device.faults == []


def test_interrupt(device: Device) -> None:
    config = device.config
    rng = rng_of(10)
    device.behave()
    registers = JobRegisters(device, register_map(config), ID)
    status = registers.register("STATUS")
    case = heavy_case(rng, config)
    load_case(rng, device, case)
    for name, value in case.registers.items():
        registers.write(name, value)
    registers.write("CTRL", 0)
    assert not device.irq()
    registers.write("CTRL", 1)
    device.run(5000)
    assert (registers.read("STATUS"), device.irq()) == (status.put(done=1), False)
    registers.write("CTRL", 4)
    assert device.irq()
    registers.write("STATUS", status.put(done=1))
    assert (registers.read("STATUS"), device.irq()) == (0, False)
    registers.write("ROWS", 0)
    registers.write("CTRL", 1 | 4)
    device.wait()
    assert registers.read("STATUS") == status.put(error=1, error_code=ERRORS["zero_size"])
    registers.write("STATUS", status.put(error=1))
    assert not device.irq()


def test_registers_are_free_while_a_job_runs(device: Device) -> None:
    """A job works on what was there at its start; a second start meanwhile does nothing."""
    config = device.config
    rng = rng_of(11)
    device.behave(latency=(60, 60))
    case = heavy_case(rng, config)
    load_case(rng, device, case)
    registers = JobRegisters(device, register_map(config), ID)
    for name, value in case.registers.items():
        registers.write(name, value)
    registers.write("CTRL", 1 | 4)
    for name in case.registers:
        registers.write(name, 0)
    device.wait()
    assert registers.read("STATUS") == 2
    registers.write("STATUS", 2)
    product = case.product()
    assert product.c is not None
    found = np.frombuffer(device.read_memory(0, MEMORY_BYTES), np.uint8)
    pairs = found[case.pair_addresses("c", np.arange(case.a.shape[0]))].view("<u4")
    assert np.array_equal(pairs[0::2], product.c.lengths)
    assert np.array_equal(pairs[1::2], product.c.pointers)


def test_the_same_job_twice(device: Device) -> None:
    """Counters begin at zero in every job."""
    rng = rng_of(12)
    device.behave(latency=(20, 20))
    case = heavy_case(rng, device.config)
    load_case(rng, device, case)
    first, second = run_case(device, case), run_case(device, case)
    assert first.counts == second.counts
    assert first.error == second.error == "none"
