"""Jobs on the Verilog and on the cycle model: all counters are equal."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.t2s.config import T2S, T2sConfig
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.t2s.cycles.machine import run_job
from tilewright.sim.timing.memories import FLAT
from tilewright.verif.kit.job_checks import Mismatch

from ..unit.jobs import largest_case_bytes, random_case, run_case

__all__ = ["check_counters"]

_TIME_OUT = 1_000_000


def check_counters(
    config: T2sConfig, seed: int, jobs: int, latencies: tuple[int, ...] = (20, 1, 7), most: int = 3
) -> int:
    """Random jobs, one behind the other, on memories that answer after a fixed time. Returns how
    many operations were begun. Raises Mismatch."""
    rng = np.random.default_rng(seed)
    size = max(1 << 14, 2 * largest_case_bytes(config, most))
    turns: tuple[int, ...] = ()
    operations = 0
    with NativeAccelerator(
        emit(T2S, config), config, memory_bytes=size, time_out=_TIME_OUT
    ) as device:
        for number in range(jobs):
            latency = latencies[number % len(latencies)]
            device.behave(AxiBehaviour(latency=(latency, latency)))
            case = random_case(rng, config, size, most)
            status = run_case(device, case)
            if status.error != "none":
                raise Mismatch(f"{status.error}, detail {status.detail:#x}")
            timed = run_job(config, case.job, memory=replace(FLAT, latency=latency), turns=turns)
            turns, found = timed.turns, asdict(timed.counts)
            if found != status.counts:
                raise Mismatch(
                    f"job {number}, {dict(case.bounds)}, latency {latency}: the model counts "
                    f"{found}, the Verilog {status.counts}"
                )
            operations += found["operations"]
    return operations
