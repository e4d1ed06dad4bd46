"""The cycle model of whole jobs against the RTL: every counter is equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.gta import COLS, FORMATS_OF_GTA, RESULT_WORD_BYTES, GtaConfig, element_bytes
from tilewright.hw.spec.jobs.gta import job_spec, mask_registers
from tilewright.hw.spec.jobs.gta_commands import OPERATIONS, command_bytes
from tilewright.hw.spec.jobs.gta_vector import (
    OCTET,
    VECTOR_FUNCTIONS,
    functions_of,
    operand_memories,
    vector_result_bytes,
)
from tilewright.sim.device.driver import JobRegisters
from tilewright.sim.gta import timed
from tilewright.sim.gta.array_job import Schedule
from tilewright.sim.gta.cycles.machine import run_job
from tilewright.sim.gta.driver import GtaDriver
from tilewright.sim.gta.golden.pgemm import RESULTS
from tilewright.sim.gta.model import TIMELESS, GtaModel
from tilewright.sim.gta.timed import TimedGta
from tilewright.sim.gta.vector.tiling import laid_out, most_chain
from tilewright.sim.rtl.accelerator import AxiBehaviour
from tilewright.sim.timing.memories import FLAT, HBM, HBM_32, MemoryModel
from tilewright.verif.gta.devices import DEVICES, LARGE_MEMORY_BYTES, NativeGta, native_gta
from tilewright.verif.gta.jobs import ProductCase, check_product, random_case, words
from tilewright.verif.gta.jobs import random_case as random_product
from tilewright.verif.gta.lists import random_case as random_list
from tilewright.verif.gta.lists import spoilt_case
from tilewright.verif.gta.vectors import random_vector
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but

pytestmark = pytest.mark.slow

_LIST_MEMORY = 1 << 16

CHAINS = ("dot", "sum")

CONFIGS = {
    "tiny": DEVICES["tiny"].config,
    "all": DEVICES["all"].config,
    "regions": DEVICES["regions"].config,
    "wide": GtaConfig(
        lanes=4, data_bits=512, formats=("int8", "int64", "bf16", "fp64"), float_adders=16,
        adder_stages=3, vector_bytes=4096,
    ),
    "64 adders": GtaConfig(
        lanes=4, data_bits=256, formats=("int16", "int32", "fp32", "bf16"), float_adders=64,
        adder_stages=1, vector_bytes=2048, outstanding=32, managers=1,
    ),
    "one lane": GtaConfig(
        lanes=1, data_bits=64, formats=("int8", "int16", "fp16"), vector_bytes=8192, outstanding=3
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=slow_but([], CONFIGS, ["tiny"]))
def device(request: pytest.FixtureRequest) -> Iterator[NativeGta]:
    with native_gta(CONFIGS[request.param]) as device:
        yield device


def both(rng: np.random.Generator, device: NativeGta) -> tuple[NativeGta, TimedGta]:
    """The RTL and the model, in front of a memory of any latency."""
    latency = int(rng.choice([1, 3, 20, 61]))
    device.behave(AxiBehaviour(latency=(latency, latency)))
    memory = replace(FLAT, latency=latency)
    return device, TimedGta(device.config, LARGE_MEMORY_BYTES, memory=memory)


def compare(case: object, counts: list[dict[str, int]]) -> None:
    found, wanted = counts
    wrong = {name: (found[name], wanted[name]) for name in wanted if found[name] != wanted[name]}
    assert not wrong, f"{wrong}, RTL first: {case}"


def driven(
    devices: tuple[NativeGta, TimedGta], work: Callable[[GtaDriver], Any]
) -> list[dict[str, int]]:
    """The counters of what a driver does on each."""
    found = []
    for device in devices:
        driver = GtaDriver(device)
        work(driver)
        found.append(driver.counts)
    return found


def test_lists(device: NativeGta) -> None:
    rng = rng_of(1)
    spec = job_spec(device.config)
    for _ in range(by_size(20, 30, 1000)):
        case = random_list(rng, device.config, _LIST_MEMORY)
        counts = []
        for one in both(rng, device):
            one.write_memory(0, case.memory.tobytes())
            status = JobRegisters(one, spec).submit(case.registers)
            assert status.error == "none"
            counts.append(status.counts)
        compare(case.commands, counts)


def test_products(device: NativeGta) -> None:
    """Segments at the same time among them."""
    rng = rng_of(2)
    for _ in range(by_size(10, 12, 500)):
        case = random_product(rng, device.config, most=60)
        call = (case.format, case.a, case.b, case.c)

        def work(driver: GtaDriver, call: Any = call, case: Any = case) -> None:
            driver.pgemm(*call, **case.settings)

        compare(case, driven(both(rng, device), work))


def test_sums_of_many_segments(device: NativeGta) -> None:
    """Products whose STOREs go beside reads of partial sums: integers of the fewest limbs, K of
    many folds, results of any width."""
    rng, config = rng_of(6), device.config
    for number in range(by_size(3, 8, 200)):
        name = config.integers[number % min(2, len(config.integers))]
        flow = ("ws", "is")[number // 2 % 2]
        settings = {"dataflow": flow, "result": str(rng.choice(RESULTS[:2]))}
        m, n, k = int(rng.integers(17, 50)), int(rng.integers(17, 50)), int(rng.integers(60, 120))
        case = ProductCase(name, words(rng, name, (m, k)), words(rng, name, (k, n)), None, settings)
        counts = [check_product(one, case) for one in both(rng, device)]
        compare(case, counts)


def test_vectors(device: NativeGta) -> None:
    """Everything that a driver does with them."""
    rng = rng_of(3)
    for _ in range(by_size(10, 30, 500)):
        case = random_vector(rng, device.config, most=900)
        compare(case, driven(both(rng, device), case.found))


def on_each_others_results(rng: np.random.Generator, config: GtaConfig) -> list[dict[str, int]]:
    """Runs EXECUTEs of one function on vectors whose operands and results overlap partly."""
    while True:
        name = str(rng.choice([*config.integers, *config.floats]))
        function = str(rng.choice(functions_of(name)))
        if function in CHAINS or "result" in operand_memories(function, name):
            break
    size = OCTET * vector_result_bytes(function, name)
    operands = config.edge_bytes // (OCTET * element_bytes(name))
    most = min(13, operands, config.bank_bytes // size)
    times = rng.integers(1, most + 1, 8)
    room = min(12, config.bank_bytes // RESULT_WORD_BYTES - -(-most * size // RESULT_WORD_BYTES))
    return [
        {
            "operation": OPERATIONS.index("simd"),
            "format": FORMATS_OF_GTA.index(name),
            "function": tuple(VECTOR_FUNCTIONS).index(function),
            "chain": 1,
            "time": int(time),
            "use_c": int(rng.integers(4) > 0),
            "result_base": 2 * int(rng.integers(room + 1)),
        }
        for time in times
    ]


def test_vectors_on_each_others_results(device: NativeGta) -> None:
    rng, config = rng_of(5), device.config
    spec = job_spec(config)
    masks = {register.name: 0 for register in mask_registers(config)}
    for _ in range(by_size(10, 30, 500)):
        commands = on_each_others_results(rng, config)
        content = b"".join(command_bytes("execute", fields) for fields in commands)
        counts = []
        for one in both(rng, device):
            one.write_memory(0, content)
            job = {"LIST": 0, "COMMANDS": len(commands), "LAYOUT": 0, **masks}
            status = JobRegisters(one, spec).submit(job)
            assert status.error == "none"
            counts.append(status.counts)
        compare(commands, counts)


def test_short_sums_by_vectors(device: NativeGta) -> None:
    """Compares results and counters of commands with several octets."""
    rng, config = rng_of(7), device.config
    fitting = [name for name in config.integers if most_chain(config, name)]
    fitting += config.floats
    several = 0
    for number in range(by_size(4, 12, 200)):
        name, k = fitting[number % len(fitting)], int(rng.integers(1, 5))
        m, n = int(rng.integers(40, 200)), int(rng.integers(1, 12))
        operands = words(rng, name, (m, k)), words(rng, name, (k, n))
        wide = {"int8": "int32", "int16": "int32", "int32": "int64", "bf16": "fp32", "fp16": "fp32"}
        c = words(rng, wide.get(name, name), (m, n)) if rng.integers(2) else None
        settings = {"dataflow": "simd", "along": [True, False, None][number % 3]}
        settings["lateral"] = bool(rng.integers(2))
        case = ProductCase(name, *operands, c, settings)
        compare(case, [check_product(one, case) for one in both(rng, device)])
        schedule = Schedule(dataflow="simd", rows=config.lanes, cols=1, along=True, lateral=False)
        several += laid_out(config, name, (m, n, k), schedule).tiling.together > 1
    assert several or config.lanes * COLS * OCTET > 200


def test_products_by_vectors(device: NativeGta) -> None:
    rng, config = rng_of(4), device.config
    fitting = [name for name in config.integers if most_chain(config, name)]
    fitting += config.floats
    for _ in range(by_size(3, 6, 200)):
        name = str(rng.choice(fitting))
        case = random_product(rng, config, dataflow="simd", format=name, result="wrap")
        call = (case.format, case.a, case.b, case.c)

        def work(driver: GtaDriver, call: Any = call, case: Any = case) -> None:
            driver.pgemm(*call, **case.settings)

        compare(case, driven(both(rng, device), work))


# The cycle model by itself: cycles that are left out, memories, jobs that fail, large products.


@pytest.mark.parametrize("memory", [FLAT, HBM], ids=lambda memory: memory.name)
@pytest.mark.parametrize("name", ["all", "regions"])
def test_what_is_left_out_changes_nothing(
    name: str, memory: MemoryModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Products, and vectors, with every cycle and without those in which nothing happens."""
    config, rng = DEVICES[name].config, rng_of(1)
    seen = []

    def twice(*job: Any, **settings: Any) -> dict[str, int]:
        found, whole = (run_job(*job, **settings, whole=each) for each in (False, True))
        assert found == whole
        seen.append(found["cycles"])
        return found

    monkeypatch.setattr(timed, "run_job", twice)
    driver = GtaDriver(TimedGta(config, LARGE_MEMORY_BYTES, memory=memory))
    for number in range(by_size(5, 10, 300)):
        case = random_case(rng, config, most=70, **({"segments": 2} if number % 2 else {}))
        driver.pgemm(case.format, case.a, case.b, case.c, **case.settings)
    assert len(seen) == by_size(5, 10, 300)


