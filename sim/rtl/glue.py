"""The C++ around a Verilated unit: a harness, and the accessors that fit it to one unit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Payloads of a stream as rows of 32-bit words, and their fields as arrays.
#
# The layout comes from a stream's entry in the sidecar: a field starts at any bit. Arrays carry
# bit patterns; the first axis counts transfers.

Words = NDArray[np.uint32]
_NATIVE = (8, 16, 32, 64)


def row_words(bits: int) -> int:
    """32-bit words that hold ``bits`` bits."""
    return -(-bits // 32)


def _shape(field: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(field.get("shape", ()))


def _element_bits(field: Mapping[str, Any]) -> int:
    return int(field["element_bits"] if "shape" in field else field["width"])


def width_of(field: Mapping[str, Any]) -> int:
    """Width of a sidecar field in bits."""
    return _element_bits(field) * int(np.prod(_shape(field), dtype=np.int64))


def _unsigned(name: str, values: NDArray[Any], bits: int) -> NDArray[Any]:
    """The values in the narrowest unsigned type for ``bits`` <= 64.

    Raises ValueError if one does not fit, TypeError if they are not integers.
    """
    container = np.dtype(f"u{next(n for n in _NATIVE if n >= bits) // 8}")
    if values.dtype.kind not in "uib":
        raise TypeError(f"field `{name}` must be integers (bit patterns), not {values.dtype}")
    if values.dtype.kind in "ui" and values.dtype.itemsize == container.itemsize:
        values = values.view(container)
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    if values.dtype != container or bits not in _NATIVE:
        if low < 0 or high >> bits:
            wrong = low if low < 0 else hex(high)
            raise ValueError(f"field `{name}` must fit {bits} bits, not {wrong}")
        values = values.astype(container, copy=False)
    return values


def _insert(row: Words, words: Words, offset: int) -> None:
    """OR ``words`` into ``row`` at a bit offset, along the last axis."""
    first, shift = divmod(offset, 32)
    count = words.shape[1]
    if not shift:
        row[:, first : first + count] |= words
        return
    row[:, first : first + count] |= words << np.uint32(shift)
    spill = min(count, row.shape[1] - first - 1)
    row[:, first + 1 : first + 1 + spill] |= words[:, :spill] >> np.uint32(32 - shift)


def _extract(row: Words, offset: int, bits: int) -> Words:
    """``bits`` bits from a bit offset on, as dense words; unused upper bits are zero."""
    first, shift = divmod(offset, 32)
    count = row_words(bits)
    words = row[:, first : first + count] >> np.uint32(shift)
    if shift:
        above = row[:, first + 1 : first + 1 + count] << np.uint32(32 - shift)
        words[:, : above.shape[1]] |= above
    if bits % 32:
        words[:, -1] &= np.uint32((1 << (bits % 32)) - 1)
    return words


def _split(values: NDArray[Any], bits: int) -> Words:
    """(count, elements) values, or (count, elements, words) beyond 64 bits, as words apiece."""
    if bits > 64:
        return values.astype(np.uint32, copy=False)
    low = values.astype(np.uint32)[..., None]
    if bits <= 32:
        return low
    high = (values >> np.uint64(32)).astype(np.uint32)[..., None]
    return np.concatenate([low, high], axis=-1)


def dense_words(field: Mapping[str, Any], values: ArrayLike) -> Words:
    """A field's elements packed from bit 0 on: (count, words) uint32.

    ``values`` has the shape (count, *shape); an element wider than 64 bits has a last axis of
    its 32-bit words. Raises ValueError for a shape or a value that does not fit the field.
    """
    name, shape, bits = field["name"], _shape(field), _element_bits(field)
    array = np.asarray(values)
    tail = shape if bits <= 64 else (*shape, row_words(bits))
    if array.shape[1:] != tail or array.ndim != len(tail) + 1:
        raise ValueError(f"field `{name}` must have the shape (count, {tail}), not {array.shape}")
    count, elements = array.shape[0], int(np.prod(shape, dtype=np.int64))
    total = bits * elements
    if bits <= 64:
        array = _unsigned(name, array, bits)
    flat = array.reshape((count, elements) if bits <= 64 else (count, elements, -1))
    if bits in _NATIVE:
        per_word = max(1, 32 // bits)
        if elements % per_word:
            flat = np.pad(flat, ((0, 0), (0, -elements % per_word)))
        return np.ascontiguousarray(flat).view(np.uint32)
    words = np.zeros((count, row_words(total)), np.uint32)
    for element, chunk in enumerate(np.moveaxis(_split(flat, bits), 1, 0)):
        _insert(words, chunk, element * bits)
    return words


def field_array(field: Mapping[str, Any], words: Words) -> NDArray[Any]:
    """The reverse of `dense_words`; elements in the narrowest unsigned type that holds them."""
    shape, bits = _shape(field), _element_bits(field)
    count, elements = words.shape[0], int(np.prod(shape, dtype=np.int64))
    if bits in _NATIVE:
        flat = np.ascontiguousarray(words).view(f"u{bits // 8}")[:, :elements]
        return flat.reshape(count, *shape)
    parts = [_extract(words, element * bits, bits) for element in range(elements)]
    split = np.stack(parts, axis=1) if parts else np.zeros((count, 0, row_words(bits)), np.uint32)
    if bits > 64:
        return split.reshape(count, *shape, -1)
    container = next(n for n in _NATIVE if n >= bits)
    value = split[..., 0].astype(np.uint64)
    if bits > 32:
        value |= split[..., 1].astype(np.uint64) << np.uint64(32)
    return value.astype(f"u{container // 8}").reshape(count, *shape)


def pack(fields: Mapping[str, ArrayLike], stream: Mapping[str, Any]) -> Words:
    """Payloads (count, words) of a stream from all its fields, by name.

    Raises ValueError if a field is missing, unknown, or does not fit.
    """
    names = [field["name"] for field in stream["fields"]]
    if set(names) != set(fields):
        raise ValueError(
            f"stream `{stream['name']}` has the fields {', '.join(names)}, not {', '.join(fields)}"
        )
    parts = [(field, dense_words(field, fields[field["name"]])) for field in stream["fields"]]
    counts = {len(words) for _, words in parts}
    if len(counts) > 1:
        raise ValueError(f"fields of stream `{stream['name']}` differ in count: {sorted(counts)}")
    rows = np.zeros((counts.pop() if counts else 0, row_words(stream["width"])), np.uint32)
    for field, words in parts:
        _insert(rows, words, field["offset"])
    return rows


def unpack(rows: Words, stream: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The fields of payloads (count, words), by name; the reverse of `pack`."""
    return {
        field["name"]: field_array(field, _extract(rows, field["offset"], width_of(field)))
        for field in stream["fields"]
    }


@dataclass(frozen=True)
class Harness:
    """The C++ and SystemVerilog that is compiled with Verilator's output.

    Parameters
    ----------
    source: the file to compile
    headers: what it includes, in the same directory
    glue: native_glue.h, the accessors of a unit, from the unit's sidecar
    checkers: SystemVerilog that is compiled besides the unit's, from the sidecar
    slow: what drives it takes most of the time, so that optimising the unit is not worth its time
    """

    source: Path
    headers: tuple[Path, ...]
    glue: Callable[[Mapping[str, Any]], str]
    checkers: Callable[[Mapping[str, Any]], str] = lambda sidecar: ""
    slow: bool = False

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
