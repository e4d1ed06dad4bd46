"""Cache of everything that is made once and kept: builds, machine code, results of synthesis, and
the files that the tools keep for themselves."""

from __future__ import annotations

import atexit
import errno
import fcntl
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ANOTHER = "TILEWRIGHT_CACHE names another directory"
"""Cure for a cache that cannot be written."""

_SCRATCH = "build-"
_LEFT_SECONDS = 600
"""Age at which a directory that nobody holds is one that a killed process has left."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


_held_caches: dict[Path, int] = {}
"""Descriptors of the caches that this process uses, with a lock that others may share."""


class CacheInUse(RuntimeError):
    """Another process uses the cache."""


def cache_directory() -> Path:
    """``$TILEWRIGHT_CACHE``, else ``$XDG_CACHE_HOME/tilewright``, else ``~/.cache/tilewright``; an
    absolute path to a directory that exists.

    If that cannot be written it is ``tilewright-UID`` among the temporary files, readable by no one
    else, and one line on standard error says so.
    """
    if chosen := os.environ.get("TILEWRIGHT_CACHE"):
        return _usable(Path(chosen).absolute())
    if base := os.environ.get("XDG_CACHE_HOME"):
        return _usable(Path(base).absolute() / "tilewright")
    try:
        return _usable(Path.home() / ".cache" / "tilewright")
    except RuntimeError:
        return _instead("there is no home directory that could hold a cache")


def used(entry: Path) -> None:
    """Records, by the time of modification, that an entry of the cache is used now."""
    with suppress(OSError):
        os.utime(entry)


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Keeps other processes from using a cache of this one: those that begin wait.

    Raises CacheInUse if one uses it already.
    """
    held = _held_caches.get(directory)
    try:
        if held is not None:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _share(held)
        raise CacheInUse(f"the cache {directory} is used by another command") from None
    try:
        yield
    finally:
        _share(held)


def _share(held: int | None) -> None:
    """Takes the shared lock, or returns to it; waits for a process that holds the cache alone."""
    if held is not None:
        fcntl.flock(held, fcntl.LOCK_SH)


def _hold(directory: Path) -> None:
    """Tell other processes, up to the end of this one, that it uses a cache; nothing where the
    file system has no locks."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _share(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        _held_caches[directory] = descriptor


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """Directory in the cache for files in progress; it is removed at the end.

    It is held by a lock that ends with this process, however that ends; directories of processes
    that were killed are removed here, too.
    """
    parent = cache_directory()
    for left in parent.glob(f"{_SCRATCH}*"):
        _remove_left(left)
    with tempfile.TemporaryDirectory(dir=parent, prefix=_SCRATCH) as name:
        held = _held(Path(name))
        try:
            yield Path(name)
        finally:
            os.close(held)


def _held(directory: Path) -> int:
    """A descriptor of a directory, with its lock, where the file system has such; raises
    BlockingIOError if another process has it."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:
        pass
    return descriptor


def _remove_left(directory: Path) -> None:
    """Removes a directory that no process holds. A young one may just not be held yet."""
    with suppress(OSError):
        if time.time() - directory.stat().st_mtime > _LEFT_SECONDS:
            os.close(_held(directory))
            shutil.rmtree(directory, ignore_errors=True)


def full(said: str) -> str:
    """Returns the words in which a program reports that the disk is full for its output; empty if
    it does not."""
    found = re.search("|".join(map(os.strerror, _NO_ROOM)), said)
    return found[0] if found else ""


@cache
def _usable(chosen: Path) -> Path:
    """The directory, made if need be; or the private one, after a warning."""
    try:
        chosen.mkdir(parents=True, exist_ok=True)
        if os.access(chosen, os.W_OK | os.X_OK):
            _hold(chosen)
            return chosen
        why = os.strerror(errno.EACCES)
    except OSError as error:
        why = error.strerror or str(error)
    return _instead(f"the cache {chosen} cannot be written: {why}")


@cache
def _instead(why: str) -> Path:
    """The private directory, after a warning."""
    private = _private()
    _hold(private)
    print(f"warning: {why}; {private} is used, {ANOTHER}", file=sys.stderr)
    return private


def _private() -> Path:
    """Private directory of this user: the same one in each run, unless it belongs to another
    user."""
    path = Path(tempfile.gettempdir()) / f"tilewright-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
        return path
    path = Path(tempfile.mkdtemp(prefix=f"{path.name}-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


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
