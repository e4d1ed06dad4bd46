"""Simulates a unit on random operations and says whether it does what its sidecar promises."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.config import Config
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.streams import pack
from tilewright.sim.rtl.waves import wave_format
from tilewright.sim.units.any_unit import mixed_operations
from tilewright.verif.bench.stream_job import (
    ILLEGAL,
    TIMED,
    JobResult,
    StreamBuild,
    halves,
    run_operations,
)
from tilewright.verif.kit.reports import Report
from tilewright.verif.matrix_units.matrix_stimuli import (
    AnyMatrixUnit,
    Operations,
    matrix_coverage,
    operations,
)


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
    count: operations of mixed modes, half of them with gaps and stalls, half back to back
    waves: file for the waves of the run with stalls

    Raises ToolMissing if the simulator or compiler is not installed, BuildError if it fails,
    ValueError for a unit that is no matrix unit.
    """
    if not isinstance(config, AnyMatrixUnit):
        raise ValueError("only matrix units are simulated on random operations")
    emitted = emit(unit, config)
    build = StreamBuild(emitted, simulator=simulator, waves=wave_format(waves))
    paused, together = halves(count)
    sent = operations(config, paused, seed, illegal=ILLEGAL)
    legal = operations(config, together, seed + 1, illegal=0) if together else None
    names = {opcode: mode for mode, opcode in emitted.sidecar["opcodes"].items()}

    def coverage(stalled: JobResult) -> Counter[tuple[str, str]]:
        if stalled.timed_out:
            return Counter()
        d, _ = mixed_operations(config, **sent.fields)
        waited = stalled.streams["i"].waited, stalled.streams["o"].waited
        return matrix_coverage(config, sent, d, *waited)

    return run_operations(
        unit,
        emitted,
        partial(matrix_job, build, emitted, config),
        mixed=sent,
        legal=legal,
        alone=lambda mode: operations(config, TIMED, seed, modes=(mode,), illegal=0),
        kinds=[names.get(int(opcode), "illegal") for opcode in sent.op],
        promised=expected_cycles(emitted.sidecar, legal.op) if legal else 0,
        coverage=coverage,
        simulator=simulator,
        seed=seed,
        waves=waves,
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


def expected_cycles(sidecar: dict[str, Any], op: npt.NDArray[np.uint64]) -> int:
    """Sum of the intervals of all operations but the last, and the latency of the last."""
    name_of = {code: mode for mode, code in sidecar["opcodes"].items()}
    modes = [name_of[int(code)] for code in op]
    before = sum(sidecar["initiation_interval"][mode] for mode in modes[:-1])
    return int(before + sidecar["latency"][modes[-1]])
