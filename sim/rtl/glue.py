"""The C++ around a Verilated unit: a harness, and the accessors that fit it to one unit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .payload import row_words

__all__ = ["STREAMS", "Harness", "glue_head", "harness_files", "member"]


@dataclass(frozen=True)
class Harness:
    """The C++ and SystemVerilog that is compiled with Verilator's output.

    Parameters
    ----------
    source: the file to compile
    headers: what it includes, in the same directory
    glue: native_glue.h, the accessors of a unit, from the unit's sidecar
    checkers: SystemVerilog that is compiled besides the unit's, from the sidecar
    """

    source: Path
    headers: tuple[Path, ...]
    glue: Callable[[Mapping[str, Any]], str]
    checkers: Callable[[Mapping[str, Any]], str] = lambda sidecar: ""

    def texts(self) -> list[str]:
        """The content of all its files."""
        return [path.read_text() for path in (self.source, *self.headers)]


def harness_files(source: str) -> tuple[Path, tuple[Path, ...]]:
    """The paths of a harness's source, which lies in ``cpp``, and of all headers there that it
    includes, directly or not."""
    folder = Path(__file__).with_name("cpp")
    found, open_ = {folder / source: None}, [folder / source]
    while open_:
        for name in re.findall(r'^#include "(.+)"', open_.pop().read_text(), re.MULTILINE):
            path = folder / name
            if path.exists() and path not in found:
                found[path] = None
                open_.append(path)
    first, *headers = found
    return first, tuple(sorted(headers))


def member(port: str) -> str:
    """A top-level port as Verilator names it in C++."""
    return "m." + port.replace("__", "___05F")


def glue_head(sidecar: Mapping[str, Any]) -> str:
    """Returns what every harness needs: the class of the model, its clock and its reset."""
    reset = sidecar["reset"]
    parts = [_HEAD]
    for name, port, value in (
        ("clock", sidecar["clock"], "v"),
        ("reset", reset["name"], "v" if reset["active"] == "high" else "!v"),
    ):
        parts.append(f"inline void set_{name}(Model& m, bool v) {{ {member(port)} = {value}; }}\n")
    return "".join(parts)


def _stream_glue(sidecar: Mapping[str, Any]) -> str:
    """The accessors of streams.cpp for one unit."""
    ins = [s for s in sidecar["streams"] if s["direction"] == "in"]
    outs = [s for s in sidecar["streams"] if s["direction"] == "out"]
    if not ins or not outs:
        raise ValueError(f"unit `{sidecar['unit']}` needs an input and an output stream")
    for entry in sidecar["streams"]:
        if not (entry["valid"] and entry["ready"]):
            raise ValueError(f"stream `{entry['name']}` needs a valid and a ready port")
    parts = [glue_head(sidecar), _STREAM_HEAD]
    for name, streams in (("Input", ins), ("Output", outs)):
        words = ", ".join(str(row_words(s["width"])) for s in streams)
        parts.append(f"constexpr unsigned k{name}s = {len(streams)};\n")
        parts.append(f"constexpr unsigned k{name}Words[] = {{{words}}};\n")
    for head, streams, body in (
        ("void set_input_valid(Model& m, unsigned s, bool v)", ins, "{valid} = v; break;"),
        ("void set_input_payload(Model& m, unsigned s, const uint32_t* w)", ins,
         "put({payload}, w); break;"),
        ("bool input_ready(Model& m, unsigned s)", ins, "return {ready};"),
        ("void set_output_ready(Model& m, unsigned s, bool v)", outs, "{ready} = v; break;"),
        ("bool output_valid(Model& m, unsigned s)", outs, "return {valid};"),
        ("void get_output_payload(Model& m, unsigned s, uint32_t* w)", outs,
         "get({payload}, w); break;"),
    ):  # fmt: skip
        parts.append(f"inline {head} {{\n    switch (s) {{\n")
        for number, entry in enumerate(streams):
            ports = {key: member(entry[key]) for key in ("valid", "ready", "payload")}
            parts.append(f"        case {number}: {body.format(**ports)}\n")
        parts.append("    }\n" + ("    return false;\n" if head.startswith("bool") else "") + "}\n")
    return "".join(parts)


_HEAD = """#pragma once
#include <cstdint>
#include <cstring>
#include "Vunit.h"
using Model = Vunit;
"""

_STREAM_HEAD = """template <typename T> void put(T& port, const uint32_t* w) {
    port = sizeof(T) > 4 ? static_cast<T>(w[0] | uint64_t{w[1]} << 32) : static_cast<T>(w[0]);
}
template <std::size_t N> void put(VlWide<N>& port, const uint32_t* w) {
    std::memcpy(port.data(), w, 4 * N);
}
template <typename T> void get(const T& port, uint32_t* w) {
    w[0] = static_cast<uint32_t>(port);
    if (sizeof(T) > 4) w[1] = static_cast<uint32_t>(uint64_t{port} >> 32);
}
template <std::size_t N> void get(const VlWide<N>& port, uint32_t* w) {
    std::memcpy(w, port.data(), 4 * N);
}
"""

STREAMS = Harness(*harness_files("streams.cpp"), _stream_glue)
"""Streams, arrays in and arrays out."""
