"""Lists the contents of the cache by kind, with the time of their last use, and removes them."""

from __future__ import annotations

import fcntl
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .cache import alone, scratch_directory

__all__ = ["KINDS", "Kept", "contents", "remove"]

KINDS = {
    "simulations": "Verilog compiled to programs and libraries",
    "code": "cycle models compiled to machine code",
    "synthesis": "results of synthesis",
    "tools": "yosys and nextpnr, compiled from WebAssembly",
}
"""Description of each kind of entries."""

_NAMES = (
    ("simulations", re.compile(r"[A-Za-z_]\w*-[0-9a-f]{32}\.so"), stat.S_ISREG),
    ("simulations", re.compile(r"(runtime|header)-[0-9a-f]{32}"), stat.S_ISDIR),
    ("simulations", re.compile(r"cocotb-(verilator|icarus)-[0-9a-f]{24}"), stat.S_ISDIR),
    ("code", re.compile(r"numba-[0-9a-f]{16}"), stat.S_ISDIR),
)
"""Names of the entries that this program makes in the cache itself, and whether each is a file or a
directory."""
_RESULT = re.compile(r"[0-9a-f]{40}\.json")
_TOOLS = re.compile(r"YoWASP|wasmtime|\.\w+-[0-9.a-z]+|\.\w+\.lock")


@dataclass(frozen=True)
class Kept:
    """Something that is kept, and removed as a whole.

    Parameters
    ----------
    kind: of :data:`KINDS`
    path: of the file or the directory
    bytes: of all its files
    used: when a command used it last, seconds since 1970
    """

    kind: str
    path: Path
    bytes: int
    used: float


def contents(directory: Path) -> list[Kept]:
    """Lists the entries of a cache that this program has made. Links are not followed; entries that
    disappear meanwhile are left out."""
    found = []
    for kind, path in _paths(directory):
        with suppress(OSError):
            found.append(Kept(kind, path, _size(path), _used(kind, path)))
    return found


def remove(directory: Path, chosen: Iterable[Kept]) -> list[Kept]:
    """Removes some entries of a cache; returns those that are gone.

    Each goes away in one step, so that nothing is ever half there. Raises CacheInUse, with all as
    it was, if another process uses the cache.
    """
    gone = []
    with alone(directory), scratch_directory() as scratch:
        for number, kept in enumerate(chosen):
            with suppress(FileNotFoundError):
                os.rename(kept.path, scratch / str(number))
                gone.append(kept)
        _remove_locks(directory)
    return gone


def _paths(directory: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(directory.iterdir()):
        for kind, name, is_right in _NAMES:
            if name.fullmatch(path.name) and is_right(_mode(path)):
                yield kind, path
    results, tools = directory / "synth", directory / "tools"
    if stat.S_ISDIR(_mode(results)):
        yield from (
            ("synthesis", path)
            for path in sorted(results.iterdir())
            if _RESULT.fullmatch(path.name) and stat.S_ISREG(_mode(path))
        )
    if stat.S_ISDIR(_mode(tools)) and all(_TOOLS.fullmatch(path.name) for path in tools.iterdir()):
        yield "tools", tools


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


def _size(path: Path) -> int:
    """Bytes of a file, or of all files below a directory."""
    if not stat.S_ISDIR(_mode(path)):
        return path.lstat().st_size
    return sum(
        os.lstat(os.path.join(folder, name)).st_size
        for folder, _, names in os.walk(path)
        for name in names
    )


def _used(kind: str, path: Path) -> float:
    """Returns when an entry was used last; the tools keep a marker file for each of theirs."""
    marks = [path, *(path.glob(".*") if kind == "tools" else ())]
    return max(mark.lstat().st_mtime for mark in marks)


def _remove_locks(directory: Path) -> None:
    """Removes the locks of entries that do not exist and are not being made."""
    for path in directory.glob(".*.lock"):
        name = path.name.removeprefix(".").removesuffix(".lock")
        ours = any(pattern.fullmatch(name) for _, pattern, _ in _NAMES)
        if not ours or not stat.S_ISREG(_mode(path)) or os.path.lexists(directory / name):
            continue
        with suppress(OSError), path.open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
