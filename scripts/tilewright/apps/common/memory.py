"""Compares the memory that a computation would take with the memory that is available."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

from ...errors import UserError

__all__ = ["available_memory", "check_memory", "in_words"]

_GROUPS = Path("/sys/fs/cgroup")
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB")


def available_memory() -> int:
    """Bytes that this process can still get: the least of what the machine has left, what the
    limits of the process (``ulimit -v``, ``-d``) leave, and what its control groups allow."""
    return max(0, min(_machine(), *_process(), *_groups()))


def check_memory(what: object, needed: int) -> None:
    """Raise UserError if there is less memory than is needed."""
    there = available_memory()
    if needed > there:
        raise UserError(
            f"{what} would take some {in_words(needed)} of memory; {in_words(there)} are available"
        )


def in_words(count: int) -> str:
    """Bytes in the largest unit of which there is one: 1.5 GiB."""
    power = min(max(0, count.bit_length() - 1) // 10, len(_UNITS) - 1)
    digits = 1 if power else 0
    return f"{count / 1024**power:.{digits}f} {_UNITS[power]}"


def _machine() -> int:
    """Memory that can be had without swapping, where Linux tells; what is installed elsewhere."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return sys.maxsize


def _process() -> list[int]:
    """Returns the bytes that the limits of the process leave for its addresses and for its data."""
    used = {"VmSize": 0, "VmData": 0}
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            name, _, text = line.partition(":")
            if name in used:
                used[name] = int(text.split()[0]) * 1024
    except OSError:
        pass
    limits = {"VmSize": resource.RLIMIT_AS, "VmData": resource.RLIMIT_DATA}
    soft = {name: resource.getrlimit(limit)[0] for name, limit in limits.items()}
    return [
        limit - used[name] if limit != resource.RLIM_INFINITY else sys.maxsize
        for name, limit in soft.items()
    ]


def _groups() -> list[int]:
    """Returns the memory limits of the process's control groups (version 2)."""
    try:
        entries = Path("/proc/self/cgroup").read_text().splitlines()
        group = _GROUPS / next(entry[3:].lstrip("/") for entry in entries if entry[:3] == "0::")
        folders = [folder for folder in (group, *group.parents) if folder.is_relative_to(_GROUPS)]
        found = [folder / "memory.max" for folder in folders]
        limits = [file.read_text().strip() for file in found if file.exists()]
    except (OSError, StopIteration):
        return []
    return [int(limit) for limit in limits if limit.isdigit()]