def product(config: GtaConfig, size: int, name: str, **settings: Any) -> dict[str, int]:
    driver = GtaDriver(TimedGta(config, 1 << 22, **settings))
    zeros = np.zeros((size, size), np.uint64)
    driver.pgemm(name, zeros, zeros)
    return driver.counts


def test_memories() -> None:
    """No memory moves more than its bandwidth, and a faster clock waits longer."""
    config = GtaConfig()
    flat = product(config, 128, "int8")
    found = {}
    for memory in (HBM, HBM_32):
        for gigahertz in (1.0, 2.0):
            counts = product(config, 128, "int8", memory=memory, gigahertz=gigahertz)
            found[memory.name, gigahertz] = counts["cycles"]
            assert counts["bytes_read"] == flat["bytes_read"]
            assert counts["bytes_read"] <= counts["cycles"] / gigahertz * memory.gigabytes
            assert counts["cycles"] > flat["cycles"]
    for name in (HBM.name, HBM_32.name):
        assert found[name, 1.0] < found[name, 2.0]


def test_counters_without_time_are_the_models() -> None:
    config, rng = DEVICES["all"].config, rng_of(2)
    model, clocked = GtaModel(config, 1 << 16), TimedGta(config, 1 << 16)
    clock = TimedGta(config, 1 << 16, values=False)
    spec = job_spec(config)
    for _ in range(by_size(10, 40, 300)):
        case = random_list(rng, config, 1 << 16)
        ends = []
        for one in (model, clocked, clock):
            one.write_memory(0, case.memory.tobytes())
            ends.append(JobRegisters(one, spec).submit(case.registers))
        assert (model.memory == clocked.memory).all()
        without, counts, alone = (end.counts for end in ends)
        assert alone == counts
        assert (clock.memory == case.memory).all()
        assert {name: counts[name] for name in TIMELESS} == {x: without[x] for x in TIMELESS}
        assert counts["cycles"] >= counts["busy_cycles"] + counts["stalls"]


