"""Generated tops compiled for cocotb, once per configuration, and cocotb started on them."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cocotb_tools import config
from cocotb_tools.runner import Icarus, get_runner
from tilewright.hw.emit.unit import Emitted
from tilewright.hw.spec.host.activity import activity
from tilewright.hw.spec.host.cache import cache_directory, full, scratch_directory, used
from tilewright.hw.spec.host.outputs import write_whole
from tilewright.hw.spec.host.programs import run_program
from tilewright.sim.rtl.accelerator import AxiRuleError
from tilewright.sim.rtl.axi.checkers import BOUND, axi_checkers, rule_texts
from tilewright.sim.rtl.build import (
    COMPILING,
    BuildError,
    build_program,
    cache_errors,
    program_optimisation,
    verilator_optimisation,
)
from tilewright.sim.rtl.toolchain import find_icarus, find_verilator, require_tools
from tilewright.sim.rtl.waves import WaveFormat, complete_waves

SIMULATORS = ("verilator", "icarus")

_PREFIX = "Vtop"
_OPTIONS = {
    "verilator": (
        *("--cc", "--vpi", "--prefix", _PREFIX, "--timescale", "1ns/1ps", "-O3"),
        *("--x-assign", "fast", "--x-initial", "fast", "-Wno-fatal", "-Wno-lint", "-Wno-style"),
        *("--output-split", "20000", "--output-split-cfuncs", "5000", "--inline-mult", "200"),
    ),
    "icarus": ("-g2012",),
}
_VERSION = 7
"""Version of a build directory's content; part of the cache's key."""
_MOST_FAULTS = 5


_SAY = """`define AXI_RULES_BROKEN(PORT, RULES, AR, AW, CYCLE) \\
  $display("axi rules broken: %h %h %h %h %0d", PORT, RULES, AR, AW, CYCLE);
"""
"""Message of the AXI checkers for broken rules; `launch` looks for it."""
_SAID = re.compile(r"^axi rules broken: (\w+) (\w+) (\w+) (\w+) (\w+)$", re.MULTILINE)


class _IcarusVcd(Icarus):
    """Icarus, whose waves cocotb has written as FST, writes VCD."""

    def _test_command(self) -> list[Any]:
        return [
            ["-vcd" if word == "-fst" else word for word in command]
            for command in super()._test_command()
        ]


class CocotbBuild:
    """Compiles a unit's Verilog for a simulator, or takes the build from the cache.

    Parameters
    ----------
    emitted: the unit's Verilog and sidecar
    simulator: "verilator" or "icarus"
    waves: that the build can record (a build of its own)

    Raises ToolMissing if the simulator or the compiler is not installed, BuildError if it refuses
    the Verilog.
    """

    def __init__(
        self,
        emitted: Emitted,
        *,
        simulator: str = "verilator",
        waves: WaveFormat | None = None,
    ) -> None:
        if simulator not in SIMULATORS:
            known = ", ".join(SIMULATORS)
            raise ValueError(f"`simulator` must be one of {known}, not {simulator!r}")
        self._sidecar = emitted.sidecar
        self._simulator = simulator
        self._waves = waves
        if simulator == "verilator":
            require_tools()
            self._program = find_verilator().program
        else:
            self._program = find_icarus()
        key = hashlib.sha256()
        checkers = axi_checkers(emitted.sidecar, _SAY, bind=simulator == "verilator")
        if checkers and simulator == "icarus":
            checkers = f"`define AXI_FOUR_STATES\n{checkers}"
        verilog = emitted.verilog + checkers
        for part in (verilog, simulator, str(waves), str(_OPTIONS), str(_VERSION)):
            key.update(part.encode() + b"\0")
        key.update(f"{self._program} {sys.executable} {program_optimisation()}".encode())
        key.update(str(verilator_optimisation()).encode())
        self._directory = cache_directory() / f"cocotb-{simulator}-{key.hexdigest()[:24]}"
        if not (self._directory / "built").exists():
            with activity(COMPILING, compiles=True):
                self._build(verilog)
        used(self._directory)

    @property
    def directory(self) -> Path:
        """Directory of the build."""
        return self._directory

    def _build(self, verilog: str) -> None:
        """Build under a temporary name; the final one appears in one step."""
        with cache_errors(), scratch_directory() as scratch:
            work = scratch / "build"
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
        """Compiles with only the top's ports visible: cocotb's runner would publish every signal,
        which takes the compiler minutes."""
        top = self._sidecar["module"]
        (work / "ports.vlt").write_text(
            f'`verilator_config\npublic_flat_rw -module "{top}" -var "*"\n'
        )
        main = config.share_dir / "lib" / "verilator" / "verilator.cpp"
        options = [*_OPTIONS["verilator"], *verilator_optimisation()]
        options += [self._waves.option] if self._waves else []
        options += ["--top-module", top, "-Mdir", str(work)]
        command = [str(self._program), *options, str(work / "ports.vlt"), str(work / "unit.v")]
        done = run_program(command, scratch=work, environment=find_verilator().environment)
        if done.returncode:
            said = (done.stderr + done.stdout).strip()[-4000:]
            raise BuildError(f"verilator failed:\n{said}")
        libraries = (f"-Wl,-rpath,{config.libs_dir}", f"-L{config.libs_dir}",
                     "-lcocotbvpi_verilator")  # fmt: skip
        build_program(work, _PREFIX, main, work / top, waves=self._waves, link=libraries)

    def _compile_icarus(self, work: Path) -> None:
        tops = ("-s", f"{BOUND}_top") if self._sidecar.get("axi") else ()
        with _quiet_runner():
            try:
                get_runner("icarus").build(
                    sources=[work / "unit.v"],
                    hdl_toplevel=self._sidecar["module"],
                    build_dir=work,
                    build_args=[*_OPTIONS["icarus"], *tops],
                    timescale=("1ns", "1ps"),
                    waves=self._waves is not None,
                    log_file=work / "build.log",
                )
            except (SystemExit, RuntimeError) as error:
                said = (work / "build.log").read_text()[-4000:]
                raise BuildError(f"icarus refused the Verilog:\n{said}") from error

    def launch(
        self,
        module: str,
        work: Path,
        *,
        environment: Mapping[str, str],
        seed: int | None = None,
        waves: WaveFormat | None = None,
    ) -> None:
        """Run the cocotb tests of a module, to the end of the simulation.

        Parameters
        ----------
        module: its name
        work: where the run leaves its log and its waves, ``waves.vcd`` or ``waves.fst``
        environment: further variables that the tests see
        seed: of cocotb's random numbers
        waves: record such; the build must be able to

        What the run found is the module's own business: see `said` where it left nothing. Raises
        AxiRuleError if the unit, or the bench, broke a rule of AXI at a port, BuildError if the
        simulator ended with an error.
        """
        if waves and waves != self._waves:
            raise ValueError(f"this build records no waves as {waves.name}")
        verilator = self._simulator == "verilator"
        file = str(work / f"waves.{waves.name}") if waves else ""
        trace, dump = ["--trace", "--trace-file", file], [f"+dumpfile_path={file}"]
        as_vcd = waves is not None and waves.name == "vcd" and not verilator
        try:
            with _quiet_runner():
                runner = _IcarusVcd() if as_vcd else get_runner(self._simulator)
                runner.test(
                    test_module=module,
                    hdl_toplevel=self._sidecar["module"],
                    hdl_toplevel_lang="verilog",
                    build_dir=self._directory,
                    test_dir=work,
                    seed=seed,
                    test_args=trace if waves and verilator else [],
                    plusargs=dump if waves and not verilator else [],
                    waves=waves is not None and not verilator,
                    extra_env={**environment, "COCOTB_LOG_LEVEL": "WARNING"},
                    results_xml=str(work / "results.xml"),
                    log_file=work / "run.log",
                )
        except RuntimeError:
            self._check_axi(work)
            raise self.said(work, "ended with an error") from None
        self._check_axi(work)

    def _check_axi(self, work: Path) -> None:
        """Raise AxiRuleError if a checker has flagged something."""
        log, found = work / "run.log", []
        for numbers in _SAID.findall(log.read_text() if log.exists() else ""):
            port, rules, ar, aw = (int(x.replace("x", "0"), 16) for x in numbers[:4])
            for number, text in enumerate(rule_texts(self._sidecar["axi"][port])):
                if rules >> number & 1:
                    text = text.replace("ARADDR", f"{ar:#x}").replace("AWADDR", f"{aw:#x}")
                    found.append(f"{text}, cycle {numbers[4]}")
        if found:
            raise AxiRuleError("; ".join(found[:_MOST_FAULTS]))

    def result(self, work: Path) -> Any:
        """Returns the content of ``result.json`` that a run wrote, or None if there is no such
        file.

        Raises BuildError if that is damaged, as on a full disk, of which Icarus says nothing.
        """
        result = work / "result.json"
        try:
            return json.loads(result.read_text()) if result.exists() else None
        except ValueError:
            raise self.said(work, "left half a result") from None

    def said(self, work: Path, what: str) -> BuildError:
        """The error of a run that went wrong, with the end of its log.

        Parameters
        ----------
        what: what happened, as it fits behind "the simulation"
        """
        log = work / "run.log"
        text = log.read_text() if log.exists() else ""
        if why := full(text):
            return BuildError(
                f"the simulation {what}: {why}, among temporary files in {work.parent}"
            )
        return BuildError(f"the simulation {what}:\n{text[-4000:]}")


