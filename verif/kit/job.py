"""Builds a unit for cocotb once per configuration, and runs jobs on the build."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from cocotb_tools.runner import Verilator, get_runner

from tilewright.hw.emit import Emitted
from tilewright.verif.native import cache_directory
from tilewright.verif.native_build import BuildError
from tilewright.verif.toolchain import find_icarus, find_verilator, require_compiler

__all__ = ["SIMULATORS", "CocotbBuild", "JobResult", "StreamTrace"]

SIMULATORS = ("verilator", "icarus")

Words = npt.NDArray[np.uint32]

_BUILD_ARGS = {
    "verilator": ["-Wno-fatal", "-Wno-lint", "-Wno-style", "--x-assign", "fast", "-CFLAGS", "-O1"],
    "icarus": ["-g2012"],
}
_VERSION = 2
"""Of what a build directory holds; part of the cache's key."""


@dataclass(frozen=True)
class StreamTrace:
    """When a stream moved: cycle of each transfer, and cycles its valid waited for ready."""

    transfers: npt.NDArray[np.int64]
    waited: npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class JobResult:
    """What a job found.

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
        """What is wrong, in one line; empty if nothing is."""
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


class CocotbBuild:
    """A unit's Verilog compiled for a simulator; taken from the cache if it is there.

    Parameters
    ----------
    emitted: the unit's Verilog and sidecar
    simulator: "verilator" or "icarus"
    waves: whether the build can record waves (a build of its own)

    Raises ToolMissing if the simulator or the compiler is not installed, BuildError if it refuses
    the Verilog.
    """

    def __init__(
        self, emitted: Emitted, *, simulator: str = "verilator", waves: bool = False
    ) -> None:
        if simulator not in SIMULATORS:
            raise ValueError(f"`simulator` must be one of {', '.join(SIMULATORS)}, not {simulator!r}")
        self._sidecar = emitted.sidecar
        self._simulator = simulator
        self._waves = waves
        if simulator == "verilator":
            require_compiler()
            self._program = find_verilator()
        else:
            self._program = find_icarus()
        key = hashlib.sha256()
        for part in (emitted.verilog, simulator, str(waves), str(_BUILD_ARGS), str(_VERSION)):
            key.update(part.encode() + b"\0")
        key.update(f"{self._program} {sys.executable}".encode())
        self._directory = cache_directory() / f"cocotb-{simulator}-{key.hexdigest()[:24]}"
        if not (self._directory / "built").exists():
            self._build(emitted.verilog)

    @property
    def directory(self) -> Path:
        """Where the build is kept."""
        return self._directory

    def _build(self, verilog: str) -> None:
        """Build under a temporary name; the final one appears in one step."""
        self._directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._directory.parent) as scratch:
            work = Path(scratch) / "build"
            work.mkdir()
            source = work / "unit.v"
            source.write_text(verilog)
            log = work / "build.log"
            options = list(_BUILD_ARGS[self._simulator])
            if self._waves and self._simulator == "verilator":
                options += ["--trace"]
            with self._quiet_tools():
                try:
                    get_runner(self._simulator).build(
                        sources=[source],
                        hdl_toplevel=self._sidecar["module"],
                        build_dir=work,
                        build_args=options,
                        timescale=("1ns", "1ps"),
                        waves=self._waves,
                        log_file=log,
                    )
                except (SystemExit, RuntimeError, OSError) as error:
                    said = log.read_text()[-4000:] if log.exists() else str(error)
                    raise BuildError(f"{self._simulator} refused the Verilog:\n{said}") from error
            (work / "built").touch()
            try:
                os.rename(work, self._directory)
            except OSError:
                if not (self._directory / "built").exists():
                    raise

    @contextmanager
    def _quiet_tools(self) -> Any:
        """The simulator first on the PATH; cocotb's runner says nothing on the terminal."""
        before = {name: os.environ.get(name) for name in ("PATH", "MAKEFLAGS")}
        logger = logging.getLogger("cocotb_tools.runner")
        level = logger.level
        os.environ["PATH"] = f"{self._program.parent}{os.pathsep}{before['PATH']}"
        # The PyPI package's makefile lacks the option that names a precompiled header.
        os.environ["MAKEFLAGS"] = "CFG_CXXFLAGS_PCH_I=-include"
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
            logger.setLevel(level)

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
        waves: file to keep the waves in (VCD, or FST from Icarus)

        Raises BuildError if the simulator ended without a result.
        """
        if waves is not None and not self._waves:
            raise ValueError("this build records no waves")
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
            self._simulate(directory, seed, waves)
            outcome = directory / "result.json"
            if not outcome.exists():
                said = (directory / "run.log").read_text()[-4000:]
                raise BuildError(f"the simulation ended without a result:\n{said}")
            return _read(json.loads(outcome.read_text()))

    def _simulate(self, directory: Path, seed: int, waves: Path | None) -> None:
        runner = get_runner(self._simulator)
        arguments: list[str] = []
        recorded = directory / "waves.vcd"
        if waves is not None and isinstance(runner, Verilator):
            arguments = ["--trace", "--trace-file", str(recorded)]
        with self._quiet_tools():
            runner.test(
                test_module="tilewright.verif.kit.bench",
                hdl_toplevel=self._sidecar["module"],
                hdl_toplevel_lang="verilog",
                build_dir=self._directory,
                test_dir=directory,
                seed=seed,
                test_args=arguments,
                waves=waves is not None and not arguments,
                extra_env={"TILEWRIGHT_JOB": str(directory), "COCOTB_LOG_LEVEL": "WARNING"},
                results_xml=str(directory / "results.xml"),
                log_file=directory / "run.log",
            )
        if waves is not None:
            found = [*directory.glob("*.vcd"), *self._directory.glob("*.fst")]
            if not found:
                raise BuildError("the simulator recorded no waves")
            handle, temporary = tempfile.mkstemp(dir=waves.parent, prefix=f".{waves.name}.")
            with os.fdopen(handle, "wb") as file:
                file.write(found[0].read_bytes())
            os.replace(temporary, waves)


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
