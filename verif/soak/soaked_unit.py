"""An accelerator in a soak run, with the jobs of a seed."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numpy as np
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.unit import named_object
from tilewright.registry import Entry
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.soak.recorder import RecordingAccelerator, Span, break_off, replay

_MEMORY_BYTES = 1 << 20
_TIME_OUT = 3_000_000
"""Most cycles of a job, many times those of the longest one on the slowest memory."""
_REPLAYS = 12
_BREAK_OFF = 0.25
"""Share of the replays before which the job is broken off."""


def design_of(emitted: Emitted) -> str:
    """A checksum of the Verilog."""
    return f"{crc32(emitted.verilog.encode()):08x}"


class SoakedUnit:
    """An accelerator of a small configuration, and its memory.

    Parameters
    ----------
    entry: its registration
    emitted: what is simulated, by default what the registration says; for tests
    replays: of each job, whose result the golden model, in Python, computes once
    """

    def __init__(
        self, entry: Entry, emitted: Emitted | None = None, *, replays: int = _REPLAYS
    ) -> None:
        config: Any = entry.small_config
        made = emitted or emit(entry.unit, config)
        self.name, self.design = entry.unit.name, design_of(made)
        self._replays = replays
        self._run = named_object(entry.soak or entry.exercise)
        self._device = RecordingAccelerator(
            entry.unit.job_spec(config),
            made,
            config,
            memory_bytes=_MEMORY_BYTES,
            time_out=_TIME_OUT,
        )

    def close(self) -> None:
        """End the simulation."""
        self._device.close()

    def round(self, seed: int) -> tuple[int, int]:
        """Runs random jobs of a seed. The first of several random memories is compared with the
        golden model, the others with the results of the first. Before some of these runs, a soft
        reset interrupts the job. Returns the numbers of jobs and of cycles.

        Raises AssertionError, `AcceleratorTimeout`, `AxiRuleError` or `JobError` when the
        accelerator does what it must not.
        """
        device = self._device
        rng = np.random.default_rng([crc32(self.name.encode()), seed])
        device.reset()
        device.memory[:] = 0
        device.jobs.clear()
        device.behave(any_behaviour(rng))
        spans = self._run(device, rng)
        scratch: list[Span] = spans if isinstance(spans, list) else []
        recorded = device.jobs[:]
        for job in recorded:
            for _ in range(self._replays):
                device.behave(any_behaviour(rng))
                if rng.random() < _BREAK_OFF:
                    break_off(device, job, int(rng.integers(1, 1500)))
                replay(device, job, scratch)
        return len(recorded) * (1 + self._replays), device.cycles
