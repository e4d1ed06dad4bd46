"""Simulates a lane with separate units on random operations."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tilewright.hw.catalogue import find_unit
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.gta_lane.separate import GtaSeparateConfig
from tilewright.hw.spec.host.activity import activity
from tilewright.hw.spec.unit import Unit
from tilewright.sim.gta.separate import mixed_operations
from tilewright.sim.rtl.streams import pack
from tilewright.sim.rtl.waves import wave_format
from tilewright.verif.bench.stream_job import JobResult, StreamBuild
from tilewright.verif.gta.separate.stimuli import Operations, operations
from tilewright.verif.kit.reports import Report, Timing

__all__ = ["packed", "run", "run_icarus"]

GAP, STALL, ILLEGAL = 0.25, 0.45, 0.1
_TIMED = 16


def run(
    unit: Unit | str,
    config: GtaSeparateConfig,
    *,
    simulator: str = "verilator",
    seed: int = 0,
    count: int = 1000,
    waves: Path | None = None,
) -> Report:
    """Simulate the unit under cocotb and check results, stream rules, latency and interval.

    Parameters
    ----------
    unit, config: the unit, or its name in the catalogue
    simulator: "verilator" or "icarus"
    seed: of operands, gaps and stalls
    count: operations of mixed formats, once with gaps and stalls and once back to back
    waves: file for the waves of the run with stalls

    Raises ToolMissing if the simulator or compiler is not installed, BuildError if it fails.
    """
    emitted = emit(unit, config)
    build = StreamBuild(emitted, simulator=simulator, waves=wave_format(waves))
    sent = operations(config, count, seed, illegal=ILLEGAL)
    legal = operations(config, count, seed + 1, illegal=0)
    send = partial(_job, build, emitted, config)
    with activity("simulating operations", total=2 * count) as shown:
        stalled = send(sent, seed=seed, gap=GAP, stall=STALL, waves=waves)
        shown.step(count)
        free = send(legal, seed=seed)
        shown.step(count)
        shown.about("latencies")
        timings = [
            _timing(
                send(operations(config, _TIMED, seed, formats=(name,), illegal=0)), config, name
            )
            for name in config.formats
        ]
    complaints = [text for text in [stalled.complaint()] if text]
    complaints += [f"back to back: {text}" for text in [free.complaint()] if text]
    complaints += [
        f"{t.mode}: latency or interval is not the sidecar's" for t in timings if not t.kept
    ]
    first, last = free.streams["i"].transfers, free.streams["o"].transfers
    cycles = int(last[-1] - first[0]) if len(first) and len(last) else -1
    promised = count - 1 + config.pipeline
    if cycles != promised:
        complaints.append(f"back to back: {cycles} cycles, not {promised}")
    return Report(
        unit=find_unit(unit).name,
        simulator=simulator,
        seed=seed,
        operations=stalled.checked + free.checked,
        cycles=cycles,
        cycles_promised=promised,
        timings=timings,
        coverage=_coverage(config, sent),
        complaints=complaints,
    )


run_icarus = partial(run, simulator="icarus")


def packed(config: GtaSeparateConfig, sent: Operations, sidecar: dict[str, Any]) -> tuple[Any, Any]:
    """The payloads of operations and of what they give."""
    streams = {stream["name"]: stream for stream in sidecar["streams"]}
    d, error = mixed_operations(config, **sent.fields)
    return pack(sent.fields, streams["i"]), pack({"d": d, "error": error}, streams["o"])


def _job(
    build: StreamBuild,
    emitted: Emitted,
    config: GtaSeparateConfig,
    sent: Operations,
    **pauses: Any,
) -> JobResult:
    inputs, expected = packed(config, sent, emitted.sidecar)
    return build.run({"i": inputs}, {"o": expected}, **pauses)


def _timing(done: JobResult, config: GtaSeparateConfig, name: str) -> Timing:
    """Of a few operations in one format on their own."""
    taken, left = (done.streams[stream].transfers for stream in "io")
    complete = len(left) == _TIMED
    return Timing(
        mode=name,
        latency=int(left[0] - taken[0]) if complete else -1,
        latency_promised=config.latency[name],
        interval=float(left[-1] - left[0]) / (_TIMED - 1) if complete else -1.0,
        interval_promised=config.initiation_interval[name],
    )


def _coverage(config: GtaSeparateConfig, sent: Operations) -> Counter[tuple[str, str]]:
    """Operations by format and kind."""
    names = {number: name for name, number in config.opcodes.items()}
    formats = [names.get(int(number), "illegal") for number in np.asarray(sent.format)]
    return Counter(zip(formats, sent.kind, strict=True))
