"""A list of files, as Verilator, slang, Icarus and others take it with ``-f``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .texts import about

__all__ = ["filelist"]


def filelist(sidecar: Mapping[str, Any], files: Sequence[str]) -> str:
    """Remarks and the SystemVerilog files; no options, of which each tool has its own.

    Parameters
    ----------
    files: their paths, from the list's own folder on (Verilator's ``-F``)

    Raises
    ------
    ValueError for a path that not all tools read as one.
    """
    for file in files:
        if any(sign.isspace() or sign in "\"'$*?;#\\" for sign in file) or file[0] in "+-/":
            raise ValueError(
                f"a list of files names one by letters, digits and dots below its own folder, or "
                f"above it, not {file!r}"
            )
    remarks = [f"// {line}".rstrip() for line in about(sidecar)]
    return "\n".join([*remarks, f"// top module: {sidecar['module']}", *files, ""])
