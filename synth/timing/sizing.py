"""Sizes of cells, chosen over the whole netlist.

The cost of a netlist is its area, and a penalty for its slowest paths, which grows exponentially
around a period. Each delay has a weight, the derivative of the penalty by it: weights come from the
ends of paths and flow backwards along the slowest arcs (as the multipliers of C.-P. Chen, C. Chu
and D. Wong, "Fast and exact simultaneous gate and wire sizing by Lagrangian relaxation", IEEE TCAD,
1999). A pass analyses the timing and moves half of the cells, drawn at random, to the neighbour in
their family that lowers the cost: by delays, by loads on drivers, by slews at the next cells, by
area. A cell of a module has one size in all instances of the module, under the loads of each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..library.cells import INVERTER, Library, Table, WireLoad
from ..mapping.netlist import Kept, MappedModule, Netlist
from .analysis import fo4
from .families import Family, families
from .graph import TableStack, levels

__all__ = ["PASSES", "Sizer"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PASSES = 40
PATIENCE = 10
"""Passes without a better netlist after which there is none."""
SOFTNESS = 0.004
"""Distance from the slowest path within which other paths count, as a part of the period."""
AHEAD = 0.95
"""The period that is wanted of a design that shall be as fast as it can, as a part of what it
reached so far."""


def _joined(columns: list[tuple[Ints, ...]], count: int) -> list[Ints]:
    empty = np.zeros(0, dtype=np.int64)
    return [np.concatenate([empty, *column]) for column in zip(*columns, strict=True)] or [
        empty for _ in range(count)
    ]


@dataclass
class _Numbers:
    """Tables and capacitances by slot, which is an arc or a pin of a family, and place there."""

    most: int
    tables: list[Table] = field(default_factory=list)
    delays: list[list[int]] = field(default_factory=list)
    slews: list[list[int]] = field(default_factory=list)
    capacitances: list[list[tuple[float, float]]] = field(default_factory=list)
    first: dict[int, tuple[int, int]] = field(default_factory=dict)

    def of(self, family: Family) -> tuple[int, int]:
        """The first slot of a family's arcs, and that of its pins."""
        if id(family) not in self.first:
            self.first[id(family)] = len(self.delays), len(self.capacitances)
            places = [min(place, len(family.members) - 1) for place in range(self.most)]
            for key in family.keys:
                start = len(self.tables)
                for place in places:
                    self.tables += family.arcs[place][key]
                self.delays.append([start + 2 * place for place in range(self.most)])
                self.slews.append([start + 2 * place + 1 for place in range(self.most)])
            for pin in family.pins:
                each = [family.members[place].pins[pin].capacitance for place in places]
                self.capacitances.append(each)
        return self.first[id(family)]


