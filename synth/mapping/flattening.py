"""Mapped modules put together to one netlist, or to a sample of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from ..base.memo import Memo
from ..library.cells import Library
from .netlist import NONE, Loads, MappedModule, Netlist, Nets

__all__ = ["Sample", "flatten", "joined_through"]


@dataclass(frozen=True)
class Sample:
    """The instances that a netlist has; the others are loads alone.

    Of the instances of a module in an instance that it has, it has those that together have
    ``most`` cells, and at least one; besides all that contain an instance of ``always``, which are
    named from the top.

    Members
    -------
    loads: loads of each module, at its ``boundary``
    sizes: number of cells of each module, with those inside its children
    """

    most: int
    always: Collection[str]
    loads: Mapping[str, Loads]
    sizes: Mapping[str, int]

    @cached_property
    def forced(self) -> frozenset[str]:
        """The instances of ``always`` and those that contain one."""
        names = [name.split(".") for name in self.always]
        return frozenset(".".join(n[: k + 1]) for n in names for k in range(len(n)))


class _Flattener:
    def __init__(
        self, modules: Mapping[str, MappedModule], library: Library, sample: Sample | None
    ) -> None:
        self.modules = modules
        self.library = library
        self.sample = sample
        self.left_out: list[tuple[Nets, Loads]] = []
        self.buffers: dict[str, list[Nets]] = defaultdict(list)
        self.nets = 0
        self.aliases: dict[int, int] = {}
        self.cells: dict[str, list[Nets]] = defaultdict(list)
        self.count: dict[str, int] = defaultdict(int)
        self.rows: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self.first: list[int] = []
        self.owner: list[tuple[str, MappedModule, Nets]] = []
        self.parent: list[int] = []
        self.numbers: list[Nets] = []

    def root(self, net: int) -> int:
        while net in self.aliases:
            net = self.aliases[net]
        return net

    def place(
        self, name: str, path: str, outside: Mapping[str, Nets], parent: int
    ) -> dict[str, Nets]:
        """Add an instance whose ports have the given nets; returns its ports' nets."""
        module = self.modules[name]
        numbers = np.full(len(module.net_names) + 1, NONE, dtype=np.int64)
        for port, (_, inner) in module.ports.items():
            if port not in outside:
                continue
            outer = outside[port]
            valid = (inner >= 0) & (outer >= 0)
            inner, outer = inner[valid], outer[valid]
            fresh = numbers[inner] < 0
            numbers[inner[fresh]] = outer[fresh]
            for have, want in zip(numbers[inner].tolist(), outer.tolist(), strict=True):
                if have != want:
                    have, want = self.root(have), self.root(want)
                    if have != want:
                        self.aliases[want] = have
        missing = np.flatnonzero(numbers[:-1] < 0)
        numbers[missing] = self.nets + np.arange(len(missing))
        self.first.append(self.nets)
        own = len(self.owner)
        self.owner.append((path, module, missing))
        self.parent.append(parent)
        self.numbers.append(numbers[:-1])
        self.nets += len(missing)
        for kind, pins in module.cells.items():
            self.cells[kind].append(numbers[pins])
            self.rows[kind].append((self.count[kind], own))
            self.count[kind] += len(pins)
        for kind, pins in module.buffers.items():
            self.buffers[kind].append(numbers[pins])
        used: dict[str, int] = defaultdict(int)
        for instance, child, connections in module.children:
            if self.sample is not None:
                size, most = self.sample.sizes[child], self.sample.most
                fits = not used[child] or used[child] + size <= most
                if not fits and f"{path}{instance}" not in self.sample.forced:
                    nets = numbers[self.modules[child].outside(connections)]
                    self.left_out.append((nets, self.sample.loads[child]))
                    continue
                used[child] += size
            inside = {port: numbers[nets] for port, nets in connections.items()}
            self.place(child, f"{path}{instance}.", inside, own)
        return {port: numbers[nets] for port, (_, nets) in module.ports.items()}

    def loads(self) -> Loads | None:
        """The loads by instances that are left out."""
        if not self.left_out:
            return None
        found = Loads.none(self.nets)
        for nets, loads in self.left_out:
            found.add(nets, loads)
        return found

    def clock_nets(self, cells: Mapping[str, Nets]) -> Nets:
        found = [np.zeros(0, dtype=np.int64)]
        for kind, pins in cells.items():
            cell = self.library.cells[kind]
            if cell.clock:
                found.append(pins[:, list(cell.pins).index(cell.clock)])
        return np.unique(np.concatenate(found))


