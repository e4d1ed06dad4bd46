"""The timing graph of a netlist, as arrays sorted by level.

A node is a net and an edge: ``2 * net`` rising, ``2 * net + 1`` falling.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..library.cells import INVERTER, Library, Table, WireLoad
from ..mapping.netlist import Kept, Netlist

__all__ = ["Graph", "TableStack", "build_graph", "clock_slew", "levels"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_Place = tuple[Ints, Floats]


class TableStack:
    """Many two-dimensional tables, looked up together."""

    def __init__(self, tables: Sequence[Table]) -> None:
        count = max(len(tables), 1)
        rows = max([2, *(len(table.rows) for table in tables)])
        columns = max([2, *(len(table.columns) for table in tables)])
        values_of = np.zeros((count, rows, columns))
        row_axes: list[Floats] = [np.array([0.0, 1.0])] * count
        column_axes = list(row_axes)
        for i, table in enumerate(tables):
            values = table.values
            row_axis, column_axis = table.rows, table.columns
            if len(row_axis) == 1:
                row_axis, values = row_axis[0] + np.array([0.0, 1.0]), np.repeat(values, 2, 0)
            if len(column_axis) == 1:
                column_axis = column_axis[0] + np.array([0.0, 1.0])
                values = np.repeat(values, 2, 1)
            row_axes[i], column_axes[i] = row_axis, column_axis
            values_of[i, : len(row_axis), : len(column_axis)] = values
        self._values, self._stride = values_of.ravel(), (rows * columns, columns)
        self._rows, self._columns = _Axes(row_axes), _Axes(column_axes)

    def at(self, table: Ints, row: Floats, column: Floats) -> Floats:
        """Values of tables (by number) at these points, element by element."""
        return self._read(table, self._rows.place(table, row), self._columns.place(table, column))

    def both(self, first: Ints, second: Ints, row: Floats, column: Floats) -> tuple[Floats, Floats]:
        """Looks up two tables at each point: ``at`` of the first ones, and of the second ones."""
        axes = (self._rows, row), (self._columns, column)
        places = [each.place(first, x) for each, x in axes]
        others = [
            found if each.same(first, second) else each.place(second, x)
            for found, (each, x) in zip(places, axes, strict=True)
        ]
        return self._read(first, *places), self._read(second, *others)

    def _read(self, table: Ints, row: _Place, column: _Place) -> Floats:
        (i, u), (j, v) = row, column
        one, line = self._stride
        at = table * one + i * line + j
        take = self._values.take
        rest = 1 - v
        low = take(at) * rest + take(at + 1) * v
        at += line
        high = take(at) * rest + take(at + 1) * v
        result: Floats = low * (1 - u) + high * u
        return result


class _Axes:
    """Interpolation points of many tables along one axis. Most tables of a library share them."""

    def __init__(self, axes: Sequence[Floats]) -> None:
        numbers: dict[bytes, int] = {}
        self._number = np.array([numbers.setdefault(axis.tobytes(), len(numbers)) for axis in axes])
        self._each = [np.frombuffer(points) for points in numbers]
        self._last = np.array([len(axis) - 2 for axis in self._each])
        self._points = np.full((len(self._each), max(map(len, self._each))), np.inf)
        for points, axis in zip(self._points, self._each, strict=True):
            points[: len(axis)] = axis

    def same(self, first: Ints, second: Ints) -> bool:
        """Returns whether each table has the same points as its partner."""
        return len(self._each) == 1 or bool((self._number[first] == self._number[second]).all())

    def place(self, table: Ints, x: Floats) -> _Place:
        """Returns the interval that each value is in, and its position in it: 0 at the lower
        point, 1 at the upper one, anything else for extrapolation."""
        number = self._number[table]
        if not len(number) or (number == number[0]).all():
            axis = self._each[number[0] if len(number) else 0]
            low = np.zeros(len(x), dtype=np.int64)
            if len(axis) > 2:
                low = axis[1:-1].searchsorted(x, "right")
            first = axis.take(low)
            return low, (x - first) / (axis.take(low + 1) - first)
        low = np.zeros(len(x), dtype=np.int64)
        for column in self._points.T[1:]:
            low += column[number] <= x
        low = np.minimum(low, self._last[number])
        first = self._points[number, low]
        return low, (x - first) / (self._points[number, low + 1] - first)


@dataclass
class Graph:
    """Arcs between nodes, sorted by the level of their target.

    Members
    -------
    source, target: nodes of each arc
    delay_table, slew_table: numbers of its tables
    level_starts: where each level's arcs begin
    wire: of each arc, the delay in ns from its source's driver to the cell
    load: pF at each node, with the wire's; fanout: pins driven by each net
    branch: resistance in ns/pF and capacitance in pF of each net's wire to one pin
    clock_slew: ns
    """

    source: Ints
    target: Ints
    delay_table: Ints
    slew_table: Ints
    wire: Floats
    level_starts: list[int]
    tables: TableStack
    load: Floats
    fanout: Ints
    is_clock: npt.NDArray[np.bool_]
    clock_slew: float
    branch: tuple[Floats, Floats]
    sequential: frozenset[str]
    _kind: Ints
    _kinds: list[str]
    _ends: list[tuple[Ints, Ints, Ints, Floats]]
    _ports: list[tuple[str, Ints, Floats]]
    _netlist: Netlist

    def arcs_into(self, node: int) -> Ints:
        return np.flatnonzero(self.target == node)

    def net_levels(self) -> Ints:
        """The longest distance of each net from the sources."""
        sizes = np.diff(self.level_starts)
        found = np.zeros((len(self.fanout), 2), dtype=np.int64)
        found.ravel()[self.target] = np.repeat(np.arange(len(sizes)), sizes)
        return found.max(axis=1)

    def cell_of(self, arc: int) -> str:
        """Library cell of an arc."""
        return self._kinds[int(self._kind[arc])]

    def endpoints(self, slew: Floats) -> tuple[Ints, Floats, Floats]:
        """Nodes where paths end, the setup time at each, and the delay of the wire to it."""
        nodes, setups, wires = [], [], []
        for ends, tables, _, wire in self._ends:
            nodes.append(ends)
            setups.append(self.tables.at(tables, np.full(len(ends), self.clock_slew), slew[ends]))
            wires.append(wire)
        for _, ends, wire in self._ports:
            nodes.append(ends)
            setups.append(np.zeros(len(ends)))
            wires.append(wire)
        if not nodes:
            return np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
        return np.concatenate(nodes), np.concatenate(setups), np.concatenate(wires)

    def end_name(self, index: int) -> tuple[str, bool]:
        """Name of an endpoint, by its place in ``endpoints``, and whether it is a register."""
        for ends, _, outputs, _ in self._ends:
            if index < len(ends):
                return self._netlist.name(int(outputs[index])), True
            index -= len(ends)
        for name, ends, _ in self._ports:
            if index < len(ends):
                return (f"{name}[{index // 2}]" if len(ends) > 2 else name), False
            index -= len(ends)
        raise IndexError(index)


class _Builder:
    def __init__(
        self, netlist: Netlist, library: Library, wires: WireLoad | None, clock_slew: float
    ) -> None:
        self.netlist, self.library, self.wires = netlist, library, wires
        self.tables: list[Table] = []
        self.kinds = list(netlist.cells)
        self.arcs: list[tuple[Ints, Ints, Ints, Ints, Ints, Floats]] = []
        self.ends: list[tuple[Ints, Ints, Ints, Floats]] = []
        self.load = np.zeros(2 * netlist.nets)
        self.fanout = np.zeros(netlist.nets, dtype=np.int64)
        self.clock_slew = clock_slew
        self.add_pins()
        self.branch = self.add_wires()

    def number(self, table: Table) -> int:
        self.tables.append(table)
        return len(self.tables) - 1

    def add_pins(self) -> None:
        """Add the pins' loads, and four inverters at each output."""
        if self.netlist.loads is not None:
            self.fanout += self.netlist.loads.pins
            self.load += self.netlist.loads.capacitance.ravel()
        loads = [
            (pins[:, place], pin.capacitance)
            for kind, pins in self.netlist.cells.items()
            for place, pin in enumerate(self.library.cells[kind].pins.values())
            if not pin.output
        ]
        loads += [(nets, self.output_load()) for nets in self.netlist.outputs.values()]
        if not loads:
            return
        net = np.concatenate([nets for nets, _ in loads])
        load = np.repeat([each for _, each in loads], [len(nets) for nets, _ in loads], axis=0)
        net, load = net[net >= 0], load[net >= 0]
        self.fanout += np.bincount(net, minlength=self.netlist.nets)
        for edge in (0, 1):
            self.load[edge::2] += np.bincount(net, load[:, edge], self.netlist.nets)

    def output_load(self) -> tuple[float, float]:
        """Load of an output by edge, in pF."""
        inverter = self.library.smallest(1, INVERTER)
        if inverter is None:
            return 0.0, 0.0
        rise, fall = inverter.pins[inverter.inputs[0]].capacitance
        return 4 * rise, 4 * fall

    def add_wires(self) -> tuple[Floats, Floats]:
        """Add the wires' loads; resistance and capacitance of each net's branch to one pin."""
        if self.wires is None:
            return np.zeros(self.netlist.nets), np.zeros(self.netlist.nets)
        length = self.wires.length(self.fanout) * (self.fanout > 0)
        length[self.netlist.clock_nets] = 0.0
        self.load += np.repeat(length * self.wires.capacitance, 2)
        each = length / np.maximum(self.fanout, 1)
        return each * self.wires.resistance, each * self.wires.capacitance

    def wire(self, nets: Ints, load: float) -> Floats:
        """Delay of the wires of nets to one pin of this load: Elmore's, of a star of branches."""
        resistance, capacitance = (per_net[nets] for per_net in self.branch)
        delay: Floats = resistance * (capacitance + load)
        return delay

    def add_cell(self, kind: int, kept: Kept | None) -> None:
        cell = self.library.cells[self.kinds[kind]]
        pins = self.netlist.cells[cell.name]
        if kept is not None:
            pins = pins[kept[cell.name]]
        column = {pin: pins[:, i] for i, pin in enumerate(cell.pins)}
        for arc in cell.arcs:
            source, target = column[arc.source], column[arc.target]
            used = (source >= 0) & (target >= 0)
            source, target = source[used], target[used]
            if arc.kind == "setup":
                state = next(column[pin] for pin in cell.outputs)[used]
                for edge in (0, 1):
                    table = np.full(len(target), self.number(arc.delay[edge]))
                    wire = self.wire(target, cell.pins[arc.target].capacitance[edge])
                    self.ends.append((2 * target + edge, table, state, wire))
                continue
            assert arc.slew is not None
            delay = [self.number(table) for table in arc.delay]
            slew = [self.number(table) for table in arc.slew]
            for before, after in arc.edges:
                size = len(source)
                tables = np.full(size, delay[after]), np.full(size, slew[after])
                ends = 2 * source + before, 2 * target + after
                wire = self.wire(source, cell.pins[arc.source].capacitance[before])
                self.arcs.append((*ends, *tables, np.full(size, kind), wire))


