"""Power of a netlist in the cycles of a recording.

Switching is half of load x V^2 with each change of a net that a cell drives, internal power by the
library's tables (:mod:`.energies`), leakage by the state of each cell. Loads are those of the
timing analysis, slews its worst. Without delays a net changes once in a cycle or not at all, the
inputs of a cell in the order in which the timing analysis has them settle.

The clock tree is an estimate: buffers that drive up to ``FANOUT_LIMIT`` pins of flip-flops or
buffers, in as many levels as it takes, without wires. Each net of it, pins of flip-flops included,
takes load x V^2 in a cycle, each buffer its internal energy of both edges, and its leakage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..library.cells import Library, Table, WireLoad
from ..library.power import LibraryPower, read_power
from ..mapping.fanout import FANOUT_LIMIT, choose_buffer
from ..mapping.netlist import Netlist
from ..timing.analysis import Times, fo4, propagated
from ..timing.graph import build_graph
from .circuit import CellGroup, Circuit
from .energies import Pins, events_of
from .recording import Recording
from .replay import CellTable, Tally, replay

__all__ = ["COLUMNS", "ClockTree", "ModulePower", "PoweredNetlist"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

COLUMNS = ("switching", "internal", "leakage", "clock")
OUTSIDE = "(fan-out buffers)"
"""Row of the buffers that are in no module."""


@dataclass(frozen=True, kw_only=True)
class ModulePower:
    """Power in mW of all instances of a module, without what is inside them."""

    module: str
    instances: int
    switching: float
    internal: float
    leakage: float
    clock: float

    @property
    def total(self) -> float:
        return self.switching + self.internal + self.leakage + self.clock


@dataclass(frozen=True)
class ClockTree:
    """An estimate of a clock tree.

    Members
    -------
    flip_flops, buffers: how many
    energy: pJ in a cycle; leakage: mW of the buffers
    """

    flip_flops: int
    buffers: int
    energy: float
    leakage: float


class PoweredNetlist:
    """A netlist with its timing and the power of its cells.

    Raises ValueError for a library without tables of power, and as :class:`.circuit.Circuit`.
    """

    def __init__(self, netlist: Netlist, library: Library, wires: WireLoad | None = None) -> None:
        self.netlist, self.library, self.wires = netlist, library, wires
        buffer = choose_buffer(library)
        kinds = {*netlist.cells, *([buffer.name] if buffer else [])}
        self.power: LibraryPower = read_power(library, kinds)
        self.circuit = Circuit(netlist, library)

    @cached_property
    def times(self) -> Times:
        """Slews, loads and arrivals."""
        graph = build_graph(self.netlist, self.library, self.wires)
        return propagated(self.netlist, self.library, graph, fo4(self.library)[1])

    def pins(self, group: CellGroup) -> Pins:
        """Slews and loads at the cells of a group."""
        count = self.netlist.nets
        slews = np.append(self.times.slew.reshape(-1, 2), np.zeros((1, 2)), axis=0)
        slews[self.netlist.clock_nets] = self.times.graph.clock_slew
        loads = np.append(self.times.graph.load.reshape(-1, 2), np.zeros((1, 2)), axis=0)
        rows = np.where(group.rows < count, group.rows, count)
        found = {pin: slews[rows[:, place]] for place, pin in enumerate(group.inputs)}
        return Pins(
            found, {pin: loads[group.nets[:, n]] for n, pin in enumerate(group.cell.outputs)}
        )

    def order(self, group: CellGroup) -> npt.NDArray[np.uint8]:
        """The inputs of each cell by when they settle."""
        late = self.times.arrival.reshape(-1, 2).max(axis=1)
        late = np.append(late, -np.inf)
        rows = np.where(group.rows < self.netlist.nets, group.rows, self.netlist.nets)
        order = np.argsort(late[rows], axis=1, kind="stable")
        return np.ascontiguousarray(order, np.uint8)

    def tables(self) -> dict[str, CellTable]:
        """The events of all kinds of cells, and their energies."""
        found = {}
        for kind, group in self.circuit.groups.items():
            events = events_of(group, self.power.cells[kind])
            energy = events.energies(group.cell, self.pins(group))
            found[kind] = CellTable(events, energy, self.order(group))
        return found

    def replay(self, recording: Recording) -> Tally:
        """Count what happens in a recording. Raises as :func:`.replay.replay`."""
        return replay(self.circuit, recording, self.tables())

    def clock_tree(self) -> ClockTree:
        """The estimate of the clock tree."""
        pins = [
            (len(group.rows), float(np.mean(group.cell.pins[group.flip_flop.clock].capacitance)))
            for group in self.circuit.groups.values()
            if group.flip_flop is not None
        ]
        flip_flops = sum(count for count, _ in pins)
        load = sum(count * each for count, each in pins)
        buffer = choose_buffer(self.library)
        if not flip_flops or buffer is None:
            return ClockTree(flip_flops, 0, load * self.power.volts**2, 0.0)
        slew = self.times.graph.clock_slew
        own = self.power.cells[buffer.name]
        capacitance = float(np.mean(buffer.pins[buffer.inputs[0]].capacitance))
        energy = load * self.power.volts**2
        sinks, each, buffers = flip_flops, load / flip_flops, 0
        while sinks > 1 or not buffers:
            level = -(-sinks // FANOUT_LIMIT)
            inside = sum(
                _both(group.tables, slew, each * sinks / level) for group in own.internal
                if group.volts and not group.when
            )  # fmt: skip
            energy += level * (inside + capacitance * self.power.volts**2)
            buffers += level
            sinks, each = level, capacitance
        leakage = own.average_leakage
        if leakage is None:
            leakage = float(np.mean([one.power for one in own.leakage])) if own.leakage else 0.0
        return ClockTree(flip_flops, buffers, energy, buffers * leakage)

    def modules(self, tally: Tally, period: float) -> tuple[ModulePower, ...]:
        """Power by module at a clock of this period in ns, the largest first."""
        sums: dict[str, Floats] = {}
        flip_flops: dict[str, int] = {}
        for kind, group in self.circuit.groups.items():
            figures = np.stack(
                [
                    self._switching(group, tally) / period,
                    tally.internal[kind] / tally.cycles / period,
                    tally.leaked[kind] / tally.cycles,
                ]
            )
            for module, first, last in self._spans(kind):
                found = sums.setdefault(module, np.zeros(3))
                found += figures[:, first:last].sum(axis=1)
                count = last - first if group.flip_flop is not None else 0
                flip_flops[module] = flip_flops.get(module, 0) + count
        tree = self.clock_tree()
        clock = tree.energy / period + tree.leakage
        each = clock / tree.flip_flops if tree.flip_flops else 0.0
        instances = self.netlist.instances()
        rows = [
            ModulePower(
                module=module,
                instances=instances.get(module, 1),
                switching=float(found[0]),
                internal=float(found[1]),
                leakage=float(found[2]),
                clock=each * flip_flops[module],
            )
            for module, found in sums.items()
        ]
        return tuple(sorted(rows, key=lambda row: (-row.total, row.module)))

    def _switching(self, group: CellGroup, tally: Tally) -> Floats:
        """Energy of each cell's outputs in a cycle, in pJ."""
        loads = self.times.graph.load.reshape(-1, 2).mean(axis=1)
        energy = np.zeros(len(group.nets))
        for nets in group.nets.T:
            used = nets >= 0
            changes = tally.toggles[nets[used]] / tally.cycles
            energy[used] += 0.5 * loads[nets[used]] * self.power.volts**2 * changes
        return energy

    def _spans(self, kind: str) -> Iterator[tuple[str, int, int]]:
        """Yields the modules that the cells of a kind are in, with the first and the last cell."""
        first = 0
        for _, module, count in self.netlist.owners(kind):
            yield module, first, first + count
            first += count
        if first < len(self.netlist.cells[kind]):
            yield OUTSIDE, first, len(self.netlist.cells[kind])


def _both(tables: tuple[Table | None, Table | None], slew: float, load: float) -> float:
    """Energy of both edges."""
    return sum(table.at(slew, load) for table in tables if table is not None)
