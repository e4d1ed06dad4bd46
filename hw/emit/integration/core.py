"""A core description for FuseSoC, in its language CAPI2."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .texts import about, plain

__all__ = ["core"]


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