def levels(nodes: int, source: Ints, target: Ints) -> Ints:
    """Returns the longest distance of every node from the sources; -1 in or after a loop."""
    waiting = np.bincount(target, minlength=nodes)
    order = np.argsort(source, kind="stable")
    sorted_target = target[order]
    starts = np.searchsorted(source[order], np.arange(nodes + 1))
    level = np.full(nodes, -1, dtype=np.int64)
    front = np.flatnonzero(waiting == 0)
    depth = 0
    while len(front):
        level[front] = depth
        depth += 1
        counts = starts[front + 1] - starts[front]
        offsets = np.repeat(starts[front] - np.cumsum(counts) + counts, counts)
        reached = sorted_target[offsets + np.arange(len(offsets))]
        np.subtract.at(waiting, reached, 1)
        front = np.unique(reached[waiting[reached] == 0])
    return level


def clock_slew(library: Library, kinds: Collection[str]) -> float:
    """The slew of the clock in ns for a netlist of cells of these kinds: the smallest for which
    each has a setup time; 0 without any."""
    setups = [arc for kind in kinds for arc in library.cells[kind].arcs if arc.kind == "setup"]
    return max((float(arc.delay[0].rows[0]) for arc in setups), default=0.0)


def build_graph(
    netlist: Netlist,
    library: Library,
    wires: WireLoad | None = None,
    kept: Kept | None = None,
    slew: float | None = None,
) -> Graph:
    """The timing graph.

    Parameters
    ----------
    wires: their model; free without one
    kept: cells that have arcs, by default all; the pins of all others are loads nevertheless
    slew: of the clock, by default ``clock_slew`` of the netlist's cells

    Raises ValueError for a combinational loop.
    """
    if slew is None:
        slew = clock_slew(library, netlist.cells)
    work = _Builder(netlist, library, wires, slew)
    for kind in range(len(work.kinds)):
        work.add_cell(kind, kept)
    empty = np.zeros(0, dtype=np.int64)
    columns = [np.concatenate(c) for c in zip(*work.arcs, strict=True)] or [empty] * 6
    source, target, delay, slews, kinds, wire = columns
    level = levels(2 * netlist.nets, source, target)
    if (looped := np.flatnonzero(level < 0)).size:
        raise ValueError(f"a combinational loop through {netlist.name(int(looped[0]) // 2)}")
    order = np.lexsort((target, level[target]))
    source, target, delay, slews, kinds, wire = (c[order] for c in columns)
    depth = int(level[target].max()) + 1 if len(target) else 0
    starts = np.searchsorted(level[target], np.arange(depth + 1)).tolist()
    is_clock = np.zeros(netlist.nets, dtype=bool)
    is_clock[netlist.clock_nets] = True
    ports = []
    for name, nets in netlist.outputs.items():
        nodes = 2 * np.repeat(nets, 2) + np.tile([0, 1], len(nets))
        nodes[np.repeat(nets, 2) < 0] = 0
        # As in OpenSTA the load outside is behind the driver, not behind the wire.
        ports.append((name, nodes, work.wire(nodes // 2, 0.0)))
    return Graph(
        source=source,
        target=target,
        delay_table=delay,
        slew_table=slews,
        wire=wire,
        level_starts=starts,
        tables=TableStack(work.tables),
        load=work.load,
        fanout=work.fanout,
        is_clock=is_clock,
        clock_slew=work.clock_slew,
        branch=work.branch,
        sequential=frozenset(c.name for c in library.cells.values() if c.sequential),
        _kind=kinds,
        _kinds=work.kinds,
        _ends=work.ends,
        _ports=ports,
        _netlist=netlist,
    )
