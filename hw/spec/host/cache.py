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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

__all__ = ["ANOTHER", "CacheInUse", "alone", "cache_directory", "full", "scratch_directory", "used"]

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
