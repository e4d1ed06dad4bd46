"""``tilewright.device``: one protocol for RTL, model and cycle model, and what drives them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright.hw.spec.host.words import UnknownName
from tilewright.hw.spec.unit import named_object
from tilewright.registry import entries, registered
from tilewright.sim.device.protocol import RegisterError
from tilewright.sim.timing.memories import FLAT
from tilewright.verif.catalogue.toy.system import SYSTEM
from tilewright.verif.kit.commands import refused

pytestmark = pytest.mark.quick

ACCELERATORS = [name for name, entry in entries().items() if entry.unit.jobs is not None]
BACKENDS = [(name, backend) for name in ACCELERATORS for backend in entries()[name].backends]

FORMATS = ("fp32", "fp16")
"""Formats of D and A of the small engine."""

NO_BYTES: list[tuple[Any, str]] = [
    (np.zeros(3, np.float32), "ndarray of 1 dimensions, 4 bytes an item"),
    (np.zeros((2, 2), np.uint8), "ndarray of 2 dimensions, 1 bytes an item"),
    (np.zeros(8, np.uint8)[::2], "ndarray of 1 dimensions, 1 bytes an item, apart"),
    ([1, 2], "list"),
    ("abc", "str"),
]


def marked(name: str, backend: str) -> Any:
    """Marks a case by its run time: most models need no time, others seconds or more."""
    if backend == "model" and name != "matraptor":
        return name, backend
    soon = {("c2sr_converter", "rtl"), ("matraptor", "model")}
    mark = pytest.mark.slow if (name, backend) in soon else pytest.mark.long
    return pytest.param(name, backend, marks=mark)


EVERY = [marked(*one) for one in BACKENDS]


def small(name: str, backend: str, **options: Any) -> tilewright.OpenDevice[Any]:
    return tilewright.device(name, entries()[name].small_config, backend=backend, **options)


def test_backends() -> None:
    """All accelerators have a model, and a driver; no parameter has the name of an option."""
    options = {"backend", "memory_bytes", "memory", "gigahertz", "waves", "wave_depth"}
    for name in ACCELERATORS:
        entry = entries()[name]
        assert set(entry.models) <= {"model", "cycles"}
        assert "model" in entry.models
        assert entry.driver
        assert not options & {item.name for item in entry.unit.config.parameters()}
        assert tilewright.units[name].backends == ("rtl", *entry.models)
    assert not [e for e in entries().values() if e.unit.jobs is None and (e.models or e.driver)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ACCELERATORS)
def test_what_a_registration_names_is_there(name: str) -> None:
    for made in entries()[name].models.values():
        model = named_object(made)(entries()[name].small_config, 1 << 12)
        assert (model.memory_bytes, model.config) == (1 << 12, entries()[name].small_config)


@pytest.mark.parametrize(("name", "backend"), EVERY)
def test_every_backend_runs_jobs(name: str, backend: str) -> None:
    """The jobs that all devices run in the tests, through the unit's driver."""
    with small(name, backend, memory_bytes=1 << 18) as device:
        assert named_object(entries()[name].exercise)(device, np.random.default_rng(0))


@pytest.mark.parametrize(("name", "backend"), EVERY)
def test_every_backend_keeps_the_protocol(name: str, backend: str) -> None:
    with small(name, backend, memory_bytes=1 << 12) as device:
        registers = tilewright.units[name].registers(device.config)
        control, status = registers["CTRL"], registers["STATUS"]
        assert device.config == entries()[name].small_config
        assert (device.memory_bytes, len(device.memory)) == (1 << 12, 1 << 12)
        device.write_memory(8, b"abc")
        assert device.memory[8:11].tobytes() == device.read_memory(8, 3) == b"abc"
        with pytest.raises(IndexError):
            device.read_memory(8, -1)
        for address, count in ((1 << 12, 1), (0xFFF, 2), (-1, 1)):
            with pytest.raises(IndexError):
                device.read_memory(address, count)
            with pytest.raises(IndexError):
                device.write_memory(address, bytes(count))
        device.write_memory(8, np.frombuffer(b"abc", np.uint8))  # type: ignore[arg-type]
        for content, text in NO_BYTES:
            with refused(TypeError, f"`content` must be bytes, not {text}"):
                device.write_memory(8, content)
        used = {one.offset + 4 * word for one in registers for word in range(one.words)}
        with pytest.raises(RegisterError):
            device.read_register(min(set(range(0, 0x100, 4)) - used))
        for offset in (-4, 1, 2, 1 << 20, 1 << 70):
            with refused(RegisterError, f"there is no register at offset {offset:#x}"):
                device.read_register(offset)
            with refused(RegisterError, f"there is no register at offset {offset:#x}"):
                device.write_register(offset, 0)
        with pytest.raises(RegisterError):
            device.write_register(registers["ID"].offset, 1)
        for value in (-1, 1 << 32):
            with refused(ValueError, f"`value` must fit 32 bits, not {value:#x}"):
                device.write_register(control.offset, value)
        # A job of nothing breaks a rule, in all of them.
        assert not device.irq()
        device.write_register(control.offset, control.put(start=1, irq_enable=1))
        device.wait()
        assert device.irq()
        assert status.get(device.read_register(status.offset), "error")
        device.write_register(status.offset, status.put(done=1, error=1))
        assert not device.irq()
    device.close()
    for use in (device.irq, device.wait, lambda: device.read_register(0)):
        with refused(ValueError, "the accelerator is closed"):
            use()
    assert device.memory[8:11].tobytes() == b"abc"


