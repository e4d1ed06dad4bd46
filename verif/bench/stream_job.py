"""Streams driven and compared with what is expected, on a unit's build for cocotb."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.catalogue import find_unit
from tilewright.hw.emit.unit import Emitted
from tilewright.hw.spec.host.activity import activity
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.waves import wave_format
from tilewright.verif.bench.cocotb_build import CocotbBuild, keep_waves
from tilewright.verif.kit.reports import Report, Timing

Words = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class StreamTrace:
    """Timing of a stream: cycle of each transfer, and cycles in which its valid waited for
    ready."""

    transfers: npt.NDArray[np.int64]
    waited: npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class JobResult:
    """Result of a job.

    Parameters
    ----------
    timed_out: the unit stopped moving before all was done
    faults: broken stream rules, one line each
    checked, wrong: payloads compared at all outputs, payloads that differed
    mismatches: by output, (index, got, expected) of the first ones, hexadecimal
    streams: by name
    """

    timed_out: bool
    faults: list[str]
    checked: int
    wrong: int
    mismatches: dict[str, list[tuple[int, str, str]]]
    streams: dict[str, StreamTrace]

    @property
    def passed(self) -> bool:
        return not (self.timed_out or self.faults or self.wrong)

    def complaint(self) -> str:
        """Description of the first failure in one line; empty if there is none."""
        if self.timed_out:
            return f"timed out after {self.checked} results"
        if self.faults:
            return self.faults[0]
        for name, rows in self.mismatches.items():
            for index, got, expected in rows[:1]:
                return (
                    f"{self.wrong} of {self.checked} results differ, first `{name}` {index}: "
                    f"{got}, expected {expected}"
                )
        return ""


class StreamBuild(CocotbBuild):
    """A unit with streams, and jobs run on it."""

    def run(
        self,
        inputs: Mapping[str, Words],
        expected: Mapping[str, Words],
        *,
        seed: int = 0,
        gap: float = 0.0,
        stall: float = 0.0,
        time_out: int | None = None,
        waves: Path | None = None,
    ) -> JobResult:
        """Drive packed payloads into the inputs and compare what leaves the outputs.

        Parameters
        ----------
        inputs, expected: payloads (count, words) by stream
        seed: of gaps and stalls
        gap, stall: share of the cycles in which an input, an output pauses
        time_out: cycles; default: generous for the number of payloads
        waves: file to keep the waves in, of the format that the build records

        Raises BuildError if the simulator ended without a result.
        """
        longest = max(len(rows) for rows in [*inputs.values(), *expected.values()])
        job = {
            "clock": self._sidecar["clock"],
            "reset": self._sidecar["reset"],
            "inputs": [s for s in self._sidecar["streams"] if s["name"] in inputs],
            "outputs": [s for s in self._sidecar["streams"] if s["name"] in expected],
            "seed": seed,
            "gap": gap,
            "stall": stall,
            "time_out": time_out or 1000 + 200 * longest,
        }
        with tempfile.TemporaryDirectory(prefix="tilewright-") as scratch:
            directory = Path(scratch)
            (directory / "job.json").write_text(json.dumps(job))
            np.savez(directory / "payloads.npz", **inputs, **expected)  # type: ignore[arg-type]
            self.launch(
                "tilewright.verif.bench.stream_bench",
                directory,
                environment={"TILEWRIGHT_JOB": str(directory)},
                seed=seed,
                waves=wave_format(waves),
            )
            outcome = self.result(directory)
            if waves is not None:
                keep_waves(directory, waves)
            if outcome is None:
                raise self.said(directory, "ended without a result")
            return _read(outcome)


def _read(result: dict[str, Any]) -> JobResult:
    boards = result["boards"]
    return JobResult(
        timed_out=result["timed_out"],
        faults=result["faults"],
        checked=sum(board["checked"] for board in boards.values()),
        wrong=sum(board["wrong"] for board in boards.values()),
        mismatches={
            name: [(row[0], row[1], row[2]) for row in board["mismatches"]]
            for name, board in boards.items()
        },
        streams={
            name: StreamTrace(
                np.array(side["transfers"], np.int64), np.array(side["waited"], np.int64)
            )
            for name, side in result["streams"].items()
        },
    )


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
