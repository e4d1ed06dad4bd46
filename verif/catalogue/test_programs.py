"""Jobs that are built from a sidecar alone, of units whose operations are programs or commands: the
RTL leaves what the model does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.unit import named_object
from tilewright.registry import Entry, entries
from tilewright.sim.device.job_registers import JobRegisters
from tilewright.sim.rtl.accelerator import NativeAccelerator
from tilewright.verif.catalogue.described.commands import command_job
from tilewright.verif.catalogue.described.programs import program_job
from tilewright.verif.catalogue.sidecars import as_read
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.kit.options import small
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but

MEMORY_BYTES = 1 << 16

JOBS = {"sida": program_job, "gta": command_job}

LABELS = [f"{name}:{n}" for name in JOBS for n in range(1 + len(entries()[name].variants))]
"""Units with numbers of their variants, 0 being the small configuration."""


def config_of(label: str) -> tuple[Entry, Any]:
    """A unit, and its configuration."""
    name, number = label.split(":")
    entry = entries()[name]
    return entry, small(entry, ({}, *entry.variants)[int(number)])


@pytest.mark.parametrize("label", slow_but(["gta:0"], LABELS, ["sida:0"]))
def test_a_job_from_the_sidecar_alone(label: str) -> None:
    entry, config = config_of(label)
    draw = JOBS[label.split(":")[0]]
    made = emit(entry.unit, config)
    sidecar, spec = as_read(made.sidecar), entry.unit.job_spec(config)
    rng = rng_of(1)
    seen = set()
    with NativeAccelerator(made, config, memory_bytes=MEMORY_BYTES, time_out=400_000) as device:
        for _ in range(by_size(4, 8, 60)):
            device.behave(any_behaviour(rng))
            job = draw(rng, sidecar, MEMORY_BYTES, 24)
            model = named_object(entry.models["model"])(config, MEMORY_BYTES)
            left = []
            for one in (model, device):
                one.write_memory(0, job.memory.tobytes())
                status = JobRegisters(one, spec).submit(job.registers)
                assert status.error == "none", status
                memory = np.frombuffer(one.read_memory(0, MEMORY_BYTES), np.uint8).copy()
                for first, count in job.work:
                    memory[first : first + count] = 0
                left.append(memory)
            assert np.array_equal(left[0], left[1])
            changed = left[0] != job.memory
            for first, count in job.work:
                changed[first : first + count] = False
            for first, count in job.results:
                seen.add(bool(changed[first : first + count].any()))
                changed[first : first + count] = False
            assert not changed.any()
        assert device.faults == []
    assert True in seen