@pytest.mark.parametrize("name", ACCELERATORS)
def test_driver_and_registers(name: str) -> None:
    with small(name, "model") as device:
        assert type(tilewright.driver(device)) is named_object(entries()[name].driver)
        registers = tilewright.registers(device)
        spec = entries()[name].unit.job_spec(device.config)
        assert registers.read("ID") == int.from_bytes(spec.letters, "little")
        assert registers.submit({}).error != "none"
        with refused(UnknownName, "unknown register 'CTRLL'; did you mean 'CTRL'?"):
            registers.submit({"CTRLL": 1})


def test_first_address() -> None:
    with tilewright.device("engine_simd2", tile=2) as device:
        driver = tilewright.driver(device, first_address=0x100)
        assert driver.matrix(1, 1, "fp16").address == 0x100


@pytest.mark.parametrize("name", ACCELERATORS)
def test_options_of_drivers(name: str) -> None:
    known = "first_address, rows" if name == "sida" else "first_address"
    with small(name, "model") as device:
        with refused(TypeError, f"the driver of {name} has the options {known}, not address"):
            tilewright.driver(device, address=0)
        with refused(ValueError, "`first_address` must be at least 0, not -5"):
            tilewright.driver(device, first_address=-5)
        with refused(TypeError, "`first_address` must be an integer, not 1.5"):
            tilewright.driver(device, first_address=1.5)


def test_operands_of_other_types() -> None:
    """The drivers' functions refuse operands of other types on every backend."""
    dense = np.ones((2, 2))
    sparse = "a matrix in C2SR, as `formats.to_c2sr` gives it"
    engine = "a Matrix, as the driver's `matrix` gives it"
    calls: dict[str, list[tuple[str, str, Callable[[Any], Any]]]] = {
        "matraptor": [("a", sparse, lambda driver: driver.multiply(dense, dense))],
        "c2sr_converter": [("matrix", sparse, lambda driver: driver.convert("csr_to_c2sr", dense))],
        "tensaurus": [("tensor", "a Tensor", lambda x: x.sparse(None, None, dense, {}))],
        "engine_simd2": [
            ("d", engine, lambda driver: driver.mmo("mma", dense, dense, dense)),
            ("b", engine, lambda x: x.mmo("mma", *[x.matrix(2, 2, f) for f in FORMATS], dense)),
            ("matrix", engine, lambda driver: driver.loadmatrix(dense, dense)),
            ("matrix", engine, lambda driver: driver.fillmatrix(dense, 1)),
            ("matrix", engine, lambda driver: driver.load_words(dense, dense)),
            ("matrix", engine, lambda driver: driver.storematrix(dense)),
        ],
    }
    for name, refusals in calls.items():
        with small(name, "model") as device:
            for parameter, allowed, call in refusals:
                with refused(TypeError, f"`{parameter}` must be {allowed}, not ndarray"):
                    call(tilewright.driver(device))


@pytest.mark.parametrize("backend", ["model", pytest.param("rtl", marks=pytest.mark.slow)])
def test_a_unit_from_elsewhere(backend: str) -> None:
    """Runs a unit from elsewhere, which needs only its registration."""
    values = np.arange(50, dtype=np.uint32)
    with registered(SYSTEM), tilewright.device("toy_adder", backend=backend) as device:
        driver = tilewright.driver(device)
        assert driver.add(values, 7).tolist() == (values + 7).tolist()
        assert driver.counts["beats_added"] == 25
        assert (driver.counts["cycles"] > 0) == (backend == "rtl")