def flatten(
    modules: Mapping[str, MappedModule], top: str, library: Library, sample: Sample | None = None
) -> Netlist:
    """The design below ``top`` as one netlist, or a sample of its instances.

    The buffers of the modules come behind all other cells of their kind. Modules of which a sample
    is taken are joined through (``joined_through``).
    """
    work = _Flattener(modules, library, sample)
    ports = work.place(top, "", {}, 0)
    for kind, parts in work.buffers.items():
        work.cells[kind] += parts
    cells = {kind: np.concatenate(parts) for kind, parts in sorted(work.cells.items())}
    if work.aliases:
        roots = np.arange(work.nets + 1, dtype=np.int64)
        roots[-1] = NONE
        for net in work.aliases:
            roots[net] = work.root(net)
        cells = {kind: roots[pins] for kind, pins in cells.items()}
        ports = {port: roots[nets] for port, nets in ports.items()}
        work.numbers = [roots[nets] for nets in work.numbers]
    outputs = {port: ports[port] for port, (out, _) in modules[top].ports.items() if out}
    inputs = {port: nets for port, nets in ports.items() if port not in outputs}
    clocks = work.clock_nets(cells)
    places = work.rows, work.first, work.owner, work.parent, work.numbers
    return Netlist(work.nets, cells, inputs, outputs, clocks, work.loads(), None, *places)


def joined_through(
    modules: Mapping[str, MappedModule], order: Sequence[str], memo: Memo
) -> dict[str, MappedModule]:
    """The modules with nets of a parent joined that are one net inside a child.

    Such a net goes from an input of the child to an output, or to two outputs. ``order``: children
    before parents.
    """
    found: dict[str, MappedModule] = {}
    for name in order:
        module = modules[name]
        inside = tuple(found[child] for _, child, _ in module.children)
        found[name] = memo((module, *inside), ("joined",), partial(_joined, module, inside, memo))
    return found


def _joined(module: MappedModule, inside: Sequence[MappedModule], memo: Memo) -> MappedModule:
    joints: dict[int, int] = {}

    def root(net: int) -> int:
        while net in joints:
            net = joints[net]
        return net

    for child, (_, _, connections) in zip(inside, module.children, strict=True):
        seen: dict[int, int] = {}
        for port, bit in memo((child,), ("shared",), partial(_shared, child)):
            inner = int(child.ports[port][1][bit])
            outer = int(connections[port][bit]) if port in connections else NONE
            if outer >= 0:
                have, want = root(seen.setdefault(inner, outer)), root(outer)
                if have != want:
                    joints[want] = have
    if not joints:
        return module
    numbers = np.arange(len(module.net_names) + 1)
    numbers[-1] = NONE
    for net in joints:
        numbers[net] = root(net)
    return replace(
        module,
        ports={port: (out, numbers[nets]) for port, (out, nets) in module.ports.items()},
        cells={kind: numbers[pins] for kind, pins in module.cells.items()},
        children=[
            (instance, child, {port: numbers[nets] for port, nets in nets_of.items()})
            for instance, child, nets_of in module.children
        ],
        constants=replace(
            module.constants,
            pins={(int(numbers[net]), pin): v for (net, pin), v in module.constants.pins.items()},
        ),
    )


def _shared(module: MappedModule) -> list[tuple[str, int]]:
    """The port bits of a module that share their net with another one."""
    places = [(port, bit) for port, (_, nets) in module.ports.items() for bit in range(len(nets))]
    nets = np.concatenate([np.zeros(0, np.int64), *(nets for _, nets in module.ports.values())])
    _, inverse, counts = np.unique(nets, return_inverse=True, return_counts=True)
    return [places[i] for i in np.flatnonzero((counts[inverse] > 1) & (nets >= 0)).tolist()]
