"""The netlist of one module, models of its children put in, and the names of what is in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..library.cells import Cell, Library
from ..mapping.netlist import NONE, Arrivals, Driver, Loads, MappedModule, Netlist, Nets
from .loads import Joints

__all__ = ["Model", "ModuleNetlist", "Names", "Part", "below", "led_to", "module_netlist"]

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Model:
    """The part of a module that its parents see.

    Nets are numbered from 0, first those of the module's ``boundary``.

    Members
    -------
    nets: how many there are; clocks: those that clock flip-flops
    cells: as of a netlist; loads, arrivals: of what is left out
    rows, origins: of the module's netlist, of each cell its row there, of each net its number there
    names: of the module's netlist
    """

    nets: int
    clocks: Nets
    cells: dict[str, Nets]
    loads: Loads
    arrivals: Arrivals
    rows: dict[str, Nets]
    origins: Nets
    names: Names


@dataclass(frozen=True)
class Part:
    """A child's model in a netlist: its first net there, and its first row of each kind."""

    instance: str
    child: str
    model: Model
    first: int
    rows: dict[str, int]


@dataclass(frozen=True)
class Names:
    """Names in the netlist of a module and its children's models."""

    module: MappedModule
    parts: list[Part]

    def part(self, net: int) -> Part | None:
        """The part that a net belongs to; None for one of the module's own."""
        if net < len(self.module.net_names):
            return None
        return next(part for part in reversed(self.parts) if part.first <= net)

    def net(self, net: int) -> str:
        """Name of a net, from this module."""
        part = self.part(net)
        if part is None:
            return self.module.net_names[net]
        return f"{part.instance}.{part.model.names.net(int(part.model.origins[net - part.first]))}"

    def driver(self, kind: str, row: int, column: int) -> Driver:
        """The driver with an output in this column of this row of a kind."""
        for part in reversed(self.parts):
            first = part.rows.get(kind)
            if first is not None and first <= row:
                own = int(part.model.rows[kind][row - first])
                found = part.model.names.driver(kind, own, column)
                return replace(found, instance=below(part.instance, found.instance))
        cells = self.module.cells.get(kind)
        if cells is None or row >= len(cells):  # a buffer
            return Driver("", self.module.name, "")
        net = int(cells[row, column])
        name = self.module.net_names[net]
        return Driver("", self.module.name, "" if name == f"net_{net}" else name)


def below(instance: str, name: str) -> str:
    return ".".join(filter(None, (instance, name)))


@dataclass
class ModuleNetlist(Netlist):
    """The netlist of a module, models of its children put in."""

    names: Names | None = None

    @property
    def top(self) -> str:
        assert self.names is not None
        return self.names.module.name

    def name(self, net: int) -> str:
        assert self.names is not None
        return self.names.net(net)

    def driver(self, cell: Cell, net: int) -> Driver:
        assert self.names is not None
        outputs = [place for place, pin in enumerate(cell.pins) if pin in cell.outputs]
        row, column = np.argwhere(self.cells[cell.name][:, outputs] == net)[0].tolist()
        return self.names.driver(cell.name, row, outputs[column])


def module_netlist(
    module: MappedModule, joints: Joints, models: Mapping[str, Model], library: Library
) -> ModuleNetlist:
    """The netlist of a module, models of its children put in."""
    nets = len(module.net_names)
    cells: dict[str, list[Nets]] = defaultdict(list)
    count: dict[str, int] = defaultdict(int)
    for own in (module.cells, module.buffers):
        for kind, pins in own.items():
            cells[kind].append(pins)
            count[kind] += len(pins)
    names = Names(module, [])
    added: list[tuple[Nets, Model]] = []
    clocks = [_clock_nets(module.cells, library)]
    for instance, child, outer in joints:
        model = models[child]
        numbers = np.append(nets + np.arange(model.nets), NONE)
        numbers[: len(outer)] = np.where(outer >= 0, outer, numbers[: len(outer)])
        names.parts.append(Part(instance, child, model, nets, {k: count[k] for k in model.cells}))
        nets += model.nets
        for kind, pins in model.cells.items():
            cells[kind].append(numbers[pins])
            count[kind] += len(pins)
        added.append((numbers[:-1], model))
        clocks.append(numbers[model.clocks])
    loads = Loads.none(nets)
    nodes, times, slews = [np.zeros(0, dtype=np.int64)], [np.zeros(0)], [np.zeros(0)]
    for numbers, model in added:
        loads.add(numbers, model.loads)
        given = model.arrivals
        nodes.append(2 * numbers[given.nodes // 2] + given.nodes % 2)
        times.append(given.time)
        slews.append(given.slew)
    return ModuleNetlist(
        nets=nets,
        cells={kind: np.concatenate(parts) for kind, parts in sorted(cells.items())},
        inputs={},
        outputs={},
        clock_nets=np.unique(np.concatenate(clocks)),
        loads=loads,
        arrivals=Arrivals(np.concatenate(nodes), np.concatenate(times), np.concatenate(slews)),
        names=names,
    )


def _clock_nets(cells: Mapping[str, Nets], library: Library) -> Nets:
    found = [np.zeros(0, dtype=np.int64)]
    for kind, pins in cells.items():
        cell = library.cells[kind]
        if cell.clock:
            nets = pins[:, list(cell.pins).index(cell.clock)]
            found.append(nets[nets >= 0])
    return np.concatenate(found)


def led_to(netlist: Netlist, library: Library, inputs: Nets, clock: Flags) -> Flags:
    """The nets that paths from these inputs lead to, without a clock in between; an element for
    ``NONE`` follows."""
    sources, targets = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for kind, pins in netlist.cells.items():
        columns = list(library.cells[kind].pins)
        for begin, end in {
            (a.source, a.target) for a in library.cells[kind].arcs if a.kind != "setup"
        }:
            source, target = pins[:, columns.index(begin)], pins[:, columns.index(end)]
            used = (source >= 0) & (target >= 0) & ~clock[source]
            sources.append(source[used])
            targets.append(target[used])
    source, target = np.concatenate(sources), np.concatenate(targets)
    order = np.argsort(source, kind="stable")
    target = target[order]
    starts = np.searchsorted(source[order], np.arange(netlist.nets + 1))
    found = np.zeros(netlist.nets + 1, dtype=bool)
    found[inputs] = True
    front = np.asarray(inputs)
    while len(front):
        counts = starts[front + 1] - starts[front]
        offsets = np.repeat(starts[front] - np.cumsum(counts) + counts, counts)
        reached = np.unique(target[offsets + np.arange(len(offsets))])
        front = reached[~found[reached]]
        found[front] = True
    return found
