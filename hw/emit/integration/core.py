"""Describes a unit for build tools: a core description for FuseSoC, in its language CAPI2, and a
list of files, as Verilator, slang, Icarus and others accept it with ``-f``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .texts import about, plain

__all__ = ["core", "filelist"]


def core(sidecar: Mapping[str, Any], files: Sequence[str]) -> str:
    """The core ``tilewright:generated:MODULE:VERSION`` with the targets ``default`` and ``lint``.

    ``fusesoc run --target=lint`` has Verilator read it with all warnings.

    Parameters
    ----------
    files: the paths of the files, from the core file's own folder on

    Raises
    ------
    ValueError if one leads out of the folder: FuseSoC takes no such file.
    """
    for file in files:
        if file.startswith(("../", "/")):
            raise ValueError(f"a core's files must be in its folder or below, not at {file!r}")
    module = sidecar["module"]
    name = f"tilewright:generated:{module}:{sidecar['version']}"
    description = plain(sidecar.get("summary") or f"{module}, generated")
    lines = [
        "CAPI=2:",
        *(f"# {line}".rstrip() for line in about(sidecar)),
        "",
        f"name: {json.dumps(name)}",
        f"description: {json.dumps(description)}",
        "",
        "filesets:",
        "  rtl:",
        "    files:",
        *(f"      - {json.dumps(file)}" for file in files),
        "    file_type: systemVerilogSource",
        "",
        "targets:",
        "  default: &default",
        "    filesets: [rtl]",
        f"    toplevel: {json.dumps(module)}",
        "  lint:",
        "    <<: *default",
        "    description: Verilator reads it with all warnings",
        "    flow: lint",
        "    flow_options:",
        "      tool: verilator",
        "      verilator_options: [-Wall]",
    ]
    return "\n".join([*lines, ""])


def filelist(sidecar: Mapping[str, Any], files: Sequence[str]) -> str:
    """Remarks and the SystemVerilog files; no options, because each tool has its own.

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