def test_jobs_that_fail_end_as_on_the_model() -> None:
    config, rng = DEVICES["all"].config, rng_of(3)
    model, clocked = GtaModel(config, 1 << 16), TimedGta(config, 1 << 16)
    spec, failed = job_spec(config), 0
    for _ in range(by_size(20, 60, 1000)):
        case = spoilt_case(rng, config, 1 << 16)
        ends = []
        for one in (model, clocked):
            one.write_memory(0, case.memory.tobytes())
            ends.append(JobRegisters(one, spec).submit(case.registers))
        assert (ends[0].error, ends[0].detail) == (ends[1].error, ends[1].detail)
        if ends[0].error != "none":
            failed += 1
            assert ends[1].counts == ends[0].counts
    assert failed > by_size(5, 20, 300)


def test_the_drivers_choice_is_nearly_the_best() -> None:
    """The driver chooses good tiles for each dataflow, cycle for cycle, and its overall choice
    takes hardly longer than the best dataflow."""
    config, rng = GtaConfig(lanes=2), rng_of(4)
    driver = GtaDriver(TimedGta(config, LARGE_MEMORY_BYTES))
    shares = []
    for number in range(by_size(8, 12, 200)):
        name = config.integers[number % 4]
        m, n, k = (int(rng.integers(1, int(rng.choice([10, 60, 150])))) for _ in range(3))
        a, b = np.zeros((m, k), np.uint64), np.zeros((k, n), np.uint64)
        cycles = {}
        for flow in ("auto", "ws", "is", "os"):
            driver.pgemm(name, a, b, dataflow=flow)
            cycles[flow] = driver.counts["cycles"]
        shares.append(cycles["auto"] / min(cycles.values()))
    assert np.mean(shares) < 1.05
    assert max(shares) < 1.5


@pytest.mark.parametrize("dataflow", ["ws", "is"])
def test_partial_sums_hold_no_stores_back(dataflow: str) -> None:
    """The array adds to sums of int8, of which it reads two at a time, while the results of the
    previous tile are stored."""
    driver = GtaDriver(TimedGta(GtaConfig(), 1 << 22, values=False))
    zeros = np.zeros((128, 128), np.uint64)
    driver.pgemm("int8", zeros, zeros, dataflow=dataflow, layout=(4, 1))
    least = 128**3 // (64 * 4)
    assert least < driver.counts["cycles"] < 1.1 * least


def test_a_large_product() -> None:
    """A product with many folds between two STOREs takes hardly longer than its multiplications."""
    size = by_size(256, 1024, 2048)
    driver = GtaDriver(TimedGta(GtaConfig(), 1 << 26, values=False))
    zeros = np.zeros((size, size), np.uint64)
    driver.pgemm("int8", zeros, zeros)
    least = size**3 // (64 * 4)
    assert least < driver.counts["cycles"] < 1.02 * least
