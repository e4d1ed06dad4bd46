"""Files that commands write: each appears whole or not at all, and through whatever leads to it.

A symbolic link is followed, and the file that it leads to replaced; an existing file keeps its
mode and its owner. Devices and pipes are never replaced: they are written into.
"""

from __future__ import annotations

import errno
import io
import os
import secrets
import stat
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

__all__ = ["is_standard_output", "is_stream", "obstacle", "write_files", "write_whole"]

Writer = Callable[[IO[bytes]], object]
_LONGEST_NAME = 40
"""Characters of a file's name that appear in the name of its replacement."""
_MOST_LINKS = 40
"""Most symbolic links that are followed one after another, as in Linux."""


def is_stream(path: Path) -> bool:
    """Returns whether a path is no regular file: a device, a pipe, or a file that this process has
    open already (``/dev/stdout``)."""
    try:
        return _descriptor(path) is not None or not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def is_standard_output(path: Path) -> bool:
    """Returns whether a path is the standard output of this process."""
    try:
        return is_stream(path) and os.path.samestat(path.stat(), os.fstat(1))
    except OSError:
        return False


def obstacle(path: Path) -> str:
    """Why nothing can be written there, as far as that can be known before; empty if it can."""
    try:
        real = Path(os.path.realpath(path))
        if path.is_dir():
            return "it is a directory"
        if is_stream(path):
            return "" if os.access(path, os.W_OK) else "permission denied"
        if path.is_symlink():
            path.stat()
    except FileNotFoundError:
        pass  # the link leads to a file that is to be made
    except OSError as error:
        return error.strerror or str(error)
    parent = path.parent if not path.is_symlink() else real.parent
    if not parent.is_dir():
        return f"{parent} is not a directory"
    if not os.access(parent, os.W_OK | os.X_OK):
        return "permission denied"
    if real.exists() and not os.access(real, os.W_OK):
        return "permission denied"
    return _tried(parent)


def _tried(folder: Path) -> str:
    """Returns why no file can be created in a folder, whatever its mode; empty if one can."""
    new = folder / f".tilewright.{secrets.token_hex(4)}"
    try:
        os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        new.unlink()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def write_whole(path: Path, write: Writer) -> None:
    """Write one file by a function that is given it open. Raises OSError, with the path in
    ``filename``, if it cannot be written; then everything is as it was before."""
    write_files({path: write})


def write_files(contents: Mapping[Path, Writer]) -> None:
    """Write several files, all or none of them; as `write_whole` for each.

    What has gone into a device or a pipe cannot be taken back; so they come last, but before the
    files get their names.
    """
    staged: dict[Path, tuple[Path, Path]] = {}
    doing = Path()
    try:
        for doing in [path for path in contents if not is_stream(path)]:
            real = Path(os.path.realpath(doing))
            new = real.parent / f".{real.name[:_LONGEST_NAME]}.{secrets.token_hex(4)}"
            staged[doing] = new, real
            _stage(new, real, contents[doing])
        for doing in [path for path in contents if path not in staged]:
            _send(doing, contents[doing])
        for doing in staged:
            os.replace(*staged[doing])
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(doing)) from None
    finally:
        for new, _ in staged.values():
            new.unlink(missing_ok=True)


def _stage(new: Path, real: Path, write: Writer) -> None:
    """Write the new file beside the one that it will replace, with that one's mode and owner."""
    if real.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    with open(handle, "wb") as file:
        if real.exists():
            _take_over(handle, real.stat())
        write(file)


def _take_over(handle: int, old: os.stat_result) -> None:
    new = os.fstat(handle)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):  # then it belongs to who wrote it last
            os.chown(handle, old.st_uid, old.st_gid)
    os.chmod(handle, stat.S_IMODE(old.st_mode))


def _send(path: Path, write: Writer) -> None:
    """Writes into a device, a pipe or an open file. Writers may need a seekable file: they write
    into one in memory."""
    content = io.BytesIO()
    write(content)
    descriptor = _descriptor(path)
    if descriptor is not None and sys.stdout is not None:
        sys.stdout.flush()
    target = os.open(path, os.O_WRONLY | os.O_CLOEXEC) if descriptor is None else os.dup(descriptor)
    with open(target, "wb") as file:
        file.write(content.getbuffer())


def _descriptor(path: Path) -> int | None:
    """The number of the open file that a path stands for, such as 1 for ``/dev/stdout``.

    Opening the path would open what is behind it once more, with a place of its own in it.
    """
    for _ in range(_MOST_LINKS):
        if not path.is_symlink():
            break
        parent = os.path.realpath(path.parent)
        if parent == f"/proc/{os.getpid()}/fd" and path.name.isdigit():
            return int(path.name)
        path = Path(parent) / os.readlink(path)
    return None
