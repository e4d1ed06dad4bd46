"""Builds a unit for cocotb once per configuration, and runs jobs on the build."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from cocotb_tools import config
from cocotb_tools.runner import Verilator, get_runner
from tilewright.hw.emit.unit import Emitted
from tilewright.sim.rtl.build import BuildError, build_program
from tilewright.sim.rtl.streams import cache_directory
from tilewright.sim.rtl.toolchain import find_icarus, find_verilator, require_compiler

__all__ = ["SIMULATORS", "CocotbBuild", "JobResult", "StreamTrace"]

SIMULATORS = ("verilator", "icarus")

Words = npt.NDArray[np.uint32]

_PREFIX = "Vtop"
_OPTIONS = {
    "verilator": (
        *("--cc", "--vpi", "--prefix", _PREFIX, "--timescale", "1ns/1ps", "-O3"),
        *("--x-assign", "fast", "--x-initial", "fast", "-Wno-fatal", "-Wno-lint", "-Wno-style"),
        *("--output-split", "20000", "--output-split-cfuncs", "5000", "--inline-mult", "200"),
    ),
    "icarus": ("-g2012",),
}
_VERSION = 3
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
            known = ", ".join(SIMULATORS)
            raise ValueError(f"`simulator` must be one of {known}, not {simulator!r}")
        self._sidecar = emitted.sidecar
        self._simulator = simulator
        self._waves = waves
        if simulator == "verilator":
            require_compiler()
            self._program = find_verilator()
        else:
            self._program = find_icarus()
        key = hashlib.sha256()
        for part in (emitted.verilog, simulator, str(waves), str(_OPTIONS), str(_VERSION)):
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
            (work / "unit.v").write_text(verilog)
            if self._simulator == "verilator":
                self._verilate(work)
            else:
                self._compile_icarus(work)
            (work / "built").touch()
            try:
                os.rename(work, self._directory)
            except OSError:
                if not (self._directory / "built").exists():
                    raise

    def _verilate(self, work: Path) -> None:
        """Only the top's ports are made visible: cocotb's runner would publish every signal,
        which takes the compiler minutes."""
        top = self._sidecar["module"]
        (work / "ports.vlt").write_text(
            f'`verilator_config\npublic_flat_rw -module "{top}" -var "*"\n'
        )
        main = config.share_dir / "lib" / "verilator" / "verilator.cpp"
        options = [*_OPTIONS["verilator"], *(["--trace"] if self._waves else [])]
        options += ["--top-module", top, "-Mdir", str(work)]
        _command([str(self._program), *options, str(work / "ports.vlt"), str(work / "unit.v")])
        libraries = (f"-Wl,-rpath,{config.libs_dir}", f"-L{config.libs_dir}",
                     "-lcocotbvpi_verilator")  # fmt: skip
        build_program(work, _PREFIX, main, work / top, waves=self._waves, link=libraries)

    def _compile_icarus(self, work: Path) -> None:
        with self._quiet_runner():
            try:
                get_runner("icarus").build(
                    sources=[work / "unit.v"],
                    hdl_toplevel=self._sidecar["module"],
                    build_dir=work,
                    build_args=list(_OPTIONS["icarus"]),
                    timescale=("1ns", "1ps"),
                    waves=self._waves,
                    log_file=work / "build.log",
                )
            except (SystemExit, RuntimeError) as error:
                said = (work / "build.log").read_text()[-4000:]
                raise BuildError(f"icarus refused the Verilog:\n{said}") from error

    @contextmanager
    def _quiet_runner(self) -> Iterator[None]:
        """cocotb's runner says nothing on the terminal."""
        logger = logging.getLogger("cocotb_tools.runner")
        level = logger.level
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
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
        plusargs: list[str] = []
        if waves is not None and isinstance(runner, Verilator):
            arguments = ["--trace", "--trace-file", str(directory / "waves.vcd")]
        elif waves is not None:
            plusargs = [f"+dumpfile_path={directory / 'waves.fst'}"]
        with self._quiet_runner():
            runner.test(
                test_module="tilewright.verif.bench.stream_bench",
                hdl_toplevel=self._sidecar["module"],
                hdl_toplevel_lang="verilog",
                build_dir=self._directory,
                test_dir=directory,
                seed=seed,
                test_args=arguments,
                plusargs=plusargs,
                waves=bool(plusargs),
                extra_env={"TILEWRIGHT_JOB": str(directory), "COCOTB_LOG_LEVEL": "WARNING"},
                results_xml=str(directory / "results.xml"),
                log_file=directory / "run.log",
            )
        if waves is not None:
            found = [*directory.glob("waves.*")]
            if not found:
                raise BuildError("the simulator recorded no waves")
            handle, temporary = tempfile.mkstemp(dir=waves.parent, prefix=f".{waves.name}.")
            with os.fdopen(handle, "wb") as file:
                file.write(found[0].read_bytes())
            os.replace(temporary, waves)


def _command(arguments: list[str]) -> None:
    """Run a build tool. Raises BuildError with the end of what it said if it fails."""
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr + done.stdout).strip()[-4000:]
        raise BuildError(f"{Path(arguments[0]).name} failed:\n{said}")


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
