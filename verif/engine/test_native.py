"""The tile engine's RTL at native speed: any job on any memory, as the model has it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.engine import EngineConfig, M3xuEngineConfig, Simd2EngineConfig
from tilewright.hw.spec.jobs.engine import job_spec
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim.device.protocol import JobError
from tilewright.sim.engine.driver import Driver, EngineDevice
from tilewright.sim.engine.job import Job
from tilewright.sim.engine.matrices import Matrix, formats_of
from tilewright.sim.engine.model import EngineModel
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.verif.engine.jobs import (
    CONFIGS,
    MEMORY_BYTES,
    EngineRtl,
    check_job,
    differences,
    fill,
    random_job,
)
from tilewright.verif.engine.rates import EngineAxiDevice, unit_of
from tilewright.verif.kit.far_memory import FarAccelerator
from tilewright.verif.kit.pages import (
    documented_errors,
    documented_registers,
    error_rows,
    examples,
    page,
    register_rows,
)
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import cases, slow_but
from tilewright.verif.oracles.graphs import matrix_product

Engine = NativeAccelerator[EngineConfig]


@cache
def emitted(name: str) -> Emitted:
    return emit(unit_of(CONFIGS[name]), CONFIGS[name])


@pytest.fixture(scope="module")
def device(request: pytest.FixtureRequest) -> Iterator[Engine]:
    name = request.param
    config = CONFIGS[name]
    with FarAccelerator(
        emitted(name),
        config,
        job_spec(config),
        config.addr_bits,
        memory_bytes=MEMORY_BYTES,
        inverted=True,
    ) as device:
        yield device


every_engine = pytest.mark.parametrize(
    "device",
    slow_but(["small"], CONFIGS, []),
    indirect=True,
    scope="module",
)
one_engine = pytest.mark.parametrize("device", ["small"], indirect=True, scope="module")


@one_engine
def test_products_of_whole_matrices(device: Engine) -> None:
    device.reset()
    driver, rng = Driver(device), np.random.default_rng(1)
    for operation in ("mma", "minplus"):
        device.behave(any_behaviour(rng))
        a, b = rng.integers(-4, 5, (13, 21)), rng.integers(-4, 5, (21, 17))
        c = rng.integers(-9, 10, (13, 17))
        found = getattr(driver, f"simd2_{operation}")(a, b, c)
        np.testing.assert_array_equal(found, matrix_product(operation, a, b, c))
        assert device.traffic["m0_axi"].read.bytes >= driver.counts.bytes_read > 0
        assert 0 < driver.counts.cycles < device.cycles


@every_engine
def test_any_job_on_any_memory(device: Engine) -> None:
    print("seed 2")
    rng = np.random.default_rng(2)
    model = EngineModel(device.config, MEMORY_BYTES)
    device.behave(AxiBehaviour())
    for number in range(cases(150)):
        if number % 10 == 0:
            fill(rng, device, model)
        device.behave(any_behaviour(rng))
        check_job(device, model, random_job(rng, device.config, MEMORY_BYTES))
    assert device.faults == []


@one_engine
def test_a_reset_in_the_middle(device: Engine) -> None:
    """Resets the hardware while bursts are in flight; they are dropped."""
    rng, model = np.random.default_rng(5), EngineModel(device.config, MEMORY_BYTES)
    device.behave(AxiBehaviour(latency=(40, 40)))
    fill(rng, device, model)
    interrupted = 0
    for cycles in np.linspace(0, 59, cases(60)).astype(int).tolist():
        device.behave(AxiBehaviour(latency=(40, 40)))
        job = random_job(rng, device.config, MEMORY_BYTES, most=(8, 8, 8))
        Driver(device).write_job(job)
        device.write_register(Driver(device).register("CTRL").offset, 1)
        device.run(cycles)
        interrupted += device.traffic["m0_axi"].read.under_way > 0
        device.reset()
        assert (device.cycles, device.traffic["m0_axi"].read.under_way) == (0, 0)
        check_job(device, model, random_job(rng, device.config, MEMORY_BYTES))
    assert interrupted > cases(60) // 2


@pytest.mark.long
@pytest.mark.parametrize(
    "shape", slow_but([], [(65535, 1, 1), (1, 65535, 1), (1, 1, 65535)], [(1, 1, 65535)])
)
def test_the_largest_sizes(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    config, size = CONFIGS["small"], 3 << 20
    job = Job(
        op=config.opcodes["mma"],
        m=m,
        n=n,
        k=k,
        base={operand: index * size // 4 for index, operand in enumerate("abcd")},
        stride={"a": -(-k // 4) * 8, "b": -(-n // 4) * 8, "c": 8, "d": -(-n // 2) * 8},
        transposed_b=False,
        use_c=False,
    )
    with NativeAccelerator(emitted("small"), config, memory_bytes=size) as device:
        model = EngineModel(config, size)
        fill(np.random.default_rng(6), device, model)
        assert check_job(device, model, job).counts.bytes_written == m * n * 4
        assert device.faults == []


@pytest.mark.slow
def test_the_same_cycles_as_under_cocotb() -> None:
    """Two independent memories with a latency of one cycle give the same cycles."""
    config = CONFIGS["small"]
    with (
        NativeAccelerator(emitted("small"), config, memory_bytes=MEMORY_BYTES) as native,
        EngineAxiDevice(config, memory_bytes=MEMORY_BYTES) as other,
    ):
        rng = np.random.default_rng(6)
        models = [EngineModel(config, MEMORY_BYTES) for _ in range(2)]
        content = rng.integers(0, 256, MEMORY_BYTES, dtype=np.uint8) & 0xBF
        devices: list[EngineRtl] = [native, other]
        memories: list[EngineDevice] = [*devices, *models]
        for memory in memories:
            memory.write_memory(0, content.tobytes())
        for _ in range(10):
            job = random_job(rng, config, MEMORY_BYTES)
            counts = [
                check_job(device, model, job).counts
                for device, model in zip(devices, models, strict=True)
            ]
            assert counts[0] == counts[1]
        assert differences(native, models[1]) == []


# The programming model: the same programs on the engine's model and on its RTL.

SMALL, EVERY_OP, MODES = CONFIGS["small"], CONFIGS["simd2"], CONFIGS["every_mode"]


@contextmanager
def device_of(kind: str, config: Any) -> Iterator[EngineDevice]:
    where: Any = EngineAxiDevice(config) if kind == "rtl" else nullcontext(EngineModel(config))
    with where as device:
        yield device


def paper_program(driver: Driver, rng: np.random.Generator) -> list[Any]:
    """Section by section what the paper's low-level interface has, on two operations."""
    a_values, b_values = rng.integers(-4, 5, (5, 7)), rng.integers(-4, 5, (7, 6))
    results = []
    with driver.scratch():
        a = driver.matrix(5, 7, "fp16")
        b = driver.matrix(7, 6, "fp16", transposed=True)
        c, d = driver.matrix(5, 6, "fp32"), driver.matrix(5, 6, "fp32")
        driver.loadmatrix(a, a_values)
        driver.loadmatrix(b, b_values)
        driver.fillmatrix(c, 2.5)
        for operation in ("mma", "minplus"):
            driver.mmo(operation, d, a, b, c)
            results.append(driver.storematrix(d))
            driver.mmo(operation, d, a, b)
            results.append(driver.storematrix(d))
        np.testing.assert_array_equal(driver.storematrix(b), b_values)
    expected = [
        matrix_product(operation, a_values, b_values, addend)
        for operation in ("mma", "minplus")
        for addend in (np.full((5, 6), 2.5), None)
    ]
    for got, wanted in zip(results, expected, strict=True):
        assert got.dtype == np.float32
        np.testing.assert_array_equal(got, wanted)
    return results


