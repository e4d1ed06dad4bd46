"""Streams driven and compared with what is expected, on a unit's build for cocotb."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.sim.rtl.waves import wave_format
from tilewright.verif.bench.cocotb_build import CocotbBuild, keep_waves

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
