"""Describes registers as a memory map, and the memory of managers as address spaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..texts import field_values, identifier, plain
from .tree import Element, described, element

__all__ = ["MAP", "address_space", "memory_map", "space_name"]

MAP = "registers"
"""Name of the memory map."""

_ACCESS = {"rw": "read-write", "ro": "read-only", "w1c": "read-write", "wo": "write-only"}


def _hexadecimal(value: int) -> str:
    return f"'h{value:X}"


def _values(values: Mapping[str, tuple[int, str]]) -> Element | None:
    if not values:
        return None
    entries = (
        element(
            "enumeratedValue",
            *described(identifier(name), plain(doc)),
            element("value", _hexadecimal(value)),
        )
        for name, (value, doc) in values.items()
    )
    return element("enumeratedValues", *entries)


def _field(
    sidecar: Mapping[str, Any], register: Mapping[str, Any], field: Mapping[str, Any]
) -> Element:
    changes = field["access"] in ("ro", "w1c") and not field["constant"]
    return element(
        "field",
        *described(field["name"], plain(field["doc"])),
        element("bitOffset", field["low"]),
        element("resets", element("reset", element("value", _hexadecimal(field["reset"])))),
        element("bitWidth", field["width"]),
        element("volatile", "true" if changes else "false"),
        element("access", _ACCESS[field["access"]]),
        _values(field_values(sidecar, register, field)),
        element("modifiedWriteValue", "oneToClear") if field["access"] == "w1c" else None,
    )


def _registers(sidecar: Mapping[str, Any]) -> Iterator[Element]:
    for register in sidecar["registers"]:
        yield element(
            "register",
            *described(register["name"], plain(register["doc"])),
            element("addressOffset", _hexadecimal(register["offset"])),
            element("size", register["bits"]),
            *(_field(sidecar, register, field) for field in register["fields"]),
        )


def memory_map(sidecar: Mapping[str, Any]) -> Element:
    """All registers in one block, as large as the subordinate's addresses reach."""
    (port,) = (port for port in sidecar["axi"] if port["role"] == "subordinate")
    widest = max(register["bits"] for register in sidecar["registers"])
    block = element(
        "addressBlock",
        *described(sidecar["module"], "A register of 64 bits is two words, the low one first"),
        element("baseAddress", _hexadecimal(0)),
        element("range", _hexadecimal(1 << port["addr_bits"])),
        element("width", widest),
        element("usage", "register"),
        *_registers(sidecar),
    )
    units = element("addressUnitBits", 8)
    return element("memoryMap", element("name", MAP), block, units)


def space_name(port: Mapping[str, Any]) -> str:
    """Name of the address space of a manager."""
    return f"{port['prefix']}_space"


def address_space(port: Mapping[str, Any]) -> Element:
    """Address space of a manager."""
    return element(
        "addressSpace",
        element("name", space_name(port)),
        element("range", _hexadecimal(1 << port["addr_bits"])),
        element("width", port["data_bits"]),
        element("addressUnitBits", 8),
    )