@pytest.mark.long
def test_counters_of_rtl_and_cycle_model_are_equal() -> None:
    """RTL and cycle model agree on a memory of any fixed latency, even one the caller defines."""
    flat = FLAT.__class__(name="flat", banks=0, latency=7)
    found = {}
    for latency, memory in ((20, "flat"), (7, flat)):
        for backend in ("rtl", "cycles"):
            with tilewright.device(
                "matraptor", entries()["matraptor"].small_config, backend=backend, memory=memory
            ) as device:
                layout = device.config.layout
                matrix = tilewright.formats.to_c2sr(_matrix(), layout)
                driver = tilewright.driver(device)
                driver.multiply(matrix, matrix)
                found[latency, backend] = driver.jobs[0].counts
    assert found[20, "rtl"] == found[20, "cycles"]
    assert found[7, "rtl"] == found[7, "cycles"]
    assert found[7, "rtl"]["cycles"] < found[20, "rtl"]["cycles"]


def _matrix() -> Any:
    from scipy.sparse import random_array

    return random_array((9, 9), density=0.3, rng=np.random.default_rng(1)).tocsr()


@pytest.mark.long
def test_waves(tmp_path: Path) -> None:
    waves = tmp_path / "waves.vcd"
    with small("c2sr_converter", "rtl", waves=waves, wave_depth=99) as device:
        device.read_register(0)
    text = waves.read_text()
    assert "$enddefinitions" in text
    # Two levels below the top module.
    assert "scope module states" in text


def test_refusals() -> None:
    with refused(UnknownName, "unknown unit 'raptor'; did you mean 'matraptor'?"):
        tilewright.device("raptor")
    known = ", ".join(ACCELERATORS)
    with refused(ValueError, f"`unit` must be an accelerator, one of {known}, not 'simd2'"):
        tilewright.device("simd2")
    with refused(ValueError, "`backend` must be one of rtl, model, cycles for sida, not 'fpga'"):
        tilewright.device("sida", backend="fpga")
    with refused(ValueError, "`memory_bytes` must be at least 1, not 0"):
        tilewright.device("sida", memory_bytes=0)
    with refused(TypeError, "`memory_bytes` must be an integer, not 1.5"):
        tilewright.device("sida", memory_bytes=1.5)  # type: ignore[arg-type]
    with refused(ValueError, "`gigahertz` must be above 0, not 0"):
        tilewright.device("sida", backend="cycles", gigahertz=0)
    with refused(ValueError, "`wave_depth` must be an integer of at least 1, not 0"):
        tilewright.device("sida", backend="rtl", waves="a.vcd", wave_depth=0)
    with refused(ValueError, "`wave_depth` must be None without waves, not 3"):
        tilewright.device("sida", backend="rtl", wave_depth=3)
    with refused(TypeError, "`waves` must be a path, not 5"):
        tilewright.device("sida", backend="rtl", waves=5)  # type: ignore[arg-type]
    with refused(ValueError, "`memory` must be one of hbm, hbm32, hbm-refresh, flat, not ['flat']"):
        tilewright.device("sida", backend="cycles", memory=["flat"])  # type: ignore[arg-type]
    with refused(UnknownName, "unknown unit ['sida']; `tilewright.units` lists them all"):
        tilewright.device(["sida"])  # type: ignore[arg-type]
    for clock in ("1.5", True):
        with refused(TypeError, f"`gigahertz` must be a number, not {clock!r}"):
            tilewright.device("sida", backend="cycles", gigahertz=clock)  # type: ignore[arg-type]
    with refused(ValueError, "`memory` must be one of hbm, hbm32, hbm-refresh, flat, not 'ddr'"):
        tilewright.device("sida", backend="cycles", memory="ddr")
    with refused(ValueError, "`memory` must be flat with the rtl backend, not 'hbm'"):
        tilewright.device("sida", backend="rtl", memory="hbm")
    with refused(ValueError, "`gigahertz` must be None with the model backend, not 1.5"):
        tilewright.device("sida", gigahertz=1.5)
    with refused(ValueError, "`waves` must be None with the model backend, not 'a.vcd'"):
        tilewright.device("sida", waves="a.vcd")
    with refused(ValueError, "`lanes` must be an integer in 1..16, not 0"):
        tilewright.device("matraptor", lanes=0)

    class Other:
        config = 7

    with refused(TypeError, "`device` must have the config of an accelerator, not 7"):
        tilewright.driver(Other())  # type: ignore[arg-type]
    with refused(TypeError, "`device` must have the config of an accelerator, not None"):
        tilewright.driver(None)  # type: ignore[arg-type]


def test_sizes_may_be_numpys() -> None:
    with tilewright.device("engine_simd2", tile=2, memory_bytes=np.int64(4096)) as device:  # type: ignore[arg-type]
        assert (device.memory_bytes, type(device.memory_bytes)) == (4096, int)