def test_the_same_program_on_model_and_rtl() -> None:
    with device_of("model", SMALL) as model, device_of("rtl", SMALL) as rtl:
        on_model, on_rtl = (
            paper_program(Driver(device, first_address=0x101), np.random.default_rng(1))
            for device in (model, rtl)
        )
    np.testing.assert_array_equal(on_model, on_rtl)


@pytest.mark.parametrize("kind", slow_but(["model"], ["model", "rtl"], []))
def test_high_level_functions(kind: str) -> None:
    rng = np.random.default_rng(2)
    with device_of(kind, EVERY_OP) as device:
        driver = Driver(device)
        for name in SEMIRINGS:
            a, b = rng.integers(-3, 4, (13, 9)), rng.integers(-3, 4, (9, 18))
            c = rng.integers(-20, 21, (13, 18))
            function = getattr(driver, f"simd2_{name}")
            np.testing.assert_array_equal(function(a, b, c), matrix_product(name, a, b, c))
            np.testing.assert_array_equal(function(a, b), matrix_product(name, a, b))
            # 4 tiles down, 5 across, 3 deep.
            assert (function.__name__, driver.counts.operations) == (f"simd2_{name}", 60)


@pytest.mark.parametrize("kind", slow_but(["model"], ["model", "rtl"], []))
def test_gemm_in_every_mode(kind: str) -> None:
    rng = np.random.default_rng(3)
    with device_of(kind, MODES) as device:
        driver = Driver(device)
        for mode in MODES.opcodes:
            a, b = rng.integers(-9, 10, (6, 5)), rng.integers(-9, 10, (5, 7))
            if mode == "fp32c":
                a = a + 1j * rng.integers(-9, 10, a.shape)
            d = driver.gemm(a, b, mode=mode)
            np.testing.assert_array_equal(d, a @ b)
            assert d.dtype == (np.complex64 if mode == "fp32c" else np.float32)
        np.testing.assert_array_equal(driver.gemm(a.real, b), a.real @ b)


