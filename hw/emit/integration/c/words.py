"""Writes names, constants and remarks in the form that C and C++ accept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..texts import identifier, plain, wrapped

_TEXT = """
alignas alignof and and_eq asm atomic auto bitand bitor bool break case catch char class compl
concept const const_cast constexpr continue decltype default delete do double dynamic_cast else
enum explicit export extern false float for friend goto if inline int long mutable namespace new
noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
requires restrict return short signed sizeof static static_assert static_cast struct switch
template this thread_local throw true try typedef typeid typename union unsigned using virtual
void volatile wchar_t while xor xor_eq
"""

_WORDS = frozenset(_TEXT.split())
"""The words of either language."""


def member(name: str) -> str:
    """A name in lower case that is a word of neither language."""
    return identifier(name.lower(), _WORDS)


def hexadecimal(value: int, bits: int = 32) -> str:
    """An unsigned constant of 32 or 64 bits."""
    return f"UINT{bits}_C({value:#x})"


def literal(value: Any) -> str:
    """A parameter's value: a number, 0 or 1, or a text."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return str(value) if abs(value) < 1 << 31 else f"INT64_C({value})"
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def comment(text: str) -> Iterator[str]:
    """A remark of one line or several."""
    lines = wrapped(text.replace("*/", "* /").replace("/*", "/ *"), 92)
    if len(lines) > 1:
        yield f"/* {lines[0]}"
        yield from (f" * {line}" for line in lines[1:-1])
        yield f" * {lines[-1]} */"
    elif lines:
        yield f"/* {lines[0]} */"


class Definitions:
    """``#define`` lines with names that share a prefix and are unique.

    Parameters
    ----------
    prefix: what names begin with, in upper case
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = identifier(prefix).upper()
        self._names: set[str] = set()

    @property
    def prefix(self) -> str:
        return self._prefix

    def name(self, *parts: str) -> str:
        """A name made of parts, taken from now on. Raises ValueError if it has been."""
        found = identifier("_".join(filter(None, (self._prefix, *parts)))).upper()
        if found in self._names:
            raise ValueError(f"two constants of the header would be called {found}")
        self._names.add(found)
        return found

    def define(self, parts: tuple[str, ...], value: str, doc: str = "") -> str:
        """Writes a line that defines a name as a value."""
        remark = f" /* {plain(doc).replace('*/', '* /').replace('/*', '/ *')} */" if doc else ""
        return f"#define {self.name(*parts)} {value}{remark}"


_BITS = """
static inline uint64_t @p@_get_bits(const uint32_t *word, uint32_t low, uint32_t width)
{
    uint64_t value = 0;
    uint32_t done = 0;
    while (done < width) {
        uint32_t from = (low + done) % 32u;
        value |= (uint64_t)(word[(low + done) / 32u] >> from) << done;
        done += 32u - from;
    }
    return width < 64u ? value & ((UINT64_C(1) << width) - 1u) : value;
}

static inline void @p@_set_bits(uint32_t *word, uint32_t low, uint32_t width, uint64_t value)
{
    uint32_t done = 0;
    while (done < width) {
        uint32_t from = (low + done) % 32u, room = 32u - from, left = width - done;
        uint32_t count = left < room ? left : room;
        uint32_t mask = (count < 32u ? (UINT32_C(1) << count) - 1u : UINT32_MAX) << from;
        uint32_t *to = &word[(low + done) / 32u];
        *to = (*to & ~mask) | ((uint32_t)(value >> done) << from & mask);
        done += count;
    }
}
"""

_WIDEST = 64
"""Bits of the widest number that a function takes."""


def bit_lines(sidecar: Mapping[str, Any]) -> Iterator[str]:
    """Neighbouring bits of a payload, up to 64, as a number, and back."""
    yield from comment(
        "Payloads are words of 32 bits, the lowest first, as simulators have them (svBitVecVal of "
        "SystemVerilog's DPI, VlWide of Verilator). Bits of a payload, 64 at most:"
    )
    yield from _BITS.replace("@p@", member(sidecar["module"])).strip("\n").split("\n")


def timing_lines(sidecar: Mapping[str, Any], names: Definitions) -> Iterator[str]:
    """Writes opcode, latency and initiation interval of each operation."""
    yield from comment(
        "By operation: what selects it, clock edges from its transfer to the valid of its first "
        "result, cycles from one to the next."
    )
    for operation, opcode in sidecar["opcodes"].items():
        yield names.define(("OPCODE", operation), str(opcode))
        yield names.define(("LATENCY", operation), str(sidecar["latency"][operation]))
        yield names.define(("INTERVAL", operation), str(sidecar["initiation_interval"][operation]))


def _functions(unit: str, stream: str, field: Mapping[str, Any]) -> Iterator[str]:
    """Writes the functions that read a field, or an element of it, from a payload, and that write
    it."""
    width = field.get("width", field.get("element_bits"))
    if width > _WIDEST:
        return
    shape = field.get("shape", [])
    indices = [f"i{n}" for n in range(len(shape))]
    place = "0u"
    for index, size in zip(indices, shape, strict=True):
        place = index if place == "0u" else f"({place} * {size}u + {index})"
    low = f"{field['offset']}u + {place} * {width}u" if shape else f"{field['offset']}u"
    taken = "".join(f", uint32_t {index}" for index in indices)
    kind, name = f"struct {unit}_{stream}", f"{stream}_{member(field['name'])}"
    yield ""
    yield f"static inline uint64_t {unit}_get_{name}(const {kind} *payload{taken})"
    yield "{"
    yield f"    return {unit}_get_bits(payload->word, {low}, {width}u);"
    yield "}"
    yield ""
    yield f"static inline void {unit}_set_{name}({kind} *payload{taken}, uint64_t value)"
    yield "{"
    yield f"    {unit}_set_bits(payload->word, {low}, {width}u, value);"
    yield "}"


def stream_lines(sidecar: Mapping[str, Any], names: Definitions) -> Iterator[str]:
    """Writes the payload's width and the fields of each stream, as constants, a type and
    functions."""
    unit = member(sidecar["module"])
    for stream in sidecar["streams"]:
        way = "takes" if stream["direction"] == "in" else "gives"
        yield ""
        yield from comment(f"Stream {stream['name']}, which the unit {way}. Bits of its payload:")
        yield names.define((stream["name"], "PAYLOAD", "WIDTH"), str(stream["width"]))
        for field in stream["fields"]:
            parts = (stream["name"], "FIELD", field["name"])
            yield names.define((*parts, "OFFSET"), str(field["offset"]))
            if "width" in field:
                yield names.define((*parts, "WIDTH"), str(field["width"]))
                continue
            yield names.define((*parts, "ELEMENT", "BITS"), str(field["element_bits"]))
            for number, size in enumerate(field["shape"]):
                yield names.define((*parts, "SHAPE", str(number)), str(size))
        words = -(-stream["width"] // 32)
        yield ""
        yield f"struct {unit}_{member(stream['name'])} {{"
        yield from (f"    uint32_t word[{words}];", "};")
        for field in stream["fields"]:
            yield from _functions(unit, member(stream["name"]), field)
