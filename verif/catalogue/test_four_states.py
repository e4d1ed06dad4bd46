"""Four-state simulation: after reset no output depends on bits that were unknown before it."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.unit import named_object
from tilewright.registry import Entry, entries
from tilewright.sim.device.driver import JobRegisters
from tilewright.verif.bench.four_state_device import FourStateDevice, UnknownBits
from tilewright.verif.catalogue.toy.system import SYSTEM as TOY
from tilewright.verif.kit.front_ends import bench_of
from tilewright.verif.kit.job_checks import register_answers
from tilewright.verif.kit.options import EVERY_UNIT, small
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but

pytestmark = pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="Icarus Verilog is not installed"
)

CYCLES = 600
MEMORY_BYTES = 1 << 17
POLLS = 100

SECONDS = 600
"""A simulation that takes so long stands still."""

EXERCISED = {
    f"{name}-{number}": (name, changes)
    for name, entry in entries().items()
    if entry.exercise
    for number, changes in enumerate(({}, *entry.variants))
}
"""The accelerators in small configurations."""

SAMPLE = [
    case
    for case, (name, changes) in EXERCISED.items()
    if name not in ("engine_m3xu", "gta", "sida")
    and changes in ({}, {"outer_product": True, "lanes": 1, "channels": 1})
]
"""Cases of the default test: not the largest; the others and `m3xu` contain an engine's parts."""


def said(verilog: str, directory: Path) -> str:
    """Returns what Icarus prints for a unit with its bench."""
    (directory / "bench.v").write_text(verilog)
    for command in ("iverilog -g2012 -s bench -o bench.vvp bench.v", "vvp -n bench.vvp"):
        done = subprocess.run(
            command.split(),
            cwd=directory,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stderr[-800:]
        assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("name", EVERY_UNIT)
def test_nothing_is_unknown_behind_the_reset(name: str, tmp_path: Path) -> None:
    """Operations of any kind, legal or not; of an accelerator any accesses of its registers."""
    entry = entries()[name]
    made = emit(entry.unit, entry.small_config)
    found = said(made.verilog + bench_of(made.verilog, made.sidecar, CYCLES), tmp_path)
    transfers = re.fullmatch(r"transfers: (\d+)\n", found)
    assert transfers, found
    assert int(transfers[1]) > CYCLES // 4


@pytest.mark.parametrize("name", entries())
def test_every_accelerator_has_an_exercise(name: str) -> None:
    entry = entries()[name]
    assert bool(entry.exercise) == (entry.unit.jobs is not None)


@pytest.mark.parametrize("case", slow_but([], EXERCISED, SAMPLE))
def test_nothing_is_unknown_in_a_job(case: str) -> None:
    """Results depend neither on memory that was never written nor on a job that was aborted."""
    name, changes = EXERCISED[case]
    entry = entries()[name]
    config = small(entry, changes)
    for seed in range(by_size(1, 1, 10)):
        assert jobs(entry, config, rng_of(seed)) >= 2


def jobs(entry: Entry, config: Any, rng: np.random.Generator) -> int:
    """Some jobs, one that a soft reset breaks off, one that cannot run, then some more."""
    exercise, made = named_object(entry.exercise), emit(entry.unit, config)
    with FourStateDevice(made, config, memory_bytes=MEMORY_BYTES) as device:
        count: int = exercise(device, rng)
        spec = entry.unit.job_spec(config)
        registers = JobRegisters(device, spec)
        soft_reset(device, registers, int(rng.integers(1, 20)))
        assert "refused" in register_answers(device, spec.registers)
        assert registers.run().error != "none"
        return count + int(exercise(device, rng))


def soft_reset(device: FourStateDevice[Any], registers: JobRegisters, cycles: int) -> None:
    """Start the job of the registers, and break it off."""
    control, status = registers.register("CTRL"), registers.register("STATUS")
    registers.write("CTRL", control.put(start=1))
    device.run(cycles)
    assert status.get(registers.read("STATUS"), "busy")
    registers.write("CTRL", control.put(soft_reset=1))
    for _ in range(POLLS):
        if not registers.read("STATUS"):
            return
        device.run(10)
    raise AssertionError("busy long after a soft reset")


def test_what_is_unknown_is_found(tmp_path: Path) -> None:
    entry = entries()["simd2"]
    made = emit(entry.unit, entry.small_config)
    broken = made.verilog.replace("if (rst)", "if (1'h0)")
    found = said(broken + bench_of(broken, made.sidecar, CYCLES), tmp_path)
    assert "unknown: o__valid" in found
    assert "unknown: i__ready" in found


def broken(made: Emitted, old: str, new: str) -> Emitted:
    """The unit with another text in one place or more."""
    assert old in made.verilog
    return Emitted(made.verilog.replace(old, new), made.sidecar)


def test_a_result_of_what_was_never_written_is_found() -> None:
    """The driver leaves a byte out that the job reads."""
    [entry] = TOY.entries
    config: Any = entry.small_config
    made = emit(entry.unit, config)
    with FourStateDevice(made, config, memory_bytes=MEMORY_BYTES) as device:
        write = device.write_memory
        device.write_memory = lambda address, content: write(address, content[:-1])  # type: ignore[method-assign]
        with pytest.raises(UnknownBits, match=r"^m0_axi_wdata in cycle \d+"):
            named_object(entry.exercise)(device, np.random.default_rng(0))


def test_a_register_without_reset_is_found() -> None:
    [entry] = TOY.entries
    config: Any = entry.small_config
    made = broken(emit(entry.unit, config), "if (rst)", "if (1'h0)")
    with (
        FourStateDevice(made, config, memory_bytes=MEMORY_BYTES) as device,
        pytest.raises(UnknownBits, match=r"^s_axil_awready in cycle 1; "),
    ):
        named_object(entry.exercise)(device, np.random.default_rng(0))
