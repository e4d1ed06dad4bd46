"""AXI ports as bus interfaces with their port maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .memory_map import MAP, space_name
from .tree import Element, element, versioned

__all__ = ["bus_interface"]

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
