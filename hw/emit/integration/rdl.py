"""The registers in SystemRDL 2.0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .texts import about, field_values, identifier, plain

__all__ = ["rdl"]

_ACCESS = {
    "rw": "sw = rw; hw = r;",
    "ro": "sw = r; hw = w;",
    "w1c": "sw = rw; hw = rw; onwrite = woclr; hwset; hwclr;",
    "wo": "sw = w; hw = r;",
}
"""The properties of a field by its access in the sidecar."""

_CONSTANT = "sw = r; hw = na;"

_TEXT = """
abstract accesstype addressingtype addrmap alias all bit boolean bothedge compact component
componentwidth constraint default encode enum external false field fullalign hw inside internal
level longint mem na negedge new nonsticky number onreadtype onwritetype posedge property r rclr
ref reg regalign regfile rset ruser rw rw1 signal string struct sw this true type unsigned w w1
wclr woclr woset wot wr wset wuser wzc wzs wzt
"""

_WORDS = frozenset(_TEXT.split())
"""The words of the language that are no names."""


def _name(name: str) -> str:
    """Escapes a name that is a word of the language, by a backslash."""
    found = identifier(name)
    return f"\\{found}" if found in _WORDS else found


def _text(text: str) -> str:
    return '"' + plain(text).replace("\\", "/").replace('"', "'") + '"'


def _enum(name: str, width: int, values: Mapping[str, tuple[int, str]]) -> Iterator[str]:
    """An enumeration of values, each with a remark."""
    yield f"enum {_name(name)} {{"
    for key, (value, doc) in values.items():
        remark = f" {{desc = {_text(doc)};}}" if doc else ""
        yield f"    {_name(key)} = {width}'h{value:X}{remark};"
    yield "};"


def _enum_name(register: Mapping[str, Any], field: Mapping[str, Any]) -> str:
    name = register["name"] if field["name"] == "value" else f"{register['name']}_{field['name']}"
    return f"{name}_values".lower()


def _field(register: Mapping[str, Any], field: Mapping[str, Any], encode: bool) -> Iterator[str]:
    low, width = field["low"], field["width"]
    properties = _CONSTANT if field["constant"] else _ACCESS[field["access"]]
    if field["access"] == "wo" and width == 1:
        properties += " singlepulse;"
    yield "field {"
    if field["doc"]:
        yield f"    desc = {_text(field['doc'])};"
    yield f"    {properties}"
    if encode:
        yield f"    encode = {_enum_name(register, field)};"
    yield f"}} {_name(field['name'])}[{low + width - 1}:{low}] = {width}'h{field['reset']:X};"


def _register(sidecar: Mapping[str, Any], register: Mapping[str, Any]) -> Iterator[str]:
    for field in register["fields"]:
        if values := field_values(sidecar, register, field):
            yield from _enum(_enum_name(register, field), field["width"], values)
    yield "reg {"
    if register["doc"]:
        yield f"    desc = {_text(register['doc'])};"
    yield f"    regwidth = {register['bits']};"
    for field in register["fields"]:
        encode = bool(field_values(sidecar, register, field))
        yield from (f"    {line}" for line in _field(register, field, encode))
    yield f"}} {_name(register['name'])} @ {register['offset']:#x};"


def rdl(sidecar: Mapping[str, Any]) -> str:
    """An address map of the module's name with every register, field and enumeration.

    Constants are fields that the hardware does not touch. A register of 64 bits is accessed in
    words of 32. Raises ValueError for a unit without registers.
    """
    if not sidecar.get("registers"):
        raise ValueError(f"{sidecar['unit']} has no registers")
    lines = [f"// {line}".rstrip() for line in about(sidecar)]
    lines += ["", f"addrmap {_name(sidecar['module'])} {{"]
    lines.append(f"    name = {_text(sidecar['module'])};")
    if sidecar.get("summary"):
        lines.append(f"    desc = {_text(sidecar['summary'])};")
    lines += ["    littleendian;", "    default accesswidth = 32;"]
    for register in sidecar["registers"]:
        lines += ["", *(f"    {line}" for line in _register(sidecar, register))]
    return "\n".join([*lines, "};", ""])
