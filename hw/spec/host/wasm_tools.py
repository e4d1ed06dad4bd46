"""Tools that are packed for Python as WebAssembly: yosys, nextpnr.

They compile themselves to machine code when they first run, for some half a minute, and keep it: in
our cache, below ``tools``.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from .cache import cache_directory, used
from .programs import Completed, run_program

__all__ = ["run_wasm_tool", "tool_cache", "tool_environment"]


def tool_cache() -> Path:
    """Directory of the tools' compiled code."""
    return cache_directory() / "tools"


def run_wasm_tool(
    package: str,
    command: list[str],
    *,
    cwd: Path,
    said: str = "",
    scratch: Path | None = None,
) -> Completed:
    """Runs a tool to its end, whatever its status; see `run_program`.

    Parameters
    ----------
    package: the Python package that it is in
    command: the program and its arguments
    cwd: where it runs; it must be able to read that directory
    said: what it reads from its standard input
    scratch: directory for its temporary files
    """
    with _first_alone(tool_cache(), package):
        return run_program(
            command, cwd=cwd, said=said, environment=tool_environment(), scratch=scratch
        )


def tool_environment() -> dict[str, str]:
    """Variables of this process, and those that name the directory of the tools' compiled code."""
    kept = tool_cache()
    # The first is where YoWASP's tools look, the second where wasmtime's own cache is.
    return {**os.environ, "YOWASP_CACHE_DIR": str(kept / "YoWASP"), "XDG_CACHE_HOME": str(kept)}


@contextmanager
def _first_alone(kept: Path, package: str) -> Iterator[None]:
    """Delays other runs of a tool, in this process and in others, while its first one compiles
    it: side by side they would do so together, and write one file."""
    compiled = kept / f".{package}-{version(package.replace('_', '-'))}"
    if compiled.exists():
        used(compiled)
        yield
        return
    kept.mkdir(parents=True, exist_ok=True)
    with (kept / f".{package}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if compiled.exists():
            fcntl.flock(lock, fcntl.LOCK_UN)
        yield
        compiled.touch()
