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

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..library.cells import INVERTER, Library, WireLoad
from ..mapping.netlist import Driver, Kept, Netlist
from .graph import Graph, build_graph

__all__ = ["End", "Path", "Step", "Times", "Timing", "analyse", "fo4", "propagated"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


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


@dataclass(frozen=True)
class End:
    """The end of a path: the node, its name, whether it is a register, the arrival time in ns, and
    the setup time after it."""

    node: int
    name: str
    register: bool
    delay: float
    setup: float

    @property
    def total(self) -> float:
        """Length of the path."""
        return self.delay + self.setup

    def path(self, steps: Sequence[Step], start: str, from_register: bool) -> Path:
        """The path that ends here, with these steps."""
        kind = f"{'register' if from_register else 'input'} to "
        kind += "register" if self.register else "output"
        return Path(start, self.name, kind, self.delay, self.setup, tuple(steps))


@dataclass(frozen=True)
class Times:
    """A netlist's graph with the times of its nodes, by ``propagated``.

    Members
    -------
    arrival, slew: of each node in ns; -inf where no path arrives
    """

    netlist: Netlist
    library: Library
    graph: Graph
    arrival: Floats
    slew: Floats

    def slowest(self, which: npt.NDArray[np.bool_] | None = None) -> End | None:
        """The end of the slowest path, of those at nets that ``which`` marks; None without any."""
        nodes, setups, wires = self.graph.endpoints(self.slew)
        total = self.arrival[nodes] + wires + setups
        if which is not None:
            total[~which[nodes // 2]] = -np.inf
        if not len(total) or total.max() == -np.inf:
            return None
        worst = int(np.argmax(total))
        node = int(nodes[worst])
        delay, setup = float(self.arrival[node] + wires[worst]), float(setups[worst])
        return End(node, *self.graph.end_name(worst), delay, setup)

    def through(self, arcs: Ints) -> tuple[Floats, Floats]:
        """When the paths through each of these arcs arrive at its end, and with which slew; -inf
        and 0 where none does."""
        graph, source = self.graph, self.graph.source[arcs]
        load = graph.load[graph.target[arcs]]
        reached = self.arrival[source] > -np.inf
        tables = graph.delay_table[arcs], graph.slew_table[arcs]
        delay, slew = graph.tables.both(*tables, self.slew[source], load)
        late = np.where(reached, self.arrival[source] + graph.wire[arcs] + delay, -np.inf)
        return late, np.where(reached, slew, 0.0)

    def start(self, node: int) -> tuple[list[Step], str, bool]:
        """The steps to a node, where they start, and whether that is a register."""
        steps, origin = self.trace(node)
        if self.graph.is_clock[origin // 2]:
            return steps, steps[0].net, True
        return steps, self.netlist.name(origin // 2), False

    def trace(self, node: int) -> tuple[list[Step], int]:
        """The steps to a node, from the first cell on, and the node where the path starts."""
        graph, netlist, arrival = self.graph, self.netlist, self.arrival
        given = netlist.arrivals
        found: list[tuple[str, int]] = []
        while True:
            if given is not None and (given.time[given.nodes == node] >= arrival[node]).any():
                break
            arcs = graph.arcs_into(node)
            arcs = arcs[arrival[graph.source[arcs]] > -np.inf]
            if not len(arcs) or graph.is_clock[node // 2]:
                break
            best = int(arcs[np.argmax(self.through(arcs)[0])])
            found.append((graph.cell_of(best), node))
            node = int(graph.source[best])
        steps: list[Step] = []
        place = Driver("", netlist.top, "")
        for cell, at in reversed(found):
            net = at // 2
            place = netlist.driver(self.library.cells[cell], net) or replace(place, signal="")
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


def propagated(netlist: Netlist, library: Library, graph: Graph, input_slew: float) -> Times:
    """Arrivals and slews of all nodes, level by level, from registers, from ``netlist.inputs``,
    and from ``netlist.arrivals``."""
    arrival = np.full(2 * netlist.nets, -np.inf)
    slew = np.zeros(2 * netlist.nets)
    for nets in netlist.inputs.values():
        nodes = 2 * nets[nets >= 0]
        for edge in (0, 1):
            arrival[nodes + edge] = 0.0
            slew[nodes + edge] = input_slew
    if netlist.arrivals is not None:
        arrival[netlist.arrivals.nodes] = netlist.arrivals.time
        slew[netlist.arrivals.nodes] = netlist.arrivals.slew
    clocks = 2 * netlist.clock_nets
    arrival[clocks] = 0.0
    arrival[clocks + 1] = -np.inf
    slew[clocks] = graph.clock_slew
    times = Times(netlist, library, graph, arrival, slew)
    for start, end in zip(graph.level_starts[:-1], graph.level_starts[1:], strict=True):
        if start == end:
            continue
        late, slews = times.through(np.arange(start, end))
        target = graph.target[start:end]
        firsts = np.flatnonzero(np.diff(target, prepend=-1))
        nodes = target[firsts]
        arrival[nodes] = np.maximum(arrival[nodes], np.maximum.reduceat(late, firsts))
        slew[nodes] = np.maximum(slew[nodes], np.maximum.reduceat(slews, firsts))
    return times


def analyse(
    netlist: Netlist, library: Library, wires: WireLoad | None = None, kept: Kept | None = None
) -> Timing:
    """Find the slowest path; ``wires``, ``kept`` and errors: see ``build_graph``."""
    stage, stage_slew = fo4(library)
    graph = build_graph(netlist, library, wires, kept)
    times = propagated(netlist, library, graph, stage_slew)
    end = times.slowest()
    return Timing(end.path(*times.start(end.node)) if end else None, stage)