@pytest.mark.parametrize("name", ["fp8e5m2", "bf16", "fp16", "fp32", "fp64", "int8", "int32"])
def test_numbers_of_every_format(name: str) -> None:
    config = Simd2EngineConfig(tile=2, format=name, ops=("mma",))
    driver = Driver(EngineModel(config))
    values = np.array([[1, -2, 0], [3, 4, 0]])
    a = driver.matrix(2, 3, name)
    driver.loadmatrix(a, values)
    np.testing.assert_array_equal(driver.storematrix(a), values)
    np.testing.assert_array_equal(driver.gemm(values, values.T), values @ values.T)


def test_a_failed_job_is_an_exception_and_the_next_one_runs() -> None:
    driver = Driver(EngineModel(SMALL))
    a, b = (driver.matrix(4, 4, "fp16") for _ in range(2))
    d = driver.matrix(4, 4, "fp32")
    far = Matrix(rows=4, cols=4, format="fp16", address=1 << 30, stride=8)
    with pytest.raises(JobError) as raised:
        driver.mmo("mma", d, far, b)
    message = "the engine stopped with error bus_read (address 0x40000000)"
    assert str(raised.value) == message
    odd = Matrix(rows=4, cols=4, format="fp16", address=4, stride=8)
    with pytest.raises(JobError) as raised:
        driver.mmo("mma", d, odd, b)
    assert str(raised.value) == "the engine stopped with error misaligned_base (A_BASE)"
    assert (raised.value.error, raised.value.detail) == ("misaligned_base", 0xA0)
    driver.fillmatrix(a, 1)
    driver.fillmatrix(b, 1)
    driver.mmo("mma", d, a, b)
    np.testing.assert_array_equal(driver.storematrix(d), np.full((4, 4), 4))


