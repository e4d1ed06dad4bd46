"""The converter between CSR and C2SR, RTL at native speed: byte for byte, on any memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.c2sr import PAIR_BYTES
from tilewright.hw.spec.c2sr_converter import POINTER_BYTES, C2srConverterConfig
from tilewright.hw.spec.jobs.c2sr_converter import (
    BASES,
    MODES,
    job_spec,
)
from tilewright.sim.c2sr_converter.driver import ConverterDriver
from tilewright.sim.device.job_registers import JobRegisters
from tilewright.sim.device.protocol import JobError
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.sparse.c2sr import from_csr, to_csr
from tilewright.verif.bench.device import AxiDevice
from tilewright.verif.c2sr.cases import (
    ConverterCase,
    addresses,
    load,
    matrix_of,
    place,
    run,
    scattered,
)
from tilewright.verif.c2sr.jobs import any_case, check, check_result
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.kit.broken_rules import wrong_values
from tilewright.verif.kit.job_checks import (
    QuietAtEnd,
    check_interrupt,
    register_answers,
    soft_reset_after,
    started_twice,
)
from tilewright.verif.kit.sampling import by_size, cases, draw_until, slow_but

MEMORY_BYTES = 1 << 19
CONFIGS: dict[str, dict[str, Any]] = {
    "two": {"channels": 2, "outstanding": 16},
    "one": {"channels": 1, "data_bits": 64, "outstanding": 4},
    "three": {"channels": 3, "data_bits": 512, "value": "fp64", "outstanding": 16,
              "interleave": 128},
    "eight": {"channels": 8, "data_bits": 512, "value": "fp16", "index_bits": 16,
              "outstanding": 8, "addr_bits": 64},
    "narrow": {"channels": 3, "data_bits": 64, "value": "bf16", "index_bits": 16,
               "interleave": 256, "outstanding": 2},
    "one_wide": {"channels": 1, "data_bits": 256, "value": "int32", "outstanding": 4,
                 "interleave": 2048},
    "entry_is_beat": {"channels": 2, "value": "fp64", "outstanding": 16},
}  # fmt: skip

Converter = NativeAccelerator[C2srConverterConfig]


@cache
def emitted(name: str) -> Emitted:
    return emit("c2sr_converter", C2srConverterConfig(**CONFIGS[name]))


@pytest.fixture(scope="module", params=slow_but(["two"], CONFIGS, ["eight"]))
def device(request: pytest.FixtureRequest) -> Iterator[Converter]:
    config = C2srConverterConfig(**CONFIGS[request.param])
    made = emitted(request.param)
    with NativeAccelerator(made, config, memory_bytes=MEMORY_BYTES, time_out=300_000) as device:
        yield device


def rng_of(device: Converter, seed: int) -> np.random.Generator:
    device.reset()
    device.behave(AxiBehaviour())
    return np.random.default_rng(seed)


def good_case(rng: np.random.Generator, config: C2srConverterConfig, mode: str) -> ConverterCase:
    """Some entries in every channel."""
    lengths = rng.integers(1, 30, 50).astype(np.int64)
    return place(rng, config, mode, matrix_of(rng, config, lengths, 40), spare=5)


@pytest.mark.parametrize("direction", MODES)
def test_any_matrix_on_a_perfect_memory(device: Converter, direction: str) -> None:
    rng = rng_of(device, 1)
    entries = 0
    for _ in range(cases(60)):
        entries += check(rng, device, any_case(rng, device.config, direction)).counts["entries"]
    assert entries > 0
    assert device.faults == []


@pytest.mark.parametrize("direction", MODES)
def test_any_matrix_on_any_memory(device: Converter, direction: str) -> None:
    rng = rng_of(device, 2)
    for _ in range(cases(40)):
        device.behave(any_behaviour(rng))
        check(rng, device, any_case(rng, device.config, direction))
    assert device.faults == []


@pytest.mark.parametrize("direction", MODES)
def test_all_small_numbers_of_rows(device: Converter, direction: str) -> None:
    """Ends of beats, blocks and stripes, of pairs and pointers; a row of no, one, some entries."""
    config = device.config
    rng = rng_of(device, 3)
    last = 2 * config.channels * config.beat_bytes // PAIR_BYTES + 2
    for rows in range(1, by_size(min(last, 4), last, last)):
        for length in (0, 1, 3):
            lengths = np.full(rows, length, np.int64)
            check(rng, device, place(rng, config, direction, matrix_of(rng, config, lengths, 9)))


@pytest.mark.parametrize("direction", MODES)
def test_an_entry_every_cycle(device: Converter, direction: str) -> None:
    """What twice as many rows take longer, once reading is ahead, on a memory with a beat a cycle.

    The channels' beats alone can make it less, if rows are short: pairs and row pointers take
    some, and so do beats with little in them.
    """
    config = device.config
    rng = rng_of(device, 4)
    for length, rows in ((1, 3000), (2, 2000), (8, 400), (64, 20), (1000, 4)):
        counts = []
        for count in (rows, 2 * rows):
            matrix = matrix_of(rng, config, np.full(count, length, np.int64), 1000)
            case = place(rng, config, direction, matrix)
            counts.append(check(rng, device, case).counts)
        more = {name: counts[1][name] - counts[0][name] for name in counts[0]}
        bytes_moved = max(more["bytes_read"], more["bytes_written"])
        least = max(more["entries"], bytes_moved / config.beat_bytes / config.channels)
        rate, bound = (more["entries"] / cycles for cycles in (more["cycles"], least))
        print(f"{config} {direction} {length}: {rate:.3f} of {bound:.3f}")
        if length >= 64:
            assert rate >= 0.98 * bound
            assert bound >= 0.98
        elif config.outstanding > 2 or direction == "csr_to_c2sr":
            # Two bursts under way are two short rows of C2SR.
            assert rate >= 0.95 * bound


@pytest.mark.parametrize("direction", MODES)
def test_jobs_that_cannot_run(device: Converter, direction: str) -> None:
    """Every rule that its register can break."""
    config = device.config
    rng = rng_of(device, 5)
    case = good_case(rng, config, direction)
    values = wrong_values(job_spec(config), case.registers)
    assert len(values) == 6 + (config.index_bits < 32) + len(BASES) * (config.addr_bits < 64)
    for rule, value in values.items():
        memory = load(rng, device, case)
        status = run(QuietAtEnd(device), case, {rule.register: value})
        assert (status.error, status.where) == (rule.error, rule.register)
        assert status.counts["bytes_read"] == status.counts["bytes_written"] == 0
        assert (device.memory == memory).all()
    check(rng, device, case)


@pytest.mark.parametrize("direction", MODES)
def test_region(device: Converter, direction: str) -> None:
    """A result that is larger than said: nothing is written behind the room for it."""
    config = device.config
    rng = rng_of(device, 6)

    def draw(capacity: int) -> tuple[ConverterCase, int] | None:
        """And the first row that does not fit."""
        lengths = rng.integers(0, 30, 60).astype(np.int64)
        lengths[-config.channels :] = 30
        groups = 1 if direction == "c2sr_to_csr" else config.channels
        sums = np.zeros(60, np.int64)
        for group in range(groups):
            sums[group::groups] = np.cumsum(lengths[group::groups])
        if sums.max() <= capacity:
            return None
        case = place(rng, config, direction, matrix_of(rng, config, lengths, 40))
        return case, int(np.argmax(sums > capacity))

    for capacity in (1, 7, 100):
        device.behave(any_behaviour(rng))
        case, row = draw_until(partial(draw, capacity))
        memory = load(rng, device, case)
        status = run(QuietAtEnd(device), case, {"CAPACITY": capacity})
        assert (status.error, status.detail) == ("region", row)
        outside = ~case.written(MEMORY_BYTES, capacity)
        assert (device.memory == memory)[outside].all()
        check(rng, device, good_case(rng, config, direction))
    assert device.faults == []


@pytest.mark.parametrize("first", [False, True])
def test_pointers_that_do_not_ascend(device: Converter, first: bool) -> None:
    config = device.config
    rng = rng_of(device, 7)
    case = good_case(rng, config, "csr_to_c2sr")
    starts = case.matrix.patterns().starts
    for row in [0] if first else rng.integers(1, 49, 3).tolist():
        load(rng, device, case)
        # The end of the row, or the first pointer.
        address = case.base["csr_pointers"] + POINTER_BYTES * (row if first else row + 1)
        value = 1 if first else int(starts[row]) - 1
        device.write_memory(address, value.to_bytes(POINTER_BYTES, "little"))
        status = run(QuietAtEnd(device), case)
        assert (status.error, status.detail) == ("unsorted", row)
        check(rng, device, good_case(rng, config, "c2sr_to_csr"))
        check(rng, device, case)


@pytest.mark.parametrize("direction", MODES)
@pytest.mark.parametrize("side", ["read", "write"])
def test_bus_errors(device: Converter, direction: str, side: str) -> None:
    """In any array, then a good job."""
    config = device.config
    rng = rng_of(device, 8)
    case = good_case(rng, config, direction)
    for address in addresses(case, 30, source=side == "read"):
        size = config.interleave if side == "write" else config.beat_bytes
        errors = {address // size * size + n: 2 for n in range(0, size, config.beat_bytes)}
        device.behave(any_behaviour(rng, **{f"{side}_errors": errors}))
        load(rng, device, case)
        status = run(QuietAtEnd(device), case)
        assert status.error == f"bus_{side}"
        assert status.detail in errors
        device.behave(any_behaviour(rng))
        check(rng, device, case)
    assert device.faults == []


def test_soft_reset_at_any_time(device: Converter) -> None:
    config = device.config
    rng = rng_of(device, 9)
    registers = JobRegisters(device, job_spec(config))
    stopped = 0
    for number in range(cases(40)):
        direction = list(MODES)[number % 2]
        device.behave(any_behaviour(rng))
        case = good_case(rng, config, direction)
        memory = load(rng, device, case)
        registers.write_all(case.registers)
        stopped += soft_reset_after(device, registers, int(rng.integers(0, 400)))
        assert (device.memory == memory)[~case.written(MEMORY_BYTES)].all()
        check(rng, device, good_case(rng, config, list(MODES)[int(rng.integers(2))]))
    assert stopped > cases(40) // 4
    assert device.faults == []


def test_registers(device: Converter) -> None:
    """Identity, and every word of the map: those of the job can be written, no other."""
    rng_of(device, 14)
    spec = job_spec(device.config)
    registers = spec.registers
    parts = registers["CONFIG0"]
    word = device.read_register(parts.offset)
    assert parts.get(word, "channels") == device.config.channels
    assert parts.get(word, "entry_bytes") == device.config.layout.entry_bytes
    answers = register_answers(device, registers)
    for register in registers:
        if register in spec.job:
            mask = 1 if register.name == "MODE" else 0xFFFF_FFFF
            for n in range(register.words):
                place = 2 * (register.offset // 4 + n) + 1
                assert answers[place] == 0xA5A5_A5A5 & mask
    # Behind the last one there is nothing.
    assert answers[-4:] == ["refused"] * 4
    for name in ("ID", "CONFIG0", "ENTRIES"):
        assert answers[2 * (registers[name].offset // 4) + 1] == "refused"


def test_interrupt(device: Converter) -> None:
    rng = rng_of(device, 10)
    device.behave(AxiBehaviour(latency=(60, 60)))
    case = good_case(rng, device.config, "csr_to_c2sr")
    memory = load(rng, device, case)
    check_interrupt(device, job_spec(device.config), case.registers, 20_000)
    check_result(device, case, memory)


@pytest.mark.parametrize("direction", MODES)
def test_registers_are_free_while_a_job_runs(device: Converter, direction: str) -> None:
    """A job works on what was there at its start; a second start meanwhile does nothing."""
    config = device.config
    rng = rng_of(device, 12)
    device.behave(AxiBehaviour(latency=(400, 400)))
    registers = JobRegisters(device, job_spec(config))
    case = good_case(rng, config, direction)
    memory = load(rng, device, case)
    started_twice(device, registers, case.registers)
    check_result(device, case, memory)


@pytest.mark.parametrize("direction", MODES)
def test_the_same_job_twice(device: Converter, direction: str) -> None:
    """Counters begin at zero in every job, and all of the result is written again."""
    rng = rng_of(device, 13)
    device.behave(AxiBehaviour(latency=(20, 20)))
    case = good_case(rng, device.config, direction)
    first, second = (check(rng, device, case).counts for _ in range(2))
    # Who waits for the other at a channel depends on who had the turn before.
    assert abs(first.pop("cycles") - second.pop("cycles")) < 20
    assert first == second


@pytest.mark.slow
@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_the_memory_of_cocotbext_axi(stall: float) -> None:
    """On a memory and a count of what went over the bus that share no code with ours."""
    print("seed 15")
    rng = np.random.default_rng(15)
    config = C2srConverterConfig(**CONFIGS["two"])
    with AxiDevice(
        emitted("two"),
        config,
        outstanding=config.outstanding,
        memory_bytes=1 << 15,
        axi_ram=True,
        seed=15,
        stall=stall,
    ) as device:
        for direction in MODES:
            for rows in (1, 7, 60):
                check(rng, device, any_case(rng, config, direction, rows=rows, most=20))


def test_driver(device: Converter) -> None:
    """There and back, against SciPy; and what it refuses."""
    config = device.config
    rng = rng_of(device, 11)
    device.behave(any_behaviour(rng))
    driver = ConverterDriver(device, first_address=100)
    assert driver.counts == {}
    dense = rng.integers(-3, 4, (37, 21)) * (rng.random((37, 21)) < 0.3)
    for array in (dense, dense[:1], dense[:, :1], 0 * dense, dense[:0]):
        source = csr_array(array.astype(np.float64))
        matrix = from_csr(source, config.layout)
        for direction in MODES:
            found = driver.convert(direction, matrix)
            assert found.same_as(matrix)
            assert (found.pointers == matrix.pointers).all()
            assert driver.counts["entries"] == source.nnz
        again = driver.convert("c2sr_to_csr", scattered(rng, matrix))
        assert np.array_equal(to_csr(again).toarray(), array)
    with pytest.raises(ValueError, match="`direction` must be one of csr_to_c2sr, c2sr_to_csr"):
        driver.convert("c2sr", matrix)
    wide = from_csr(csr_array(np.ones((600, 200))), config.layout)
    full = r"^\d+ bytes of memory are needed for both forms of the matrix; \d+ are left$"
    with pytest.raises(ValueError, match=full):
        driver.convert("csr_to_c2sr", wide)
    other = C2srConverterConfig(**CONFIGS["three" if config.channels != 3 else "two"])
    foreign = matrix_of(rng, other, np.ones(3, np.int64), 4)
    with pytest.raises(ValueError, match="`matrix` must be in layout"):
        driver.convert("csr_to_c2sr", foreign)
    # The pointers' block is the first one behind the first address.
    bad = {-(-100 // config.layout.stripe_bytes) * config.layout.stripe_bytes: 3}
    device.behave(AxiBehaviour(read_errors=bad))
    with pytest.raises(JobError, match=rf"error bus_read \(address {min(bad):#x}\)"):
        driver.convert("csr_to_c2sr", from_csr(csr_array(dense.astype(np.float64)), config.layout))
    device.behave(AxiBehaviour())
    assert driver.convert("csr_to_c2sr", matrix).shape == matrix.shape


def test_configurations_that_cannot_be() -> None:
    with pytest.raises(ValueError, match=r"`channels` must be an integer in 1\.\.16, not 17"):
        C2srConverterConfig(channels=17)
    with pytest.raises(ValueError, match="`data_bits` must be at least 128 for entries of fp64"):
        C2srConverterConfig(value="fp64", data_bits=64)
