"""Simulates a unit of streams on operations, and says whether it does what its sidecar promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tilewright.hw.catalogue import find_unit
from tilewright.hw.emit.unit import Emitted
from tilewright.hw.spec.host.activity import activity
from tilewright.hw.spec.unit import Unit
from tilewright.verif.bench.stream_job import JobResult
from tilewright.verif.kit.reports import Report, Timing

GAP, STALL, ILLEGAL = 0.25, 0.45, 0.1
"""Shares of cycles with a pause on the streams, and of operations that the unit has not."""

TIMED = 16
"""Operations of a mode on their own."""


def halves(count: int) -> tuple[int, int]:
    """Splits a number of operations into those with gaps and stalls and those back to back."""
    return count - count // 2, count // 2


def run_operations(
    unit: Unit | str,
    emitted: Emitted,
    send: Callable[..., JobResult],
    *,
    mixed: Any,
    legal: Any,
    alone: Callable[[str], Any],
    kinds: Sequence[str],
    promised: int,
    coverage: Callable[[JobResult], Counter[tuple[str, str]]],
    simulator: str,
    seed: int,
    waves: Path | None,
) -> Report:
    """Send operations with gaps and stalls, back to back, and a few of each mode on their own.

    Parameters
    ----------
    unit, emitted: the unit, or its name in the catalogue, and its Verilog
    send: sends operations, with ``seed``, ``gap``, ``stall`` and ``waves`` if given, and compares
        what they give with the model
    mixed: operations with gaps and stalls, some that the unit does not have; ``kinds``: their modes
    legal: operations back to back, of the unit's modes; None: none
    alone: ``TIMED`` operations of a mode
    promised: cycles of ``legal`` back to back
    coverage: of the run with stalls
    simulator, seed: for the report; ``seed`` of gaps and stalls, too
    waves: file for the waves of the run with stalls
    """
    with activity("simulating operations") as shown:
        stalled = send(mixed, seed=seed, gap=GAP, stall=STALL, waves=waves)
        shown.about("simulating operations back to back")
        free = None if legal is None else send(legal, seed=seed)
        shown.about("latencies")
        timings = [_timing(send(alone(mode)), emitted, mode) for mode in emitted.sidecar["opcodes"]]
    complaints = [text for text in [stalled.complaint()] if text]
    wrong = [index for rows in stalled.mismatches.values() for index, *_ in rows]
    if free and (text := free.complaint()):
        complaints.append(f"back to back: {text}")
    report = Report(
        unit=find_unit(unit).name,
        simulator=simulator,
        seed=seed,
        operations=stalled.checked + (free.checked if free else 0),
        cycles=elapsed(free) if free else 0,
        cycles_promised=promised,
        timings=timings,
        coverage=coverage(stalled),
        complaints=complaints,
        kinds=Counter(kinds),
        failed=kinds[wrong[0]] if wrong else "",
    )
    complaints += report.timing_complaints()
    return report


def elapsed(result: JobResult) -> int:
    """Clock edges from the first input transfer to the last output transfer; -1 if none."""
    first, last = result.streams["i"].transfers, result.streams["o"].transfers
    return int(last[-1] - first[0]) if len(first) and len(last) else -1


def _timing(done: JobResult, emitted: Emitted, mode: str) -> Timing:
    taken, left = done.streams["i"].transfers, done.streams["o"].transfers
    complete = len(left) == TIMED
    return Timing(
        mode=mode,
        latency=int(left[0] - taken[0]) if complete else -1,
        latency_promised=emitted.sidecar["latency"][mode],
        interval=float(left[-1] - left[0]) / (TIMED - 1) if complete else -1.0,
        interval_promised=emitted.sidecar["initiation_interval"][mode],
    )
