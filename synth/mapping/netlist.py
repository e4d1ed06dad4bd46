"""A mapped design as arrays: every cell of every instance, its pins as net numbers."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..library.cells import Cell, Library

Nets = npt.NDArray[np.int64]
Kept = Mapping[str, npt.NDArray[np.bool_]]
"""Which of the cells of each kind count."""
NONE = -1
"""Net number of a constant or of a pin that is not connected."""


@dataclass
class Constants:
    """Constant bits of a module, which have no net.

    Members
    -------
    pins: of cells, by the first net that a cell drives, and by pin
    children: of the ports of children, by instance, port and place
    ports: of the module's outputs, by port and place
    """

    pins: dict[tuple[int, str], bool] = field(default_factory=dict)
    children: dict[tuple[str, str, int], bool] = field(default_factory=dict)
    ports: dict[tuple[str, int], bool] = field(default_factory=dict)


@dataclass(frozen=True)
class MappedModule:
    """A module after mapping. Net numbers are local to it.

    Members
    -------
    net_names: a name for each net
    ports: name -> (is an output, nets)
    cells: library cell -> array of nets, a row for each cell, a column for each pin in order
    children: (instance name, module, port -> nets)
    buffers: as ``cells``, of the buffer trees that ``buffered`` adds
    constants: bits that are constant in place of a net
    """

    name: str
    net_names: list[str]
    ports: dict[str, tuple[bool, Nets]]
    cells: dict[str, Nets]
    children: list[tuple[str, str, dict[str, Nets]]]
    buffers: dict[str, Nets] = field(default_factory=dict)
    constants: Constants = field(default_factory=Constants)

    @cached_property
    def boundary(self) -> Nets:
        """The nets at its ports, each once, in order."""
        nets = [np.zeros(0, dtype=np.int64), *(nets for _, nets in self.ports.values())]
        found = np.unique(np.concatenate(nets))
        return found[found >= 0]

    def outside(self, connections: Mapping[str, Nets]) -> Nets:
        """Returns for each net of ``boundary`` the net of the parent that an instance has there;
        ``NONE`` where it has none. ``connections``: port -> nets, as in ``children`` of the
        parent."""
        numbers = np.full(len(self.net_names) + 1, NONE, dtype=np.int64)
        for port, (_, inner) in self.ports.items():
            if port in connections:
                valid = (inner >= 0) & (connections[port] >= 0)
                numbers[inner[valid]] = connections[port][valid]
        return numbers[self.boundary]


def cell_count(module: MappedModule) -> int:
    """The cells of a module, without those inside its children and without its buffers."""
    return sum(map(len, module.cells.values()))


@dataclass(frozen=True)
class Loads:
    """Loads of nets by pins of cells that are not in a netlist.

    Members
    -------
    pins: how many at each net; capacitance: in pF, a row for each net, by edge (rising, falling)
    """

    pins: Nets
    capacitance: npt.NDArray[np.float64]

    @classmethod
    def none(cls, nets: int) -> Self:
        """No loads at any of so many nets."""
        return cls(np.zeros(nets, dtype=np.int64), np.zeros((nets, 2)))

    def add(self, nets: Nets, other: Loads) -> None:
        """Add loads, one for each of these nets; those at ``NONE`` are left out."""
        used = nets >= 0
        size = len(self.pins)
        self.pins[:] += np.bincount(nets[used], other.pins[used], size).astype(np.int64)
        for edge in (0, 1):
            given = other.capacitance[used, edge]
            self.capacitance[:, edge] += np.bincount(nets[used], given, size)

    def remove(self, other: Loads, nets: Nets) -> None:
        """Remove what another one has, at some of the nets."""
        self.pins[nets] -= other.pins[nets]
        self.capacitance[nets] -= other.capacitance[nets]

    def at(self, nets: Nets) -> Loads:
        """The loads at some of the nets."""
        return Loads(self.pins[nets], self.capacitance[nets])


@dataclass(frozen=True)
class Arrivals:
    """Times at nodes (``2 * net`` rising, ``2 * net + 1`` falling) whose drivers are not in a
    netlist: when a signal arrives, and its slew, in ns."""

    nodes: Nets
    time: npt.NDArray[np.float64]
    slew: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Driver:
    """Cell that drives a net, and its place in the hierarchy.

    Members
    -------
    instance: names of the instances down to it, separated by dots; empty in the top
    module: what it is an instance of
    signal: name of the net in there; empty without a name in the Verilog
    """

    instance: str
    module: str
    signal: str


@dataclass(frozen=True)
class Place:
    """An instance in a flat design.

    Members
    -------
    path: names of the instances down to it, each with a dot behind it; empty for the top
    nets: number in the design of each of the module's nets
    parent: number of the instance around it, 0 for the top
    """

    path: str
    module: MappedModule
    nets: Nets
    parent: int


@dataclass
class Netlist:
    """A flat design.

    Members
    -------
    nets: how many there are
    cells: as in ``MappedModule``, over all instances
    inputs, outputs: ports of the top: name -> nets
    clock_nets: nets that clock a flip-flop
    loads, arrivals: of cells that are left out
    """

    nets: int
    cells: dict[str, Nets]
    inputs: dict[str, Nets]
    outputs: dict[str, Nets]
    clock_nets: Nets
    loads: Loads | None = None
    arrivals: Arrivals | None = None
    _rows: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    _first: list[int] = field(default_factory=list)
    _owner: list[tuple[str, MappedModule, Nets]] = field(default_factory=list)
    _parent: list[int] = field(default_factory=list)
    _numbers: list[Nets] = field(default_factory=list)

    @property
    def top(self) -> str:
        """Name of the top module; empty for a netlist that no module was flattened to."""
        return self._owner[0][1].name if self._owner else ""

    def name(self, net: int) -> str:
        """Hierarchical name of a net, instances separated by dots."""
        place = bisect_right(self._first, net) - 1
        if place < 0:
            return f"net_{net}"
        path, module, locals_ = self._owner[place]
        offset = net - self._first[place]
        if offset >= len(locals_):
            return f"buffered_{net}"
        return path + module.net_names[int(locals_[offset])]

    def driver(self, cell: Cell, net: int) -> Driver | None:
        """The driver of a net, which is a cell of this kind; None if that is in no module, as
        buffers of the flat design are."""
        outputs = [place for place, pin in enumerate(cell.pins) if pin in cell.outputs]
        row, column = np.argwhere(self.cells[cell.name][:, outputs] == net)[0].tolist()
        rows = self._rows.get(cell.name, [])
        place = bisect_right(rows, (row, len(self._owner))) - 1
        if place < 0:
            return None
        first, owner = rows[place]
        path, module, _ = self._owner[owner]
        pins = module.cells[cell.name]
        if row - first >= len(pins):
            return None
        inner = int(pins[row - first, outputs[column]])
        name = module.net_names[inner]
        return Driver(path.removesuffix("."), module.name, "" if name == f"net_{inner}" else name)

    def places(self) -> Iterator[Place]:
        """Yields the instances, parents before children."""
        owners = zip(self._owner, self._numbers, self._parent, strict=True)
        for (path, module, _), nets, parent in owners:
            yield Place(path, module, nets, parent)

    def instances(self) -> Counter[str]:
        """Counts the instances of each module."""
        return Counter(module.name for _, module, _ in self._owner)

    def owners(self, kind: str) -> list[tuple[int, str, int]]:
        """Returns for the cells of a kind, in order: the number of their instance, its module, and
        their number there. Buffers of the flat design come after all of these."""
        found = []
        for _, owner in self._rows.get(kind, []):
            module = self._owner[owner][1]
            found.append((owner, module.name, len(module.cells[kind])))
        return found

    def sample(self, most: int, always: Collection[str]) -> Kept:
        """Cells of some of the instances that are alike.

        Of the instances of a module in an instance that is kept, those that together have ``most``
        cells stay, and at least one; besides all that contain an instance of ``always``, which are
        named from the top. Buffers of the flat design stay.
        """
        size = [sum(map(len, module.cells.values())) for _, module, _ in self._owner]
        forced: set[int] = set()
        for number in range(len(size) - 1, 0, -1):
            parent = self._parent[number]
            size[parent] += size[number]
            if number in forced or self._owner[number][0].removesuffix(".") in always:
                forced |= {number, parent}
        kept = [True] * len(size)
        used: dict[tuple[int, str], int] = defaultdict(int)
        for number in range(1, len(size)):
            parent = self._parent[number]
            alike = parent, self._owner[number][1].name
            fits = not used[alike] or used[alike] + size[number] <= most
            kept[number] = kept[parent] and (fits or number in forced)
            used[alike] += size[number] * kept[number]
        masks = {}
        for kind, pins in self.cells.items():
            mask = np.ones(len(pins), dtype=bool)
            first = 0
            for owner, _, count in self.owners(kind):
                mask[first : first + count] = kept[owner]
                first += count
            masks[kind] = mask
        return masks


def _nets(bits: list[Any], numbers: dict[int, int]) -> Nets:
    return np.array(
        [numbers.setdefault(b, len(numbers)) if isinstance(b, int) else NONE for b in bits],
        dtype=np.int64,
    )


def _net_names(module: Mapping[str, Any], numbers: dict[int, int]) -> list[str]:
    names = [f"net_{number}" for number in range(len(numbers))]
    known = [False] * len(numbers)
    for name, wire in module["netnames"].items():
        for index, bit in enumerate(wire["bits"]):
            place = numbers.get(bit, NONE) if isinstance(bit, int) else NONE
            if place >= 0 and not known[place] and not wire.get("hide_name"):
                names[place] = f"{name}[{index}]" if len(wire["bits"]) > 1 else name
                known[place] = True
    return names


def _constant_bits(bits: list[Any]) -> Iterator[tuple[int, bool]]:
    """Yields place and value of the constant bits; one that is not defined is no constant."""
    for place, bit in enumerate(bits):
        if bit in ("0", "1"):
            yield place, bit == "1"


def _constant_pins(constants: Constants, cell: Cell, bits: list[Any], nets: Nets) -> None:
    """Note the constants at the pins of a cell."""
    pins = list(cell.pins)
    found = [(pins[place], value) for place, value in _constant_bits(bits)]
    if found:
        driven = [int(nets[place]) for place, pin in enumerate(pins) if cell.pins[pin].output]
        first = next((net for net in driven if net >= 0), NONE)
        constants.pins |= {(first, pin): value for pin, value in found}


def read_mapped(text: str, name: str, library: Library) -> MappedModule:
    """A module from the JSON that yosys wrote. Raises ValueError for a cell of neither kind."""
    modules = json.loads(text)["modules"]
    module = modules[name]
    numbers: dict[int, int] = {}
    ports = {
        port: (facts["direction"] == "output", _nets(facts["bits"], numbers))
        for port, facts in module["ports"].items()
    }
    rows: dict[str, list[Nets]] = defaultdict(list)
    children = []
    constants = Constants()
    for port, facts in module["ports"].items():
        for place, value in _constant_bits(facts["bits"]):
            constants.ports[port, place] = value
    for instance, cell in module["cells"].items():
        kind, pins = cell["type"], cell["connections"]
        if kind in library.cells:
            bits = [(pins.get(pin) or ["x"])[0] for pin in library.cells[kind].pins]
            rows[kind].append(_nets(bits, numbers))
            _constant_pins(constants, library.cells[kind], bits, rows[kind][-1])
        elif kind in modules:
            children.append((instance, kind, {p: _nets(b, numbers) for p, b in pins.items()}))
            for port, bits in pins.items():
                for place, value in _constant_bits(bits):
                    constants.children[instance, port, place] = value
        else:
            raise ValueError(f"`{name}` needs {kind}, for which the cell library has no cell")
    cells = {kind: np.array(found, dtype=np.int64) for kind, found in sorted(rows.items())}
    names = _net_names(module, numbers)
    return MappedModule(name, names, ports, cells, children, constants=constants)
