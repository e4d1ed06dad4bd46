"""Runs ``simulate`` for an accelerator at native speed: random jobs in succession."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tilewright.hw.catalogue import find_unit
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.host.activity import activity
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.accelerator import AcceleratorTimeout, AxiRuleError, NativeAccelerator
from tilewright.verif.kit.reports import JobsReport
import numpy as np
from tilewright.sim.rtl.accelerator import AxiBehaviour



HANDSHAKES = ("aw_after_w", "w_after_aw", "ready_after_valid", "one_read")
"""Parameters of :class:`AxiBehaviour` that say for what a READY waits."""


def any_behaviour(rng: np.random.Generator, **fixed: Any) -> AxiBehaviour:
    """A memory that is quick or slow, stalls or not, in order or mixed, with or without a limit on
    its bandwidth, whose READY waits for any VALID that AXI lets it wait for; ``fixed`` are
    parameters of :class:`AxiBehaviour` that are not left to chance."""
    drawn: dict[str, Any] = {
        "seed": int(rng.integers(1 << 40)),
        "latency": (1, int(rng.choice([1, 10, 200]))),
        "stall": float(rng.choice([0, 0.3, 0.7])),
        "mixed": bool(rng.integers(2)),
        "beat_cycles": float(rng.choice([0, 0, 1, 2.5])),
        "register_stall": float(rng.choice([0, 0.5])),
        "register_order": str(rng.choice(["together", "address", "data"])),
        "write_latency": (1, 300) if rng.integers(3) == 0 else None,
        **{mode: bool(rng.integers(2)) for mode in HANDSHAKES},
    }
    return AxiBehaviour(**drawn | fixed)


@dataclass
class JobsUnderWay:
    """State that the jobs of a run share; ``number`` counts from 0, ``kind`` is the job's kind."""

    device: NativeAccelerator[Any]
    rng: np.random.Generator
    coverage: Counter[tuple[str, str]]
    number: int = 0
    kind: str = ""


def run_jobs(
    unit: Unit | str,
    config: Any,
    job: Callable[[JobsUnderWay], Iterator[tuple[int, int]]],
    *,
    counted: str,
    memory_bytes: int,
    seed: int,
    count: int,
    waves: Path | None,
) -> JobsReport:
    """Run ``count`` jobs, or as many as do what they must.

    Parameters
    ----------
    unit, config: the unit, or its name in the catalogue
    job: a generator: sets a memory and a job up, notes its kind, checks it, yields operations and
        cycles, and notes what it covers; raises AssertionError for whatever is wrong
    counted: what its operations are
    memory_bytes: size of the memory
    seed, waves: of everything random; file for the waves

    Raises as :class:`NativeAccelerator`.
    """
    complaints: list[str] = []
    operations = cycles = 0
    kinds: Counter[str] = Counter()
    with (
        NativeAccelerator(
            emit(unit, config), config, memory_bytes=memory_bytes, waves=waves
        ) as device,
        activity("simulating jobs", total=count) as shown,
    ):
        state = JobsUnderWay(device, np.random.default_rng(seed), Counter())
        while state.number < count and not complaints:
            state.kind = ""
            try:
                for done, took in job(state):
                    operations, cycles = operations + done, cycles + took
            except (AssertionError, AcceleratorTimeout, AxiRuleError) as error:
                complaints.append(" ".join(str(error).split()) or "a wrong result")
            state.number += 1
            kinds[state.kind] += 1
            shown.step(1)
    return JobsReport(
        unit=find_unit(unit).name,
        simulator="verilator",
        seed=seed,
        jobs=state.number,
        operations=operations,
        cycles=cycles,
        coverage=state.coverage,
        complaints=complaints,
        counted=counted,
        kinds=kinds,
        failed=state.kind if complaints else "",
    )