def test_wrong_matrices() -> None:
    driver = Driver(EngineModel(SMALL, 1 << 16))
    a, d = driver.matrix(4, 6, "fp16"), driver.matrix(4, 4, "fp32")
    turned = driver.matrix(4, 6, "fp16", transposed=True)
    calls: dict[str, Any] = {
        "`b` must have shape (6, 4), not (4, 6)": lambda: driver.mmo("mma", d, a, a),
        "`d` must be of format fp32 for mma, not fp16": lambda: driver.mmo(
            "mma", driver.matrix(4, 2, "fp16"), a, driver.matrix(6, 2, "fp16")
        ),
        "`a` must not be transposed": lambda: driver.mmo(
            "mma", d, turned, driver.matrix(6, 4, "fp16")
        ),
        "`operation` must be one of mma, minplus, not 'maxmul'": lambda: driver.compute(
            "maxmul", [[1]], [[1]]
        ),
        "`rows` must be in 1..65535, not 0": lambda: driver.matrix(0, 1, "fp16"),
        "`a` must be a matrix, not of shape (2,)": lambda: driver.gemm([1, 2], [[1]]),
        "`c` must have shape (1, 1), not (2,)": lambda: driver.gemm([[1]], [[1]], [1, 2]),
        "`words` must have shape (4, 4), not (1, 1)": lambda: driver.load_words(d, [[0]]),
        "numbers of fp16 must be real, not (1+1j)": lambda: driver.gemm([[1 + 1j]], [[1]]),
        "words must be of 32 bits, not 4294967296": lambda: driver.load_words(d, [[1 << 32]]),
        "numbers of fp32 must be real, not 2j": lambda: driver.fillmatrix(d, 2j),
        "`mode` must be None for a semiring unit, not 'fp16'": lambda: driver.gemm(
            [[1]], [[1]], mode="fp16"
        ),
        "360000 bytes of memory are needed for a 300 x 300 matrix of fp32; 65232 are left": (
            lambda: driver.matrix(300, 300, "fp32")
        ),
    }
    for message, call in calls.items():
        with pytest.raises(ValueError, match=r"must|needed") as raised:
            call()
        assert str(raised.value) == message
    with pytest.raises(ValueError, match=r"^`format` must be one of .*, fp32c, not 'f16'$"):
        driver.matrix(1, 1, "f16")
    for name in ("simd2_maxmul", "minplus", "simd2_nothing"):
        with pytest.raises(AttributeError, match=f"^the engine's driver has no `{name}`$"):
            getattr(driver, name)
    with pytest.raises(AttributeError):
        Driver(EngineModel(MODES)).simd2_mma  # noqa: B018


def test_another_device_is_refused() -> None:
    class Other(EngineModel):
        def read_register(self, offset: int) -> int:
            return 7

    with pytest.raises(ValueError, match=r"^the device's ID must be 0x45545754, not 0x7$"):
        Driver(Other(SMALL))


def test_formats() -> None:
    assert formats_of(SMALL, "minplus") == ("fp16", "fp32")
    assert formats_of(M3xuEngineConfig(depth=4), "fp32c") == ("fp32c", "fp32c")


# The examples of docs/engine.md and docs/engine-job.md work, and the tables are complete.

PAGE, JOB_PAGE = page("engine.md"), page("engine-job.md")


def test_python_examples_run() -> None:
    names: dict[str, object] = {}
    found = examples(PAGE, "python")
    assert found
    for example in found:
        exec(compile(example, str(PAGE), "exec"), names)


def test_the_page_has_the_registers_and_errors() -> None:
    spec = job_spec(Simd2EngineConfig())
    assert documented_registers(JOB_PAGE) == register_rows(spec.registers)
    assert documented_errors(JOB_PAGE) == error_rows(spec.errors)


@pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler is installed")
def test_c_examples_compile(tmp_path: Path) -> None:
    found = examples(JOB_PAGE, "c")
    assert found
    for example in found:
        (tmp_path / "example.c").write_text(example)
        command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", "example.c"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        registers = job_spec(Simd2EngineConfig()).registers
        offsets = re.findall(r"^#define ENGINE_(\w+) +(0x[0-9A-F]+)", example, re.M)
        assert len(offsets) > 10
        for name, offset in offsets:
            assert registers[name].offset == int(offset, 16)
