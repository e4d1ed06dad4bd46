"""A SystemVerilog package with the types of a unit's payloads, opcodes and registers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..keywords import KEYWORDS
from .texts import about, field_values, identifier, wrapped

__all__ = ["package", "package_name", "payload_type"]


def package_name(sidecar: Mapping[str, Any]) -> str:
    """The package of a module."""
    return f"{sidecar['module']}_pkg"


def payload_type(stream: Mapping[str, Any]) -> str:
    """The type of a stream's payload, in the package."""
    return f"{stream['name']}_t"


def _vector(*sizes: int) -> str:
    """A packed array of bits; one bit has no dimension of its own."""
    dimensions = sizes[:-1] if sizes[-1] == 1 else sizes
    ranges = "".join(f"[{size - 1}:0]" for size in dimensions)
    return f"logic {ranges}" if ranges else "logic"


def _comment(text: str) -> Iterator[str]:
    for line in wrapped(text, 90):
        yield f"  // {line}"


class _Names:
    """The names that are declared in a package, each once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, name: str) -> str:
        """A name, taken from now on. Raises ValueError if it has been."""
        found = identifier(name, KEYWORDS)
        if found in self._taken:
            raise ValueError(f"two names of the package would be {found}")
        self._taken.add(found)
        return found

    def enum(self, name: str, width: int, values: Mapping[str, int], prefix: str) -> Iterator[str]:
        """Writes an enumeration; the names of its values are in upper case, after a prefix."""
        yield f"  typedef enum {_vector(width)} {{"
        lines = [
            f"    {self.new(f'{prefix}_{key}'.upper())} = {width}'h{value:x}"
            for key, value in values.items()
        ]
        yield from (f"{line}," for line in lines[:-1])
        yield from (lines[-1], f"  }} {self.new(name)};")


def _opcode(sidecar: Mapping[str, Any]) -> tuple[str, str] | None:
    """The stream and field that select the operation, if it is one field."""
    selects = [one for operation in sidecar["operations"] for one in operation["select"]]
    found = {(one["stream"], one["field"]) for one in selects if "stream" in one}
    return found.pop() if len(found) == 1 else None


def _payload(
    stream: Mapping[str, Any], opcode: tuple[str, str] | None, names: _Names
) -> Iterator[str]:
    """A structure of the fields, or a vector if there are none."""
    way = "receives" if stream["direction"] == "in" else "sends"
    yield from _comment(f"The payload of stream {stream['name']}, which the unit {way}.")
    if not stream["fields"]:
        yield f"  typedef {_vector(stream['width'])} {names.new(payload_type(stream))};"
        return
    yield "  typedef struct packed {"
    for field in sorted(stream["fields"], key=lambda field: -field["offset"]):
        if (stream["name"], field["name"]) == opcode:
            kind = f"{field['name']}_t"
        elif "width" in field:
            kind = _vector(field["width"])
        else:
            kind = _vector(*field["shape"], field["element_bits"])
        yield f"    {kind} {identifier(field['name'], KEYWORDS)};"
    yield f"  }} {names.new(payload_type(stream))};"


def _streams(sidecar: Mapping[str, Any], names: _Names) -> Iterator[list[str]]:
    opcode = _opcode(sidecar)
    for stream in sidecar["streams"]:
        for field in stream["fields"]:
            if (stream["name"], field["name"]) == opcode:
                name, codes = field["name"], sidecar["opcodes"]
                yield [
                    *_comment(f"What field {name} of stream {stream['name']} selects."),
                    *names.enum(f"{name}_t", field["width"], codes, name),
                ]
        yield list(_payload(stream, opcode, names))


def _registers(sidecar: Mapping[str, Any], names: _Names) -> Iterator[list[str]]:
    registers = sidecar["registers"]
    (subordinate,) = (port for port in sidecar["axi"] if port["role"] == "subordinate")
    offsets = {register["name"]: register["offset"] for register in registers}
    yield [
        *_comment("The registers' addresses in bytes. One of 64 bits is two words, low one first."),
        *names.enum("register_t", subordinate["addr_bits"], offsets, "REG"),
    ]
    for register in registers:
        for field in register["fields"]:
            found = field_values(sidecar, register, field)
            if not found:
                continue
            values = {key: value for key, (value, _) in found.items()}
            stem = register["name"]
            if field["name"] != "value":
                stem += f"_{field['name']}"
            yield [
                *_comment(f"Field {field['name']} of register {register['name']}."),
                *names.enum(f"{stem.lower()}_t", field["width"], values, stem),
            ]


def package(sidecar: Mapping[str, Any]) -> str:
    """The package ``MODULE_pkg``, a file for which nothing else has to be read.

    For each stream it has the type ``STREAM_t``, a packed structure with the fields of the
    payload; for the field that selects the operation an enumeration. For an accelerator it has
    ``register_t``, the registers' addresses, and an enumeration for each field of a register whose
    values have names.

    The modules do not use it. Icarus 11 ends with an assertion where a module uses a structure as
    ``MODULE_pkg::i_t`` but takes ``import MODULE_pkg::*``; yosys takes the first and not the
    second. So the text of the modules would not be read by both.

    Raises ValueError if two names would be the same.
    """
    names = _Names()
    parts = list(_streams(sidecar, names))
    if sidecar.get("registers"):
        parts += _registers(sidecar, names)
    said = [f"// {line}".rstrip() for line in about(sidecar)]
    name = package_name(sidecar)
    waiver = "/* verilator lint_off DECLFILENAME */ // the file may have any name"
    lines = [*said, "", waiver, f"package {name};"]
    for number, part in enumerate(parts):
        lines += [""] * (number > 0) + part
    return "\n".join([*lines, "endpackage", ""])