class Sizer:
    """A netlist as arrays: arcs, ends of paths and input pins, by cell.

    Parameters
    ----------
    netlist: the modules flattened, with its buffers, which keep their size
    modules: by name
    wires: model of the wires, free without one
    kept: cells whose paths count, by default all
    counts: instances of each module in a design of which the netlist has some; their areas count as
        often. By default it has all

    Members
    -------
    size: the place in its family of each cell; area: of all places
    """

    def __init__(
        self,
        netlist: Netlist,
        modules: Mapping[str, MappedModule],
        library: Library,
        wires: WireLoad | None = None,
        kept: Kept | None = None,
        counts: Mapping[str, int] | None = None,
    ) -> None:
        self.netlist, self.modules, self.wires = netlist, modules, wires
        self._counts = counts
        self._families = families(library)
        numbers = _Numbers(max(len(family.members) for family, _ in self._families.values()))
        self._first_group: dict[tuple[str, str], int] = {}
        self.groups = 0
        for name, module in modules.items():
            for kind, pins in module.cells.items():
                self._first_group[name, kind] = self.groups
                self.groups += len(pins)
        self._add_cells(numbers, library, kept)
        self.tables = TableStack(numbers.tables)
        self._delays, self._slews = np.array(numbers.delays), np.array(numbers.slews)
        self._capacitances = np.array(numbers.capacitances)
        inverter = library.smallest(1, INVERTER)
        assert inverter is not None
        output = 4 * np.array(inverter.pins[inverter.inputs[0]].capacitance)
        self._input_slew = fo4(library)[1]
        self._fixed_load = np.zeros((netlist.nets, 2))
        fanout = np.bincount(self.pin_net, minlength=netlist.nets)
        if netlist.loads is not None:
            fanout += netlist.loads.pins
            self._fixed_load += netlist.loads.capacitance
        for nets in netlist.outputs.values():
            ports_at = np.bincount(nets[nets >= 0], minlength=netlist.nets)
            fanout += ports_at
            self._fixed_load += ports_at[:, None] * output
        self._add_wires(fanout)
        outputs = [n[n >= 0] for n in netlist.outputs.values()]
        ports = np.concatenate([np.zeros(0, dtype=np.int64), *outputs])
        self._ends = np.concatenate([self.end, (2 * ports[:, None] + [0, 1]).ravel()])
        self._port_wire = np.repeat(self._branch[ports].prod(axis=1), 2)

    def _add_cells(self, numbers: _Numbers, library: Library, kept: Kept | None) -> None:
        sizes, last, areas, group = [], [], [], []
        arcs: list[tuple[Ints, ...]] = []
        ends: list[tuple[Ints, ...]] = []
        pins: list[tuple[Ints, ...]] = []
        count, self._clock_slew = 0, 0.0
        for kind, rows in self.netlist.cells.items():
            family, place = self._families[kind]
            cell = family.members[place]
            columns = rows[:, [list(cell.pins).index(pin) for pin in family.pins]]
            cells = count + np.arange(len(rows))
            count += len(rows)
            first_arc, first_pin = numbers.of(family)
            sizes.append(np.full(len(rows), place))
            last.append(np.full(len(rows), len(family.members) - 1))
            area = [member.area for member in family.members]
            area += area[-1:] * (numbers.most - len(area))
            areas.append(self._stand_for(kind, len(rows))[:, None] * area)
            own = [
                self._first_group[module, kind] + np.arange(number)
                for _, module, number in self.netlist.owners(kind)
            ]
            own.append(np.full(len(rows) - sum(map(len, own)), -1))
            group.append(np.concatenate(own))
            for number, pin in enumerate(family.pins):
                if not cell.pins[pin].output:
                    slot = np.full(len(rows), first_pin + number)
                    used = columns[:, number] >= 0
                    pins.append((columns[used, number], cells[used], slot[used]))
            counted = np.ones(len(rows), dtype=bool) if kept is None else kept[kind]
            for number, key in enumerate(family.keys):
                begin = family.pins.index(key.source)
                source, target = columns[:, begin], columns[:, family.pins.index(key.target)]
                used = counted & (source >= 0) & (target >= 0)
                slot = np.full(int(used.sum()), first_arc + number)
                if key.kind == "setup":
                    self._clock_slew = max(self._clock_slew, float(family.arcs[0][key][0].rows[0]))
                    load = np.full(len(slot), first_pin + family.pins.index(key.target))
                    ends.append((2 * target[used] + key.after, cells[used], slot, load))
                else:
                    load = np.full(len(slot), first_pin + begin)
                    nodes = 2 * source[used] + key.before, 2 * target[used] + key.after
                    arcs.append((*nodes, cells[used], slot, load))
        self.size, self._last = np.concatenate(sizes), np.concatenate(last)
        self.area, self._group = np.concatenate(areas), np.concatenate(group)
        self.pin_net, self.pin_cell, self.pin_slot = _joined(pins, 3)
        self.end, self.end_cell, self.end_slot, self.end_pin = _joined(ends, 4)
        each = _joined(arcs, 5)
        level = levels(2 * self.netlist.nets, each[0], each[1])
        order = np.lexsort((each[1], level[each[1]]))
        self.source, self.target, self.cell, self.slot, self.source_pin = (c[order] for c in each)
        depth = int(level[self.target].max()) + 1 if len(order) else 0
        starts = np.searchsorted(level[self.target], np.arange(depth + 1)).tolist()
        self._levels = [pair for pair in pairwise(starts) if pair[0] < pair[1]]

    def _stand_for(self, kind: str, size: int) -> Floats:
        """Returns the number of cells of the design that each cell of a kind represents."""
        found = np.ones(size)
        if self._counts is not None:
            have, first = self.netlist.instances(), 0
            for _, module, number in self.netlist.owners(kind):
                found[first : first + number] = self._counts[module] / have[module]
                first += number
        return found

    def _add_wires(self, fanout: Ints) -> None:
        """Loads of the wires, and resistance and capacitance of each net's branches."""
        self._branch = np.zeros((self.netlist.nets, 2))
        if self.wires is None:
            return
        length = self.wires.length(fanout) * (fanout > 0)
        length[self.netlist.clock_nets] = 0.0
        self._fixed_load += (length * self.wires.capacitance)[:, None]
        each = (length / np.maximum(fanout, 1))[:, None]
        self._branch = each * [self.wires.resistance, self.wires.capacitance]

    def _wire(self, nodes: Ints, slots: Ints, places: Ints) -> Floats:
        """Delays of the wires from nodes to pins, which are slots of places in families."""
        resistance, capacitance = self._branch[nodes // 2].T
        delay: Floats = resistance * (capacitance + self._capacitances[slots, places, nodes % 2])
        return delay

    def total_area(self, size: Ints) -> float:
        """Area of all cells."""
        return float(self.area[np.arange(len(size)), size].sum())

    def analyse(self, size: Ints) -> float:
        """Analyse the timing; returns the length of the slowest path in ns."""
        load = self._fixed_load.copy()
        capacitance = self._capacitances[self.pin_slot, size[self.pin_cell]]
        for edge in (0, 1):
            load[:, edge] += np.bincount(self.pin_net, capacitance[:, edge], self.netlist.nets)
        self.load = load.ravel()
        self.slew = np.zeros(len(self.load))
        self.arrival = np.full(len(self.load), -np.inf)
        for nets in self.netlist.inputs.values():
            begin = (2 * nets[nets >= 0][:, None] + [0, 1]).ravel()
            self.arrival[begin], self.slew[begin] = 0.0, self._input_slew
        clock = 2 * self.netlist.clock_nets
        self.arrival[clock], self.arrival[clock + 1] = 0.0, -np.inf
        self.slew[clock] = self._clock_slew
        place = size[self.cell]
        delays, slews = self._delays[self.slot, place], self._slews[self.slot, place]
        self.wire = self._wire(self.source, self.source_pin, place)
        self.delay, self.edge = np.zeros(len(place)), np.zeros(len(place))
        for start, end in self._levels:
            source, target = self.source[start:end], self.target[start:end]
            at = self.slew[source], self.load[target]
            tables = delays[start:end], slews[start:end]
            self.delay[start:end], self.edge[start:end] = self.tables.both(*tables, *at)
            late = self.arrival[source] + self.wire[start:end] + self.delay[start:end]
            firsts = np.flatnonzero(np.diff(target, prepend=-1))
            reached = self.arrival[source] > -np.inf
            edges = np.where(reached, self.edge[start:end], 0.0)
            nodes = target[firsts]
            latest = np.maximum.reduceat(late, firsts)
            self.arrival[nodes] = np.maximum(self.arrival[nodes], latest)
            worst = np.maximum.reduceat(edges, firsts)
            self.slew[nodes] = np.maximum(self.slew[nodes], worst)
        setup = self._setup(size) + self._wire(self.end, self.end_pin, size[self.end_cell])
        self.total = self.arrival[self._ends] + np.concatenate([setup, self._port_wire])
        return float(self.total.max(initial=0.0))

    def _setup(self, size: Ints) -> Floats:
        tables = self._delays[self.end_slot, size[self.end_cell]]
        return self.tables.at(tables, np.full(len(tables), self._clock_slew), self.slew[self.end])

    def _weigh(self, period: float) -> None:
        """Let the weights flow from the ends of the paths to their delays."""
        softness = SOFTNESS * period
        slowest = self.total.max()
        self.end_weight = np.exp(np.clip((self.total - slowest) / softness, -60, 0))
        self.end_weight *= np.exp(min((slowest - period) / softness, 6.0)) / self.end_weight.sum()
        weight = np.bincount(self._ends, self.end_weight, 2 * self.netlist.nets)
        self.weight = np.zeros(len(self.source))
        for start, end in reversed(self._levels):
            source, target = self.source[start:end], self.target[start:end]
            reached = self.arrival[source] > -np.inf
            late = np.where(reached, self.arrival[source], 0.0)
            late += self.wire[start:end] + self.delay[start:end]
            before = np.where(reached, late - self.arrival[target], -np.inf)
            share = np.exp(np.clip(before / softness, -60, 0)) * reached
            firsts = np.flatnonzero(np.diff(target, prepend=-1))
            whole = np.repeat(np.add.reduceat(share, firsts), np.diff(firsts, append=end - start))
            self.weight[start:end] = weight[target] * share / np.maximum(whole, 1e-30)
            np.add.at(weight, source, self.weight[start:end])

    def improve(self, size: Ints, period: float, worth: float, rng: np.random.Generator) -> Ints:
        """The sizes after a pass, which begins at those that were analysed last.

        ``worth``: area that is given for a ns of the slowest path, at the period.
        """
        self._weigh(period)
        some = np.flatnonzero(self.weight > 1e-6 * self.end_weight.sum())
        weight, cell, slot = self.weight[some], self.cell[some], self.slot[some]
        source, target = self.source[some], self.target[some]
        slew, load = self.slew[source], self.load[target]
        delay, edge = self.delay[some], self.edge[some]
        nodes, cells = 2 * self.netlist.nets, len(size)
        place = size[cell]
        more_slew = 0.02 * float(np.median(slew, keepdims=True)[0]) if len(some) else 1.0
        more_load = 0.1 * float(np.median(load, keepdims=True)[0]) if len(some) else 1.0
        at, both = self.tables.at, self.tables.both
        by_slew = (at(self._delays[slot, place], slew + more_slew, load) - delay) / more_slew
        slew_weight = np.bincount(source, weight * by_slew, nodes)[target]
        slew_weight *= edge >= 0.999 * self.slew[target]
        tables = self._delays[slot, place], self._slews[slot, place]
        delays, slews = both(*tables, slew, load + more_load)
        by_load = weight * (delays - delay) + slew_weight * (slews - edge)
        load_weight = np.bincount(target, by_load / more_load, nodes).reshape(-1, 2)
        ends = self.end_weight[: len(self.end)]

        def cost(step: int) -> Floats:
            """Returns for each group the change of the cost by a step up or down in its family."""
            new = np.clip(size + step, 0, self._last)
            places = slot, new[cell]
            delays, slews = both(self._delays[places], self._slews[places], slew, load)
            change = weight * (delays - delay) + slew_weight * (slews - edge)
            found = np.bincount(cell, change, cells)
            pins = self._capacitances[self.pin_slot, new[self.pin_cell]]
            pins = pins - self._capacitances[self.pin_slot, size[self.pin_cell]]
            change = (pins * load_weight[self.pin_net]).sum(axis=1)
            found += np.bincount(self.pin_cell, change, cells)
            change = ends * (self._setup(new) - self._setup(size))
            found += np.bincount(self.end_cell, change, cells)
            each = np.arange(cells)
            price: Floats = worth * found + self.area[each, new] - self.area[each, size]
            price[new == size] = 0.0
            mine = self._group >= 0
            return np.bincount(self._group[mine], price[mine], self.groups).astype(np.float64)

        down, up = cost(-1), cost(1)
        steps = np.where(down < up, -1, 1) * (np.minimum(down, up) < -1e-9)
        steps *= rng.random(self.groups) < 0.5
        moved = np.append(steps, 0)[self._group]
        return np.clip(size + moved, 0, self._last)

    def run(self, period: float | None, passes: int = PASSES) -> Ints:
        """The sizes of the smallest netlist that meets the period, or of the fastest if none does
        or without a period."""
        rng = np.random.default_rng(1)
        size = self.size
        slowest, area = self.analyse(size), self.total_area(size)
        best = slowest, area, size
        worth, last = area / max(slowest, 1e-9), 0
        for number in range(passes):
            if number - last > PATIENCE:
                break
            goal = AHEAD * best[0] if period is None else period
            size = self.improve(size, goal, worth, rng)
            slowest, area = self.analyse(size), self.total_area(size)
            if period is None or best[0] > period:
                better = slowest < best[0]
            else:
                better = slowest <= period and area < best[1]
            if better:
                best, last = (slowest, area, size), number
            if period is not None:
                worth *= 1.3 if slowest > period else 0.85
        return best[2]

    def resized(self, size: Ints) -> dict[str, MappedModule]:
        """The modules with cells of these sizes."""
        groups = np.zeros(self.groups, dtype=np.int64)
        mine = self._group >= 0
        groups[self._group[mine]] = size[mine]
        found = {}
        for name, module in self.modules.items():
            cells: dict[str, list[Ints]] = defaultdict(list)
            for kind, pins in module.cells.items():
                family, place = self._families[kind]
                old = list(family.members[place].pins)
                first = self._first_group[name, kind]
                places = groups[first : first + len(pins)]
                for new in np.unique(places).tolist():
                    member = family.members[new]
                    columns = [old.index(pin) for pin in member.pins]
                    cells[member.name].append(pins[places == new][:, columns])
            joined = {kind: np.concatenate(parts) for kind, parts in sorted(cells.items())}
            found[name] = replace(module, cells=joined)
        return found
