"""Static timing analysis of a flat netlist with a library's tables.

The model: graph-based worst-case analysis with separate rising and falling arrivals; delays and
slews by linear interpolation in the tables (and extrapolation beyond them); the slew of a net is
the worst over its driver's arcs; loads are the pins'. Wires are free, or as the library's default
wire-load model has them: a capacitance that the driver sees whole, in equal branches to the pins,
and the Elmore delay of each branch; slews stay as they are along a wire. The clock is ideal, its
slew the smallest for which the library gives a setup time. Paths start at registers
and at the top's inputs (which arrive with the clock edge, as fast as an inverter drives four) and
end at registers, with their setup time, and at the top's outputs (each loaded by four inverters).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..library.cells import INVERTER, Library, WireLoad
from ..mapping.netlist import Driver, Kept, Netlist
from .graph import Graph, build_graph

__all__ = ["Path", "Step", "Timing", "analyse", "fo4"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """A cell on a path.

    Members
    -------
    cell: its name in the library
    instance, module: where it is, see ``Driver``; a buffer is where its input's driver is
    signal: name of the net that it drives, in that module; empty without one
    net: the same from the top
    edge: "rise" or "fall" of that net
    arrival: there, in ns
    fanout: pins that it drives
    """

    cell: str
    instance: str
    module: str
    signal: str
    net: str
    edge: str
    arrival: float
    fanout: int


@dataclass(frozen=True)
class Path:
    """The slowest path of one kind ("register to register", "input to output", ...)."""

    start: str
    end: str
    kind: str
    delay: float
    setup: float
    steps: tuple[Step, ...]

    @property
    def total(self) -> float:
        return self.delay + self.setup


@dataclass(frozen=True)
class Timing:
    """Result of the analysis: the slowest path of all (None without any), and the FO4 delay in
    ns."""

    path: Path | None
    fo4: float


def fo4(library: Library) -> tuple[float, float]:
    """Delay and output slew in ns of the smallest inverter driving four of itself, rising and
    falling averaged, in a long chain of such stages."""
    cell = library.smallest(1, INVERTER)
    if cell is None or not cell.arcs:
        raise ValueError("the cell library has no inverter with timing")
    arc = cell.arcs[0]
    assert arc.slew is not None
    caps = cell.pins[cell.inputs[0]].capacitance
    slew = [0.0, 0.0]
    delay = [0.0, 0.0]
    for _ in range(40):
        delay = [arc.delay[e].at(slew[1 - e], 4 * caps[e]) for e in (0, 1)]
        slew = [arc.slew[e].at(slew[1 - e], 4 * caps[e]) for e in (0, 1)]
    return sum(delay) / 2, sum(slew) / 2


def _propagate(graph: Graph, arrival: Floats, slew: Floats) -> None:
    """Fill arrivals and slews level by level; the sources are set already."""
    for start, end in zip(graph.level_starts[:-1], graph.level_starts[1:], strict=True):
        if start == end:
            continue
        source, target = graph.source[start:end], graph.target[start:end]
        load = graph.load[target]
        delay = graph.tables.at(graph.delay_table[start:end], slew[source], load)
        out_slew = graph.tables.at(graph.slew_table[start:end], slew[source], load)
        reached = arrival[source] > -np.inf
        firsts = np.flatnonzero(np.diff(target, prepend=-1))
        nodes = target[firsts]
        late = np.where(reached, arrival[source] + graph.wire[start:end] + delay, -np.inf)
        arrival[nodes] = np.maximum(arrival[nodes], np.maximum.reduceat(late, firsts))
        slews = np.where(reached, out_slew, 0.0)
        slew[nodes] = np.maximum(slew[nodes], np.maximum.reduceat(slews, firsts))


def _trace(
    graph: Graph, netlist: Netlist, library: Library, arrival: Floats, slew: Floats, node: int
) -> tuple[list[Step], int]:
    """The steps to a node, from the first cell on, and the node where the path starts."""
    found: list[tuple[str, int]] = []
    while True:
        arcs = graph.arcs_into(node)
        arcs = arcs[arrival[graph.source[arcs]] > -np.inf]
        if not len(arcs) or graph.is_clock[node // 2]:
            break
        source = graph.source[arcs]
        load = np.full(len(arcs), graph.load[node])
        delay = graph.tables.at(graph.delay_table[arcs], slew[source], load)
        best = int(np.argmax(arrival[source] + graph.wire[arcs] + delay))
        found.append((graph.cell_of(int(arcs[best])), node))
        node = int(source[best])
    steps: list[Step] = []
    place = Driver("", netlist.top, "")
    for cell, at in reversed(found):
        net = at // 2
        place = netlist.driver(library.cells[cell], net) or replace(place, signal="")
        step = Step(
            cell=cell,
            instance=place.instance,
            module=place.module,
            signal=place.signal,
            net=netlist.name(net),
            edge=("rise", "fall")[at % 2],
            arrival=float(arrival[at]),
            fanout=int(graph.fanout[net]),
        )
        steps.append(step)
    return steps, node


def analyse(
    netlist: Netlist, library: Library, wires: WireLoad | None = None, kept: Kept | None = None
) -> Timing:
    """Find the slowest path; ``wires``, ``kept`` and errors: see ``build_graph``."""
    stage, stage_slew = fo4(library)
    graph = build_graph(netlist, library, wires, kept)
    arrival = np.full(2 * netlist.nets, -np.inf)
    slew = np.zeros(2 * netlist.nets)
    for nets in netlist.inputs.values():
        nodes = 2 * nets[nets >= 0]
        for edge in (0, 1):
            arrival[nodes + edge] = 0.0
            slew[nodes + edge] = stage_slew
    clocks = 2 * netlist.clock_nets
    arrival[clocks] = 0.0
    arrival[clocks + 1] = -np.inf
    slew[clocks] = graph.clock_slew
    _propagate(graph, arrival, slew)
    ends, setups, wire = graph.endpoints(slew)
    totals = arrival[ends] + wire + setups
    if not len(totals) or totals.max() == -np.inf:
        return Timing(None, stage)
    worst = int(np.argmax(totals))
    node = int(ends[worst])
    steps, origin = _trace(graph, netlist, library, arrival, slew, node)
    from_register = bool(graph.is_clock[origin // 2])
    first = steps[0].net if from_register else netlist.name(origin // 2)
    end, to_register = graph.end_name(worst)
    words = ("input", "register"), ("output", "register")
    path = Path(
        start=first,
        end=end,
        kind=f"{words[0][from_register]} to {words[1][to_register]}",
        delay=float(arrival[node] + wire[worst]),
        setup=float(setups[worst]),
        steps=tuple(steps),
    )
    return Timing(path, stage)