def keep_waves(work: Path, waves: Path) -> None:
    """Put the waves that a run has left in ``work`` in their place, in one step.

    Raises BuildError if there are none, or not all of them.
    """
    found = [*work.glob("waves.*")]
    if not found:
        raise BuildError("the simulator recorded no waves")
    if error := complete_waves(found[0]):
        why = os.strerror(error)
        raise BuildError(f"the waves: {why}, among temporary files in {work.parent}")
    with found[0].open("rb") as recorded:
        write_whole(waves, lambda file: shutil.copyfileobj(recorded, file))


@contextmanager
def _quiet_runner() -> Iterator[None]:
    """cocotb's runner says nothing on the terminal."""
    logger = logging.getLogger("cocotb_tools.runner")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


SETTINGS = "TILEWRIGHT_BENCH"
"""The environment variable that leads a test module to its settings."""


def settings_directory() -> Path:
    """Inside the simulator: where ``settings.json`` is and ``result.json`` is to be."""
    return Path(os.environ[SETTINGS])


class SettingsBuild(CocotbBuild):
    """A top, and runs of test modules on it."""

    def run(self, module: str, settings: Mapping[str, Any], *, seed: int = 0) -> Any:
        """Run the cocotb tests of a module.

        The module finds ``settings`` as JSON in ``settings_directory()/settings.json`` and leaves
        what it found in ``result.json`` beside it, which is returned. Raises BuildError with the
        end of the log if it left nothing.
        """
        with tempfile.TemporaryDirectory(prefix="tilewright-") as scratch:
            directory = Path(scratch)
            (directory / "settings.json").write_text(json.dumps({**settings, "seed": seed}))
            self.launch(module, directory, environment={SETTINGS: str(directory)}, seed=seed)
            result = self.result(directory)
            if result is None:
                raise self.said(directory, "ended without a result")
            return result
