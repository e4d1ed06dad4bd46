"""Which outputs must not follow from which inputs in the same cycle, and where they do."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tilewright.verif.proofs.netlist import Netlist, SignalPath

__all__ = ["bus_paths", "other_bus_paths", "stream_paths"]

_BUS = re.compile(r"(m\d+_axi|s_axil)_(aw|w|b|ar|r)(\w+)")


def _bus_ports(ports: Iterable[str], *, ready: bool) -> list[str]:
    """Those of the ports that are READY of a bus, or those that are not."""
    found = [(name, match) for name in ports if (match := _BUS.fullmatch(name))]
    return [name for name, match in found if (match[3] == "ready") == ready]


def bus_paths(netlist: Netlist) -> list[SignalPath]:
    """The combinational paths from any READY of a bus to any VALID or payload of a bus. There must
    be none: a VALID must not wait for a READY (AXI4, A3.3.1)."""
    sinks = _bus_ports(netlist.outputs, ready=False)
    return netlist.paths(_bus_ports(netlist.inputs, ready=True), lambda _: sinks)


def other_bus_paths(netlist: Netlist) -> list[SignalPath]:
    """All other combinational paths from an input of a bus to an output of one: to a READY, or from
    a VALID or a payload."""
    every = [name for name in netlist.outputs if _BUS.fullmatch(name)]
    given = [name for name in netlist.inputs if _BUS.fullmatch(name)]
    ready = _bus_ports(netlist.outputs, ready=True)
    waits = set(_bus_ports(netlist.inputs, ready=True))
    return netlist.paths(given, lambda source: ready if source in waits else every)


def stream_paths(netlist: Netlist) -> list[SignalPath]:
    """The combinational paths from the ready of an output stream to its valid or its payload."""

    def own(ready: str) -> list[str]:
        stream = ready.removesuffix("ready")
        return [name for name in netlist.outputs if name.startswith(stream)]

    streams = [name for name in netlist.inputs if name.endswith("__ready")]
    return netlist.paths(streams, own)
