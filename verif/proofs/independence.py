"""Which outputs must not follow from which inputs in the same cycle, and where they do."""

from __future__ import annotations

import re

from tilewright.verif.proofs.netlist import Netlist, SignalPath

__all__ = ["bus_paths", "stream_paths"]

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
