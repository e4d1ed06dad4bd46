"""An instance of a unit, to be pasted into a design."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .package import package_name, payload_type
from .texts import title

__all__ = ["template"]


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
