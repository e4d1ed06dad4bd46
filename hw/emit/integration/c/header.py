"""The whole header of a unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..texts import about
from .access import access_lines, job_lines
from .registers import error_lines, operation_lines, register_lines, structure_lines
from .streams import bit_lines, stream_lines, timing_lines
from .words import Definitions, comment, literal

__all__ = ["header"]


def _sections(sidecar: Mapping[str, Any]) -> Iterator[Iterator[str]]:
    names = Definitions(sidecar["module"])
    yield _parameters(sidecar, names)
    if sidecar.get("registers"):
        yield register_lines(sidecar, names)
        yield structure_lines(sidecar, names)
        yield error_lines(sidecar, names)
    if sidecar["streams"]:
        yield timing_lines(sidecar, names)
        yield bit_lines(sidecar)
        yield stream_lines(sidecar, names)
    if sidecar["operations"]:
        yield operation_lines(sidecar, names)
    if sidecar.get("registers"):
        yield access_lines(sidecar)
        yield job_lines(sidecar)


def _parameters(sidecar: Mapping[str, Any], names: Definitions) -> Iterator[str]:
    yield from comment("Parameters of the configuration.")
    for name, value in sidecar["config"].items():
        yield names.define(("PARAM", name), literal(value))


def header(sidecar: Mapping[str, Any]) -> str:
    """A header for C11 and C++11, which needs only ``stddef.h`` and ``stdint.h``.

    All names begin with the module's, so that headers of several units go together. An accelerator
    has registers, errors, operations, and functions that read, write and run jobs; a unit of
    streams opcodes, timing, payloads and functions that put fields into them.
    """
    guard = Definitions(sidecar["module"]).name("H")
    said = [f" * {line.replace('*/', '* /')}".rstrip() for line in about(sidecar)]
    lines = [f"/*{said[0][2:]}", *said[1:], " */", f"#ifndef {guard}", f"#define {guard}", ""]
    lines += ["#include <stddef.h>", "#include <stdint.h>"]
    for section in _sections(sidecar):
        lines += ["", *section]
    return "\n".join([*lines, "", f"#endif /* {guard} */", ""])
