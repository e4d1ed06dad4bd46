"""Describes a unit for build tools: a core description for FuseSoC, in its language CAPI2, and a
list of files, as Verilator, slang, Icarus and others accept it with ``-f``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .package import package_name, payload_type
from .texts import about, plain, title


def _vector(width: int) -> str:
    return f"logic [{width - 1}:0]" if width > 1 else "logic"


def _signals(sidecar: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Type and name of every port but clock and reset, and a remark where a group begins."""
    for stream in sidecar["streams"]:
        way = "to" if stream["direction"] == "in" else "from"
        kind = f"{package_name(sidecar)}::{payload_type(stream)}"
        yield kind, stream["payload"], f"stream {stream['name']}, {way} the unit"
        for end in ("valid", "ready"):
            if stream[end]:
                yield "logic", stream[end], ""
    for port in sidecar.get("axi", ()):
        remark = f"{port['prefix']}, the unit is the {port['role']}"
        for signal in port["signals"]:
            yield _vector(signal["width"]), signal["name"], remark
            remark = ""
    for port in sidecar.get("ports", ()):
        way = "to" if port["direction"] == "in" else "from"
        yield _vector(port["width"]), port["name"], f"{way} the unit"


def template(sidecar: Mapping[str, Any]) -> str:
    """Declarations of a signal ``MODULE_PORT`` for each port, and the instance ``u_MODULE``.

    Clock and reset are the design's own. Payloads have the types of the package.
    """
    module, ends = sidecar["module"], (sidecar["clock"], sidecar["reset"]["name"])
    types = f", and types of the package {package_name(sidecar)}" if sidecar["streams"] else ""
    lines = [f"// {title(sidecar)}", f"// Uses {' and '.join(ends)} of the design{types}."]
    pins = [f"    .{end}({end})" for end in ends]
    for kind, port, remark in _signals(sidecar):
        if remark:
            lines.append(f"// {remark}")
        lines.append(f"{kind} {module}_{port};")
        pins.append(f"    .{port}({module}_{port})")
    lines += [f"{module} u_{module} (", *(f"{pin}," for pin in pins[:-1]), pins[-1], ");"]
    return "\n".join([*lines, ""])


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
