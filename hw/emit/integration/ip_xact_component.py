"""The component of a unit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .texts import about, field_values, identifier, plain

_NAMESPACE = "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_MARKS = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


def _escaped(text: str) -> str:
    """Removes the characters that XML cannot hold from a text. (The library's own functions import
    all of urllib.)"""
    return _CONTROL.sub("", text).translate(_MARKS)


@dataclass(frozen=True)
class Element:
    """An element of IP-XACT: a text, or elements.

    Parameters
    ----------
    name: without the namespace
    content: what is in it
    attributes: their values by name
    """

    name: str
    content: str | tuple[Element, ...] = ()
    attributes: dict[str, str] = field(default_factory=dict)

    def lines(self, indent: str = "") -> Iterator[str]:
        given = "".join(f' {key}="{_escaped(value)}"' for key, value in self.attributes.items())
        start = f"{indent}<ipxact:{self.name}{given}"
        if not self.content:
            yield f"{start}/>"
        elif isinstance(self.content, str):
            yield f"{start}>{_escaped(self.content)}</ipxact:{self.name}>"
        else:
            yield f"{start}>"
            for inner in self.content:
                yield from inner.lines(f"{indent}  ")
            yield f"{indent}</ipxact:{self.name}>"


def element(name: str, /, *content: Element | str | int | None, **attributes: str) -> Element:
    """Makes an element from a text, a number, or elements; elements that are None are left out."""
    if len(content) == 1 and isinstance(content[0], str | int):
        return Element(name, str(content[0]), attributes)
    return Element(name, tuple(x for x in content if isinstance(x, Element)), attributes)


def described(name: str, doc: str) -> tuple[Element, Element | None]:
    """Elements that most others begin with: a name and a remark."""
    return element("name", name), element("description", doc) if doc else None


def versioned(vendor: str, library: str, name: str, version: str) -> dict[str, str]:
    """The four parts of the name of something that has versions."""
    return {"vendor": vendor, "library": library, "name": name, "version": version}


def document(root: Element, remarks: list[str]) -> str:
    """The file of an element and all that is in it, with remarks above it."""
    said = "\n".join(remarks).replace("--", "- -")
    spaces = {
        "xmlns:ipxact": _NAMESPACE,
        "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
        "xsi:schemaLocation": f"{_NAMESPACE} {_NAMESPACE}/index.xsd",
    }
    top = Element(root.name, root.content, spaces)
    head = ['<?xml version="1.0" encoding="UTF-8"?>', f"<!--\n{said}\n-->"]
    return "\n".join([*head, *top.lines(), ""])


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


_BUSES = {"axi4": "AXI4", "axi4-lite": "AXI4-Lite"}
"""Names of the definitions in the library AMBA4 of amba.com, by protocol."""

_VERSION = "r0p0_0"


def _port_map(logical: str, physical: str, width: int, **attributes: str) -> Element:
    bits = element("range", element("left", width - 1), element("right", 0))
    return element(
        "portMap",
        element("logicalPort", element("name", logical), bits if width > 1 else None),
        element("physicalPort", element("name", physical)),
        **attributes,
    )


def _port_maps(sidecar: Mapping[str, Any], port: Mapping[str, Any]) -> Iterator[Element]:
    """Clock and reset, which AXI has active low, and all signals."""
    yield _port_map("ACLK", sidecar["clock"], 1)
    inverted = {"invert": "true"} if sidecar["reset"]["active"] == "high" else {}
    yield _port_map("ARESETn", sidecar["reset"]["name"], 1, **inverted)
    for signal in port["signals"]:
        word = signal["name"].removeprefix(f"{port['prefix']}_").upper()
        yield _port_map(word, signal["name"], signal["width"])


def bus_interface(sidecar: Mapping[str, Any], port: Mapping[str, Any]) -> Element:
    """The interface of an AXI port: a master of its address space, or a slave of the registers."""
    bus = _BUSES[port["protocol"]]
    if port["role"] == "manager":
        role = element("master", element("addressSpaceRef", addressSpaceRef=space_name(port)))
    else:
        role = element("slave", element("memoryMapRef", memoryMapRef=MAP))
    abstraction = element(
        "abstractionType",
        element("abstractionRef", **versioned("amba.com", "AMBA4", f"{bus}_rtl", _VERSION)),
        element("portMaps", *_port_maps(sidecar, port)),
    )
    return element(
        "busInterface",
        element("name", port["prefix"]),
        element("busType", **versioned("amba.com", "AMBA4", bus, _VERSION)),
        element("abstractionTypes", abstraction),
        role,
        element("connectionRequired", "true"),
        element("bitsInLau", 8),
        element("endianness", "little"),
    )


_FILES = "rtl"
"""Name of the set of files, and of the model that is made from it."""


def _port(name: str, direction: str, width: int, doc: str = "") -> Element:
    vector = element("vector", element("left", width - 1), element("right", 0))
    return element(
        "port",
        *described(name, doc),
        element(
            "wire",
            element("direction", direction),
            element("vectors", vector) if width > 1 else None,
        ),
    )


def _ports(sidecar: Mapping[str, Any]) -> Iterator[Element]:
    """All ports of the module."""
    reset = sidecar["reset"]
    kind = "synchronous" if reset["synchronous"] else "asynchronous"
    yield _port(sidecar["clock"], "in", 1, "clock: everything changes at its rising edge")
    yield _port(reset["name"], "in", 1, f"reset: {kind}, active {reset['active']}")
    for stream in sidecar["streams"]:
        ahead = stream["direction"]
        back = "in" if ahead == "out" else "out"
        if stream["valid"]:
            yield _port(stream["valid"], ahead, 1)
        if stream["ready"]:
            yield _port(stream["ready"], back, 1)
        yield _port(
            stream["payload"], ahead, stream["width"], f"payload of stream {stream['name']}"
        )
    for bus in sidecar.get("axi", ()):
        for port in bus["signals"]:
            yield _port(port["name"], port["direction"], port["width"])
    for port in sidecar.get("ports", ()):
        yield _port(port["name"], port["direction"], port["width"])


def _model(sidecar: Mapping[str, Any]) -> Element:
    """Model of the component: it is simulated and synthesised from its Verilog."""
    view = element("view", element("name", _FILES), element("componentInstantiationRef", _FILES))
    made = element(
        "componentInstantiation",
        element("name", _FILES),
        element("language", "SystemVerilog"),
        element("moduleName", sidecar["module"]),
        element("fileSetRef", element("localName", _FILES)),
    )
    ports = element("ports", *_ports(sidecar))
    return element("model", element("views", view), element("instantiations", made), ports)


def _parameters(sidecar: Mapping[str, Any]) -> Iterator[Element]:
    """The parameters of the configuration, as texts: nothing can be changed any more."""
    for name, value in sidecar["config"].items():
        text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        yield element(
            "parameter",
            element("name", name),
            element("value", f'"{text}"'),
            parameterId=name,
            resolve="immediate",
            type="string",
        )


def _several(name: str, parts: list[Element]) -> Element | None:
    return element(name, *parts) if parts else None


def ip_xact(sidecar: Mapping[str, Any], files: Sequence[str]) -> str:
    """The component ``tilewright:generated:MODULE:VERSION``.

    AXI ports are bus interfaces with all their signals, clock and reset; managers have an address
    space, the subordinate the registers. Streams are plain ports.

    Parameters
    ----------
    files: the paths of the files, from the component's own folder on
    """
    axi = sidecar.get("axi", ())
    spaces = [address_space(port) for port in axi if port["role"] == "manager"]
    maps = [memory_map(sidecar)] if sidecar.get("registers") else []
    kind = element("fileType", "systemVerilogSource")
    listed = [element("file", element("name", file), kind) for file in files]
    root = element(
        "component",
        element("vendor", "tilewright"),
        element("library", "generated"),
        element("name", sidecar["module"]),
        element("version", sidecar["version"]),
        _several("busInterfaces", [bus_interface(sidecar, port) for port in axi]),
        _several("addressSpaces", spaces),
        _several("memoryMaps", maps),
        _model(sidecar),
        element("fileSets", element("fileSet", element("name", _FILES), *listed)),
        element("description", plain(sidecar["summary"])) if sidecar.get("summary") else None,
        _several("parameters", list(_parameters(sidecar))),
    )
    return document(root, list(about(sidecar)))
