"""Buffer trees inside the modules of a design that is too large to be put together.

They are those of :mod:`.fanout`, but each is in one module: a net with more than ``FANOUT_LIMIT``
loads gets a tree in the module where they come together. A child's port counts as many loads as it
has pins inside, behind the child's own buffers. So a buffer drives pins of one instance and those
inside, and all instances of a module stay alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from ..base.memo import Memo
from ..library.cells import Cell, Library
from .fanout import FANOUT_LIMIT, choose_buffer
from .netlist import NONE, MappedModule, Nets

__all__ = ["buffered"]


Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Boundary:
    """For each net of a module's boundary: the number of loads inside, whether it is a clock, and
    whether it is an output, which is driven inside."""

    loads: Nets
    clock: Flags
    output: Flags


def _groups(sizes: Sequence[int]) -> list[list[int]]:
    """Loads in groups of at most ``FANOUT_LIMIT``, by their places; a larger one is alone."""
    if all(size == 1 for size in sizes):
        count = -(-len(sizes) // FANOUT_LIMIT)
        groups: list[list[int]] = [[] for _ in range(count)]
        for place in range(len(sizes)):
            groups[place * count // len(sizes)].append(place)
        return groups
    groups = []
    filled: list[int] = []
    for place in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
        for group, full in enumerate(filled):
            if full + sizes[place] <= FANOUT_LIMIT:
                groups[group].append(place)
                filled[group] += sizes[place]
                break
        else:
            groups.append([place])
            filled.append(sizes[place])
    return groups


class _Buffering:
    """The loads of a module's nets, and the trees on those with many."""

    def __init__(
        self,
        module: MappedModule,
        library: Library,
        modules: Mapping[str, MappedModule],
        boundaries: Mapping[str, _Boundary],
    ) -> None:
        self.module, self.library, self._modules = module, library, modules
        self.nets = len(module.net_names)
        self.clock = np.zeros(self.nets + 1, dtype=bool)
        self.driven = np.zeros(self.nets, dtype=np.int64)
        self._attached: list[tuple[str, Nets]] = []
        for kind, pins in module.cells.items():
            cell = library.cells[kind]
            if cell.clock:
                self.clock[pins[:, list(cell.pins).index(cell.clock)]] = True
        for _, child, connections in module.children:
            nets = modules[child].outside(connections)
            self._attached.append((child, nets))
            self.clock[nets[boundaries[child].clock]] = True
        self.clock[-1] = False
        self._collect(boundaries)

    def _collect(self, boundaries: Mapping[str, _Boundary]) -> None:
        """List the loads: net, size, and place: (kind, column, row) or (child, boundary net)."""
        nets, sizes = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        self._places: list[tuple[str, int, Nets]] = []
        for kind, pins in self.module.cells.items():
            for column, pin in enumerate(self.library.cells[kind].pins.values()):
                if not pin.output:
                    rows = np.flatnonzero((pins[:, column] >= 0) & ~self.clock[pins[:, column]])
                    nets.append(pins[rows, column])
                    sizes.append(np.ones_like(rows))
                    self._places.append((kind, column, rows))
        for number, (child, outer) in enumerate(self._attached):
            inner = boundaries[child]
            used = (outer >= 0) & (inner.loads > 0) & ~self.clock[outer]
            inside = used & inner.output
            np.add.at(self.driven, outer[inside], inner.loads[inside])
            rows = np.flatnonzero(used & ~inner.output)
            nets.append(outer[rows])
            sizes.append(inner.loads[rows])
            self._places.append(("", number, rows))
        self.net, self.size = np.concatenate(nets), np.concatenate(sizes)

    def run(self, buffer: Cell | None) -> tuple[MappedModule, _Boundary]:
        """The module with its trees, and what its parents see of it."""
        module = self.module
        loads = self.driven + np.bincount(self.net, self.size, self.nets).astype(np.int64)
        rows: list[tuple[int, int]] = []
        driven = self.net.copy()
        if buffer is not None:
            order = np.argsort(self.net, kind="stable")
            starts = np.searchsorted(self.net[order], np.arange(self.nets + 1))
            for net in np.flatnonzero(loads > FANOUT_LIMIT).tolist():
                sinks = order[starts[net] : starts[net + 1]]
                if len(sinks):
                    loads[net] = self._tree(net, sinks, driven, rows)
        if rows:
            module = self._rewired(driven, rows, buffer)
        boundary = self.module.boundary
        output = np.ones(self.nets + 1, dtype=bool)
        for out, nets in self.module.ports.values():
            output[nets] &= out
        return module, _Boundary(loads[boundary], self.clock[boundary], output[boundary])

    def _tree(self, net: int, sinks: Nets, driven: Nets, rows: list[tuple[int, int]]) -> int:
        """Add a tree on a net; returns the loads that the net has then."""
        base = int(self.driven[net])
        items = _groups(self.size[sinks].tolist())
        level = []
        for group in items:
            new = self.nets + len(rows)
            driven[sinks[group]] = new
            rows.append((net, new))
            level.append(len(rows) - 1)
        while base + len(level) > FANOUT_LIMIT and len(level) > 1:
            above = []
            for group in _groups([1] * len(level)):
                new = self.nets + len(rows)
                for member in group:
                    rows[level[member]] = (new, rows[level[member]][1])
                rows.append((net, new))
                above.append(len(rows) - 1)
            level = above
        return base + len(level)

    def _rewired(
        self, driven: Nets, rows: list[tuple[int, int]], buffer: Cell | None
    ) -> MappedModule:
        assert buffer is not None
        module = self.module
        cells = {kind: pins.copy() for kind, pins in module.cells.items()}
        children = [
            (instance, child, {port: nets.copy() for port, nets in connections.items()})
            for instance, child, connections in module.children
        ]
        first = 0
        for kind, column, used in self._places:
            now = driven[first : first + len(used)]
            first += len(used)
            if kind:
                cells[kind][used, column] = now
                continue
            new = now >= self.nets
            _, child, connections = children[column]
            numbers = np.full(len(self._modules[child].net_names) + 1, NONE)
            numbers[self._modules[child].boundary[used[new]]] = now[new]
            for port, (_, inner) in self._modules[child].ports.items():
                if port in connections:
                    moved = numbers[inner]
                    connections[port] = np.where(moved >= 0, moved, connections[port])
        pairs = np.array(rows, dtype=np.int64)
        if next(iter(buffer.pins.values())).output:
            pairs = pairs[:, ::-1]
        names = [*module.net_names, *(f"net_{self.nets + n}" for n in range(len(rows)))]
        return replace(
            module, net_names=names, cells=cells, children=children, buffers={buffer.name: pairs}
        )


def buffered(
    modules: Mapping[str, MappedModule], order: Sequence[str], library: Library, memo: Memo
) -> dict[str, MappedModule]:
    """The modules with their buffer trees.

    ``modules``: joined through (``joined_through``), in ``order`` children before parents.
    """
    buffer = choose_buffer(library)
    found: dict[str, MappedModule] = {}
    boundaries: dict[str, _Boundary] = {}
    for name in order:
        module = modules[name]
        work = partial(_buffered, module, library, found, boundaries, buffer)
        inside = tuple(found[child] for _, child, _ in module.children)
        found[name], boundaries[name] = memo((module, *inside), ("buffered",), work)
    return found


def _buffered(
    module: MappedModule,
    library: Library,
    modules: Mapping[str, MappedModule],
    boundaries: Mapping[str, _Boundary],
    buffer: Cell | None,
) -> tuple[MappedModule, _Boundary]:
    return _Buffering(module, library, modules, boundaries).run(buffer)
