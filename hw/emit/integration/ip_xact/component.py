"""The component of a unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..texts import about, plain
from .buses import bus_interface
from .memory_map import address_space, memory_map
from .tree import Element, described, document, element

__all__ = ["ip_xact"]

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
