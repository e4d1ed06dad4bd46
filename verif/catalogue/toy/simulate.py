"""Simulates ``toy_adder``: random jobs against the model. A system's file is ``verif/<name>``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.unit import Unit
from tilewright.sim.device.protocol import JobError
from tilewright.sim.rtl.accelerator import AcceleratorTimeout, AxiRuleError, NativeAccelerator
from tilewright.verif.catalogue.toy.driver import ToyAdderDriver, Words, added
from tilewright.verif.catalogue.toy.spec import ToyAdderConfig
from tilewright.verif.kit.reports import JobsReport, any_behaviour

_MEMORY_BYTES = 1 << 13


def run(
    unit: Unit,
    config: ToyAdderConfig,
    *,
    seed: int = 0,
    count: int = 1000,
    waves: Path | None = None,
) -> JobsReport:
    """Check sums of random arrays from a memory that behaves as badly as it may.

    Parameters
    ----------
    unit, config: what to simulate
    seed: of arrays and memories
    count: jobs
    waves: file for the waves

    Raises as :class:`NativeAccelerator`.
    """
    rng = np.random.default_rng(seed)
    complaints: list[str] = []
    jobs = elements = cycles = 0
    before = rng.bytes(_MEMORY_BYTES)
    with NativeAccelerator(
        emit(unit, config), config, memory_bytes=_MEMORY_BYTES, waves=waves
    ) as device:
        driver = ToyAdderDriver(device)
        while jobs < count and not complaints:
            device.behave(any_behaviour(rng))
            device.write_memory(0, before)
            values = rng.integers(0, 1 << 32, rng.integers(1, 400), np.uint32)
            constant = int(rng.integers(0, 1 << 32))
            try:
                sums = driver.add(values, constant)
                if not np.array_equal(sums, added(values, constant)):
                    complaints.append(f"job {jobs}: sums of {len(values)} elements are wrong")
                if not _untouched(device, before, values, config.beat_bytes):
                    complaints.append(f"job {jobs}: memory has changed that is none of its sums")
                cycles += driver.counts["cycles"]
            except (AcceleratorTimeout, AxiRuleError, JobError) as error:
                complaints.append(str(error))
            jobs, elements = jobs + 1, elements + len(values)
    return JobsReport(
        unit=unit.name,
        simulator="verilator",
        seed=seed,
        jobs=jobs,
        operations=elements,
        cycles=cycles,
        complaints=complaints,
        counted="elements",
    )


def _untouched(
    device: NativeAccelerator[ToyAdderConfig], before: bytes, values: Words, beat_bytes: int
) -> bool:
    """Returns whether the array, and everything after the sums that follow it, is unchanged."""
    used = 2 * (-(-values.nbytes // beat_bytes) * beat_bytes)
    same = device.read_memory(0, values.nbytes) == values.tobytes()
    return same and device.read_memory(used, len(before) - used) == before[used:]
