"""Which outputs must not follow from which inputs in the same cycle, and where they do."""

from __future__ import annotations

import re

from tilewright.verif.proofs.netlist import Netlist, SignalPath

__all__ = ["bus_paths", "fork_paths", "lazy_forks", "stream_paths"]

_BUS = re.compile(r"(m\d+_axi|s_axil)_(aw|w|b|ar|r)\w+")


def bus_paths(netlist: Netlist) -> list[SignalPath]:
    """The combinational paths from any input of a bus to any output of a bus. There must be none
    (AXI4, A3.2), of which follows that no VALID waits for a READY (A3.3.1)."""
    outputs = [name for name in netlist.outputs if _BUS.fullmatch(name)]
    inputs = [name for name in netlist.inputs if _BUS.fullmatch(name)]
    return netlist.paths(inputs, lambda _: outputs)


def stream_paths(netlist: Netlist) -> list[SignalPath]:
    """The combinational paths from the ready of an output stream to its valid or its payload."""

    def own(ready: str) -> list[str]:
        stream = ready.removesuffix("ready")
        return [name for name in netlist.outputs if name.startswith(stream)]

    streams = [name for name in netlist.inputs if name.endswith("__ready")]
    return netlist.paths(streams, own)


def lazy_forks(netlist: Netlist) -> list[tuple[str, ...]]:
    """The instances of lazy forks, which have no registers."""
    return [place for place in netlist.instances("fork") if not netlist.has_clock(place)]


def fork_paths(netlist: Netlist) -> list[str]:
    """The combinational paths from a valid of a lazy fork to the ready of the same output. There
    must be none: that output would wait for its valid, and its valid for the others."""
    return [
        path
        for place in lazy_forks(netlist)
        for number in range(netlist.count(place, "o__{}__valid"))
        for path in netlist.paths_back(place, f"o__{number}__valid", f"o__{number}__ready")
    ]
