"""Power of a netlist in the cycles of a recording.

Switching is half of load x V^2 with each change of a net that a cell drives, internal power by the
library's tables (:mod:`.energies`), leakage by the state of each cell. Loads are those of the
timing analysis, slews its worst. With delays (:mod:`.delays`) glitches count. Without them a net
changes once in a cycle or not at all, the inputs of a cell in the order in which the timing
analysis has them settle.

The clock tree is an estimate: buffers that drive up to ``FANOUT_LIMIT`` pins of flip-flops or
buffers, in as many levels as it takes, without wires. Each net of it, pins of flip-flops included,
takes load x V^2 in a cycle, each buffer its internal energy of both edges, and its leakage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from .delays import Glitches, cell_delays, replay_with_delays
from .energies import Pins, events_of
from .recording import Recording
from .replay import CellTable, Tally, joined, replay

__all__ = ["COLUMNS", "ClockTree", "GlitchSample", "ModulePower", "PoweredNetlist"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

COLUMNS = ("switching", "internal", "leakage", "clock")
MOST_CYCLES, WINDOWS = 1000, 8
"""Cycles that are replayed with delays, and in how many windows if there are more."""
OUTSIDE = "(fan-out buffers)"
"""Row of the buffers that are in no module."""


@dataclass(frozen=True, kw_only=True)
class ModulePower:
    """Power in mW of all instances of a module, without what is inside them; ``settled`` is their
    sum without glitches."""

    module: str
    instances: int
    switching: float
    internal: float
    leakage: float
    clock: float
    settled: float

    @property
    def total(self) -> float:
        return self.switching + self.internal + self.leakage + self.clock


@dataclass(frozen=True)
class GlitchSample:
    """What was counted with delays, and in the same cycles without."""

    glitches: Glitches
    settled: Tally


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

    @cached_property
    def slews(self) -> Floats:
        """Slew in ns of each row of the circuit, by edge; 0 of constants."""
        nets = self.netlist.nets
        found = np.zeros((self.circuit.rows, 2))
        found[:nets] = self.times.slew.reshape(-1, 2)
        found[self.netlist.clock_nets] = self.times.graph.clock_slew
        return found

    @cached_property
    def loads(self) -> Floats:
        """Load in pF of each row of the circuit, by edge; the last row is one more, without."""
        found = np.zeros((self.circuit.rows + 1, 2))
        found[: self.netlist.nets] = self.times.graph.load.reshape(-1, 2)
        return found

    def pins(self, group: CellGroup) -> Pins:
        """Slews and loads at the cells of a group."""
        return Pins(
            {pin: self.slews[group.rows[:, place]] for place, pin in enumerate(group.inputs)},
            {pin: self.loads[group.nets[:, n]] for n, pin in enumerate(group.cell.outputs)},
        )

    def order(self, group: CellGroup) -> npt.NDArray[np.uint8]:
        """The inputs of each cell by when they settle."""
        late = self.times.arrival.reshape(-1, 2).max(axis=1)
        late = np.append(late, -np.inf)
        rows = np.where(group.rows < self.netlist.nets, group.rows, self.netlist.nets)
        order = np.argsort(late[rows], axis=1, kind="stable")
        return np.ascontiguousarray(order, np.uint8)

    @cached_property
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
        return replay(self.circuit, recording, self.tables)

    def glitches(self, recording: Recording, tally: Tally, period: float) -> GlitchSample:
        """Count what happens in a recording with delays: in all of its cycles, or in windows of
        them, evenly spread. Raises as ``replay``.

        ``tally``: what ``replay`` counted in all of it.
        """
        if tally.cycles <= MOST_CYCLES:
            return GlitchSample(self._with_delays([recording], period), tally)
        size = MOST_CYCLES // WINDOWS
        starts = np.linspace(0, tally.cycles - size, WINDOWS).astype(int).tolist()
        windows = [recording.window(start, size + 1) for start in starts]
        parts = [self.replay(window) for window in windows]
        return GlitchSample(self._with_delays(windows, period), joined(parts))

    def _with_delays(self, recordings: Sequence[Recording], period: float) -> Glitches:
        delays = {
            kind: cell_delays(group, self.times.graph, self.slews, self.loads)
            for kind, group in self.circuit.groups.items()
        }
        access = {
            net: (0.0, 0.0) for nets in self.netlist.inputs.values()
            for net in nets.tolist() if net >= 0 and net not in self.netlist.clock_nets
        }  # fmt: skip
        for kind, pins in self.netlist.cells.items():
            for arc in self.library.cells[kind].arcs:
                if self.library.cells[kind].state == "memory" and arc.kind == "clock":
                    nets = pins[:, list(self.library.cells[kind].pins).index(arc.target)]
                    nets = nets[nets >= 0]
                    slew = np.full(len(nets), self.times.graph.clock_slew)
                    late = [arc.delay[edge].each(slew, self.loads[nets, edge]) for edge in (0, 1)]
                    access |= dict(zip(nets.tolist(), zip(*late, strict=True), strict=True))
        return replay_with_delays(self.circuit, recordings, self.tables, delays, access, period)

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

    def modules(
        self, tally: Tally, period: float, sample: GlitchSample | None = None
    ) -> tuple[ModulePower, ...]:
        """Power by module at a clock of this period in ns, the largest first.

        Switching and internal power of a module grow by glitches as they do in ``sample``.
        """
        sums: dict[str, Floats] = {}
        flip_flops: dict[str, int] = {}
        for kind, group in self.circuit.groups.items():
            counted: list[Tally | Glitches] = [tally]
            counted += [sample.settled, sample.glitches] if sample else [tally, tally]
            figures = [self._switching(group, one.toggles) for one in counted]
            figures += [one.internal[kind] for one in counted]
            figures.append(tally.leaked[kind] * period)
            table = np.stack(figures)
            for module, first, last in self._spans(kind):
                found = sums.setdefault(module, np.zeros(7))
                found += table[:, first:last].sum(axis=1)
                count = last - first if group.flip_flop is not None else 0
                flip_flops[module] = flip_flops.get(module, 0) + count
        tree = self.clock_tree()
        clock = tree.energy / period + tree.leakage
        each = clock / tree.flip_flops if tree.flip_flops else 0.0
        instances = self.netlist.instances()
        rows = []
        for module, found in sums.items():
            plain = found[[0, 3, 6]] / (tally.cycles * period)
            settled, glitching = found[[1, 4]], found[[2, 5]]
            grown = np.divide(glitching, settled, out=np.ones(2), where=settled != 0)
            own = each * flip_flops[module]
            rows.append(
                ModulePower(
                    module=module,
                    instances=instances.get(module, 1),
                    switching=float(plain[0] * grown[0]),
                    internal=float(plain[1] * grown[1]),
                    leakage=float(plain[2]),
                    clock=own,
                    settled=float(plain.sum()) + own,
                )
            )
        return tuple(sorted(rows, key=lambda row: (-row.total, row.module)))

    def _switching(self, group: CellGroup, toggles: Ints) -> Floats:
        """Energy of each cell's outputs in pJ."""
        energy = np.zeros(len(group.nets))
        for nets in group.nets.T:
            used = nets >= 0
            loads = self.loads[nets[used]].mean(axis=1)
            energy[used] += 0.5 * loads * self.power.volts**2 * toggles[nets[used]]
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
