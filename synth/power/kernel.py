"""The compiled parts of the replay, in :file:`cpp`, each built once and kept in the cache."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.host.activity import activity
from tilewright.hw.spec.host.cache import cache_directory, scratch_directory, used
from tilewright.hw.spec.host.programs import run_program

from ..base.errors import ToolError

__all__ = ["kernel", "pointer"]

_FLAGS = ("-std=gnu++17", "-O3", "-fPIC", "-shared")


def pointer(array: npt.NDArray[Any], kind: type[np.generic]) -> int:
    """The address of an array, which must be contiguous and of this type."""
    if array.dtype != kind or not array.flags.c_contiguous:
        raise TypeError(f"an array must be contiguous and of {kind.__name__}, not {array.dtype}")
    address: int = array.ctypes.data
    return address


@cache
def kernel(name: str) -> ctypes.CDLL:
    """The library of a source by its name. Raises ToolError if the compiler is missing or fails."""
    source = Path(__file__).with_name("cpp") / f"{name}.cpp"
    command = shlex.split(os.environ.get("CXX") or "g++")
    try:
        version = run_program([*command, "--version"]).stdout
    except OSError as error:
        raise ToolError(f"no C++ compiler `{command[0]}`: {error.strerror}") from None
    text = source.read_bytes()
    parts = (text, str((version, command, _FLAGS, platform.machine())).encode())
    target = cache_directory() / f"{name}-{hashlib.sha256(b''.join(parts)).hexdigest()[:32]}.so"
    if not target.exists():
        with activity("compiling the replay, once", compiles=True), scratch_directory() as work:
            made = work / "kernel.so"
            done = run_program([*command, *_FLAGS, "-o", str(made), str(source)], cwd=work)
            if done.returncode:
                last = (done.stderr.strip().splitlines() or ["no message"])[-1]
                raise ToolError(f"{command[0]}: {last}")
            os.replace(made, target)
    used(target)
    library = ctypes.CDLL(str(target))
    if name == "replay":
        library.replay_differs.restype = ctypes.c_int64
    else:
        library.replay_events.restype = ctypes.c_int64
    return library
