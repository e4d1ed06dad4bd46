"""Simulates a unit on random operations and says whether it does what its sidecar promises."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.catalogue import find_unit
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.config import Config
from tilewright.hw.spec.host.activity import activity
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.streams import pack
from tilewright.sim.rtl.waves import wave_format
from tilewright.sim.units.any_unit import mixed_operations
from tilewright.verif.bench.stream_job import JobResult, StreamBuild
from tilewright.verif.kit.reports import Report, Timing
from tilewright.verif.matrix_units.coverage import matrix_coverage
from tilewright.verif.matrix_units.matrix_stimuli import AnyMatrixUnit, Operations, operations

__all__ = [
    "elapsed",
    "expected_cycles",
    "matrix_job",
    "run",
    "run_icarus",
]

GAP, STALL, ILLEGAL = 0.25, 0.45, 0.1
_TIMED = 16


def run(
    unit: Unit | str,
    config: Config,
    *,
    simulator: str = "verilator",
    seed: int = 0,
    count: int = 1000,
    waves: Path | None = None,
) -> Report:
    """Simulate a matrix unit under cocotb and check results, stream rules, latency and interval.

    Parameters
    ----------
    unit, config: the unit, or its name in the catalogue
    simulator: "verilator" or "icarus"
    seed: of operands, gaps and stalls
    count: operations of mixed modes, once with gaps and stalls and once back to back
    waves: file for the waves of the run with stalls

    Raises ToolMissing if the simulator or compiler is not installed, BuildError if it fails,
    ValueError for a unit that is no matrix unit.
    """
    if not isinstance(config, AnyMatrixUnit):
        raise ValueError("only matrix units are simulated on random operations")
    emitted = emit(unit, config)
    build = StreamBuild(emitted, simulator=simulator, waves=wave_format(waves))
    sent = operations(config, count, seed, illegal=ILLEGAL)
    legal = operations(config, count, seed + 1, illegal=0)
    with activity("simulating operations", total=2 * count) as shown:
        stalled = matrix_job(
            build, emitted, config, sent, seed=seed, gap=GAP, stall=STALL, waves=waves
        )
        shown.step(count)
        free = matrix_job(build, emitted, config, legal, seed=seed)
        shown.step(count)
        shown.about("latencies")
        timings = _timings(build, emitted, config, seed)
    complaints = [text for text in [stalled.complaint()] if text]
    complaints += [f"back to back: {text}" for text in [free.complaint()] if text]
    complaints += [f"{t.mode}: latency or interval is not the sidecar's" for t in timings
                   if not t.kept]  # fmt: skip
    cycles, promised = elapsed(free), expected_cycles(emitted.sidecar, legal.op)
    if cycles != promised:
        complaints.append(f"back to back: {cycles} cycles, not {promised}")
    coverage: Counter[tuple[str, str]] = Counter()
    if not stalled.timed_out:
        d, _ = mixed_operations(config, **sent.fields)
        waited = stalled.streams["i"].waited, stalled.streams["o"].waited
        coverage = matrix_coverage(config, sent, d, *waited)
    return Report(
        unit=find_unit(unit).name,
        simulator=simulator,
        seed=seed,
        operations=stalled.checked + free.checked,
        cycles=cycles,
        cycles_promised=promised,
        timings=timings,
        coverage=coverage,
        complaints=complaints,
    )


run_icarus = partial(run, simulator="icarus")


def matrix_job(
    build: StreamBuild,
    emitted: Emitted,
    config: AnyMatrixUnit,
    sent: Operations,
    *,
    seed: int = 0,
    gap: float = 0.0,
    stall: float = 0.0,
    waves: Path | None = None,
) -> JobResult:
    """Send operations through a built matrix unit and compare with the golden model."""
    streams = {stream["name"]: stream for stream in emitted.sidecar["streams"]}
    d, error = mixed_operations(config, **sent.fields)
    inputs = {"i": pack(sent.fields, streams["i"])}
    expected = {"o": pack({"d": d, "error": error.astype(np.uint8)}, streams["o"])}
    return build.run(inputs, expected, seed=seed, gap=gap, stall=stall, waves=waves)


def elapsed(result: JobResult) -> int:
    """Clock edges from the first input transfer to the last output transfer; -1 if none."""
    first, last = result.streams["i"].transfers, result.streams["o"].transfers
    return int(last[-1] - first[0]) if len(first) and len(last) else -1


def expected_cycles(sidecar: dict[str, Any], op: npt.NDArray[np.uint64]) -> int:
    """Sum of the intervals of all operations but the last, and the latency of the last."""
    name_of = {code: mode for mode, code in sidecar["opcodes"].items()}
    modes = [name_of[int(code)] for code in op]
    before = sum(sidecar["initiation_interval"][mode] for mode in modes[:-1])
    return int(before + sidecar["latency"][modes[-1]])


def _timings(
    build: StreamBuild, emitted: Emitted, config: AnyMatrixUnit, seed: int
) -> list[Timing]:
    """A few operations of each mode on their own."""
    timings = []
    for mode in emitted.sidecar["opcodes"]:
        sent = operations(config, _TIMED, seed, modes=(mode,), illegal=0)
        streams = matrix_job(build, emitted, config, sent).streams
        taken, left = streams["i"].transfers, streams["o"].transfers
        complete = len(left) == _TIMED
        timings.append(
            Timing(
                mode=mode,
                latency=int(left[0] - taken[0]) if complete else -1,
                latency_promised=emitted.sidecar["latency"][mode],
                interval=float(left[-1] - left[0]) / (_TIMED - 1) if complete else -1.0,
                interval_promised=emitted.sidecar["initiation_interval"][mode],
            )
        )
    return timings
