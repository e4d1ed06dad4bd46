"""MatRaptor with A or B in CSR: its RTL leaves the bits that it leaves with C2SR."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.jobs.matraptor import FORMAT_CODES, FORMATS, job_spec
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.device.driver import JobRegisters
from tilewright.sim.matraptor.cycles.plan import canonical, in_csr
from tilewright.sim.matraptor.cycles.rows import simulate
from tilewright.sim.matraptor.driver import SparseDriver
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.timing.dram import FLAT, HBM, HBM_32, MemoryModel
from tilewright.tables.cycle_deviation import CONFIGS as RATED
from tilewright.tables.cycle_deviation import INPUTS, compare, device_of, uniform
from tilewright.verif.kit.job_checks import soft_reset_after
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import cases, rng_of, slow_but
from tilewright.verif.matraptor.cases import (
    SparseCase,
    csr_first,
    place_case,
    random_case,
    random_matrix,
)
from tilewright.verif.matraptor.jobs import check_case, check_failure, check_result, run_case

MEMORY_BYTES = 1 << 18
SMALL: dict[str, Any] = {"queues": 3, "queue_depth": 24, "outstanding": 4, "csr": True}
CONFIGS: dict[str, dict[str, Any]] = {
    "small": {**SMALL, "lanes": 2, "channels": 2, "data_bits": 64},
    "cached": {**SMALL, "lanes": 4, "channels": 2, "data_bits": 64, "value": "fp16",
               "index_bits": 16, "cache_bytes": 1024, "beat_queue": 2},
    "shared": {**SMALL, "lanes": 6, "channels": 2, "value": "int32", "a_outstanding": 2},
    "many": {**SMALL, "lanes": 1, "channels": 6, "data_bits": 64, "semiring": "maxmin"},
    "odd": {**SMALL, "lanes": 3, "channels": 3, "value": "bf16", "semiring": "minplus",
            "interleave": 256, "data_bits": 256, "addr_bits": 64},
    "wide": {**SMALL, "lanes": 2, "channels": 4, "value": "fp64", "data_bits": 512,
             "outstanding": 2, "a_outstanding": 8},
}  # fmt: skip
Device = NativeAccelerator[MatRaptorConfig]


@pytest.fixture(scope="module", params=slow_but([], CONFIGS, ["cached"]))
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    config = MatRaptorConfig(**CONFIGS[request.param])
    emitted = emit("matraptor", config)
    with NativeAccelerator(emitted, config, memory_bytes=MEMORY_BYTES, time_out=1_000_000) as made:
        yield made


def some_case(rng: np.random.Generator, config: MatRaptorConfig, csr: str) -> SparseCase:
    """A product whose rows fit the queues, each row of A with entries, and some of B with none."""
    a = random_matrix(rng, config, (17, 15), 1.0)
    b = random_matrix(rng, config, (15, config.queue_depth), 0.4)
    return place_case(rng, config, MEMORY_BYTES, a, b, csr=csr)


def test_random_jobs(device: Device) -> None:
    """All of memory, and the counters, under any behaviour of the memory; formats change from job
    to job."""
    rng = rng_of(1)
    products = 0
    for number in range(cases(250)):
        device.behave(any_behaviour(rng) if number % 3 else AxiBehaviour())
        case = random_case(rng, device.config, MEMORY_BYTES, most=40)
        products += check_case(rng, device, case).counts["operations"]
    assert products > 0
    assert device.faults == []


@pytest.mark.parametrize("rows", [1, 15, 16, 63, 64])
def test_the_last_pointer_at_an_edge(device: Device, rows: int) -> None:
    """The pointers of as many rows, and of as many rows of B, end at or next to a block."""
    rng = rng_of(2)
    for csr in ("a", "b", "ab", "AB"):
        device.behave(any_behaviour(rng))
        a = random_matrix(rng, device.config, (rows, rows), 0.2)
        b = random_matrix(rng, device.config, (rows, 9), 0.5)
        check_case(rng, device, place_case(rng, device.config, MEMORY_BYTES, a, b, csr=csr))


def test_the_bits_are_those_of_c2sr(device: Device) -> None:
    """Every byte of C, through the driver, in one job and in several."""
    rng = rng_of(3)
    config = device.config
    jobs = []
    for density in (0.1, 0.6):
        device.behave(any_behaviour(rng))
        a = random_matrix(rng, config, (30, 40), density)
        b = random_matrix(rng, config, (40, 3 * config.queue_depth), density)
        driver, model = SparseDriver(device), SparseDriver(MatRaptorModel(config, MEMORY_BYTES))
        found = driver.multiply(a, b)
        for layout in ("csr", "csr-arrays"):
            assert found.same_as(driver.multiply(a, b, layout=layout))
            assert found.same_as(model.multiply(a, b, layout=layout))
        jobs.append(len(model.jobs))
    assert jobs[0] < jobs[1]


def _first(case: SparseCase, name: str) -> int:
    return csr_first(getattr(case, name))


@pytest.mark.parametrize("name", ["a", "b"])
def test_pointers_that_descend(device: Device, name: str) -> None:
    """The job ends, and names a row of C; rows of B that nobody names do not matter."""
    config, rng = device.config, rng_of(4)
    for _ in range(cases(20)):
        device.behave(any_behaviour(rng))
        case = some_case(rng, config, str(rng.choice(["ab", "AB"])))
        matrix = getattr(case, name)
        row = int(rng.integers(matrix.shape[0]))
        begin = _first(case, name) + int(matrix.patterns().starts[row])
        if not begin:
            continue
        low = int(rng.integers(begin))
        spoiled = {case.base[f"{name}_pairs"] + 4 * (row + 1): low.to_bytes(4, "little")}
        rows = [row] if name == "a" else range(case.a.shape[0])
        check_failure(rng, device, case, {"pointers": rows}, spoiled=spoiled)
        check_case(rng, device, some_case(rng, config, "ab"))


def test_a_row_that_nobody_names_may_descend(device: Device) -> None:
    config, rng = device.config, rng_of(5)
    device.behave(any_behaviour(rng))
    a = random_matrix(rng, config, (9, 6), 0.0)
    b = random_matrix(rng, config, (6, 9), 1.0)
    case = place_case(rng, config, MEMORY_BYTES, a, b, csr="ab")
    check_case(rng, device, case)
    device.write_memory(case.base["b_pairs"] + 8, bytes(4))
    memory = np.frombuffer(device.read_memory(0, MEMORY_BYTES), np.uint8).copy()
    assert run_case(device, case).error == "none"
    check_result(device, case, memory)


def test_other_errors(device: Device) -> None:
    """Columns of A and of B, as with C2SR."""
    config, rng = device.config, rng_of(6)
    for csr in ("a", "b", "ab", "AB"):
        device.behave(any_behaviour(rng))
        case = some_case(rng, config, csr)
        everywhere = {"index": range(case.a.shape[0])}
        check_failure(rng, device, case, everywhere, overrides={"B_ROWS": 14})
        if "b" in csr.lower():
            # The last entry of the first row that has two, once more in its place.
            row = int(np.argmax(case.b.lengths > 1))
            starts, columns, values = case.b.patterns()
            entry = int(starts[row]) + 1
            word, size = int(columns[entry - 1]), 4
            if "b" in csr:
                word = int(values[entry]) | word << config.format.bits
                size = config.layout.entry_bytes
            at = case.base["b_entries"] + (entry + _first(case, "b")) * size
            spoiled = {at: word.to_bytes(size, "little")}
            rows = {"unsorted": range(case.a.shape[0])}
            check_failure(rng, device, case, rows, spoiled=spoiled)
        check_case(rng, device, some_case(rng, config, csr))


def test_bus_errors(device: Device) -> None:
    """Of each of the arrays; the job names the address, of B in a cache its block."""
    config, rng = device.config, rng_of(7)
    for number in range(cases(40)):
        case = some_case(rng, config, ("ab", "AB")[number // 2 % 2])
        name = "ab"[number % 2]
        blocks = case.blocks(name)
        block = blocks[number // 4 % len(blocks)]
        address = block.address + int(rng.integers(len(block.data))) & -config.beat_bytes
        behaviour = any_behaviour(rng)
        device.behave(AxiBehaviour(**{**vars(behaviour), "read_errors": {address: 2}}))
        whole = config.cache_bytes and name == "b"
        said = address & -config.interleave if whole else address
        check_failure(rng, device, case, {"bus_read": [said]})
        device.behave(behaviour)
        check_case(rng, device, case)


def test_a_soft_reset_at_any_time(device: Device) -> None:
    rng = rng_of(8)
    registers = JobRegisters(device, job_spec(device.config))
    for _ in range(cases(40)):
        device.behave(any_behaviour(rng))
        case = some_case(rng, device.config, str(rng.choice(["a", "b", "ab", "AB"])))
        check_case(rng, device, case)
        registers.write_all(case.registers)
        soft_reset_after(device, registers, int(rng.integers(0, 1500)))
        check_case(rng, device, case)


def test_a_cache_keeps_b_of_one_format(device: Device) -> None:
    """The same bases with another format are another B."""
    config, rng = device.config, rng_of(9)
    if not config.cache_bytes:
        pytest.skip("without a cache")
    device.behave(any_behaviour(rng))
    case = some_case(rng, config, "b")
    check_case(rng, device, case)
    for csr in ("b", ""):
        b = case.b if csr else random_matrix(rng, config, (15, 9), 0.1)
        changed = replace(case, csr=csr, b=b)
        memory = np.frombuffer(device.read_memory(0, MEMORY_BYTES), np.uint8).copy()
        for block in changed.blocks("b"):
            if not csr:
                memory[block.address : block.address + len(block.data)] = block.data
        device.write_memory(0, memory.tobytes())
        assert run_case(device, changed, {"KEEP": 1}).error == "none"
        check_result(device, changed, memory)


def _differences(device: Device, seed: int) -> list[Any]:
    """Counters that differ between RTL and cycle model, on memories without times of their own."""
    rows, inner, cols = rng_of(seed).integers(1, (90, 60, 25)).tolist()
    operands = uniform(rows, inner, 0.15, seed), uniform(inner, cols, 0.3, seed + 50)
    found = []
    for latency in (1, 20, 100):
        for layout in FORMAT_CODES:
            counts = compare(device, operands, latency, layout=layout)
            wrong = {key: pair for key, pair in counts.items() if pair[0] != pair[1]}
            found += [(latency, layout, wrong)] if wrong else []
    return found


def test_the_cycle_model_counts_as_the_rtl(device: Device) -> None:
    """Every counter, cycles included; also of operands in C2SR, beside the parts for CSR."""
    for seed in range(cases(15)):
        assert not _differences(device, seed)


@pytest.mark.long
@pytest.mark.parametrize("name", RATED)
def test_the_cycle_model_on_many_inputs(name: str) -> None:
    with device_of(MatRaptorConfig(**RATED[name], csr=True)) as rtl:
        for shape in INPUTS:
            for latency, layout in ((1, "csr"), (100, "csr"), (20, "csr-arrays")):
                counts = compare(rtl, INPUTS[shape](), latency, layout=layout)
                wrong = {key: pair for key, pair in counts.items() if pair[0] != pair[1]}
                assert not wrong, (shape, latency, layout)


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("memory", [FLAT, HBM, HBM_32], ids=lambda memory: memory.name)
def test_the_bound_with_csr(memory: MemoryModel, *, apart: bool) -> None:
    """Holds, with the bytes counted one by one."""
    config = MatRaptorConfig(lanes=2, channels=2, csr=True)
    a, b = canonical(uniform(60, 50, 0.05, 3)), canonical(uniform(50, 40, 0.1, 4))
    found = simulate(config, a, b, memory=memory, places=in_csr(a, b, apart=apart))
    assert found.ratio >= 1
    size = found.bound.memory.piece_bytes
    piece = min(size, config.interleave)

    def pieces(first: int, count: int, word: int) -> set[int]:
        return {at // piece for at in range(first * word, (first + count) * word)}

    per_channel, words = [0, 0], (4, 4) if apart else (8,)
    read = [*pieces(0, 61, 4)]
    for word in words:
        read += pieces(0, a.nnz, word)
    for k in a.indices.tolist():
        read += pieces(k, 2, 4)
        for word in words:
            read += pieces(int(b.indptr[k]), int(b.indptr[k + 1] - b.indptr[k]), word)
    for number in read:
        per_channel[number * piece // config.interleave % 2] += 1
    assert list(found.bound.memory.reads) == per_channel


def test_what_the_driver_refuses() -> None:
    config = MatRaptorConfig()
    a = random_matrix(rng_of(10), config, (3, 3), 0.5)
    driver = SparseDriver(MatRaptorModel(config))
    with pytest.raises(ValueError, match=r'^`layout` must be "c2sr": the device has no `csr`$'):
        driver.multiply(a, a, layout="csr")
    with pytest.raises(
        ValueError, match=r"^`layout` must be one of c2sr, csr, csr-arrays, not 'coo'$"
    ):
        driver.multiply(a, a, layout="coo")
    made = job_spec(MatRaptorConfig(csr=True))
    assert [check.register for check in made.checks if check.error == "format"] == [*FORMATS]
    with pytest.raises(ValueError, match=r"^`csr` must be false with `outer_product`, not true$"):
        MatRaptorConfig(csr=True, outer_product=True)
