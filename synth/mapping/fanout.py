"""Buffer trees on nets with many loads, such as enables and broadcast operands.

ABC buffers what it sees inside a module, but no net that crosses modules. So every net with more
than ``FANOUT_LIMIT`` loads, clocks excepted, gets a balanced tree of the library's buffer: real
cells, which count in the area and in the timing alike.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..library.cells import INVERTER, Cell, Library
from .netlist import Netlist, Nets

__all__ = ["FANOUT_LIMIT", "add_buffers", "choose_buffer"]

FANOUT_LIMIT = 16


def choose_buffer(library: Library) -> Cell | None:
    """The buffer with the smallest product of area and delay at ``FANOUT_LIMIT`` inverters."""
    inverter = library.smallest(1, INVERTER)
    if inverter is None:
        return None
    load = FANOUT_LIMIT * max(inverter.pins[inverter.inputs[0]].capacitance)

    def cost(cell: Cell) -> tuple[float, str]:
        arc = cell.arcs[0]
        assert arc.slew is not None
        slew = max(table.at(0.0, load / FANOUT_LIMIT) for table in arc.slew)
        return cell.area * max(table.at(slew, load) for table in arc.delay), cell.name

    buffers = [
        cell
        for cell in library.cells.values()
        if cell.usable and len(cell.pins) == 2 and cell.arcs
        and any(cell.truth(pin) == (False, True) for pin in cell.outputs)
    ]  # fmt: skip
    return min(buffers, key=cost, default=None)


def _sinks(netlist: Netlist, library: Library) -> tuple[Nets, Nets, list[tuple[str, int, Nets]]]:
    """Input pins that a buffer may drive, sorted by net: the net of each, its number among all
    such pins, and those in groups of (cell, column, rows), numbered in order."""
    clock = np.zeros(netlist.nets + 1, dtype=bool)
    clock[netlist.clock_nets] = True
    groups, nets = [], [np.zeros(0, dtype=np.int64)]
    for kind, pins in netlist.cells.items():
        for column, pin in enumerate(library.cells[kind].pins.values()):
            if not pin.output:
                rows = np.flatnonzero((pins[:, column] >= 0) & ~clock[pins[:, column]])
                groups.append((kind, column, rows))
                nets.append(pins[rows, column])
    net = np.concatenate(nets)
    order = np.argsort(net, kind="stable")
    return net[order], order, groups


def _tree(net: int, sinks: int, first: int) -> tuple[Nets, list[tuple[int, int]]]:
    """A balanced tree on a net: the new net of each sink, and the (input, output) of each buffer.

    New nets are numbered from ``first``.
    """
    count = -(-sinks // FANOUT_LIMIT)
    leaves = first + np.arange(sinks) * count // sinks
    level, following = list(range(first, first + count)), first + count
    buffers: list[tuple[int, int]] = []
    while len(level) > FANOUT_LIMIT:
        above = -(-len(level) // FANOUT_LIMIT)
        buffers += [(following + i * above // len(level), n) for i, n in enumerate(level)]
        level, following = list(range(following, following + above)), following + above
    return leaves, buffers + [(net, n) for n in level]


def add_buffers(netlist: Netlist, library: Library) -> tuple[Netlist, int, Cell | None]:
    """The netlist with its buffer trees, how many buffers they took, and which cell."""
    buffer = choose_buffer(library)
    if buffer is None:
        return netlist, 0, None
    net, order, groups = _sinks(netlist, library)
    starts = np.flatnonzero(np.diff(net, prepend=-2))
    sizes = np.diff(starts, append=len(net))
    wide = sizes > FANOUT_LIMIT
    driven = net.copy()
    rows: list[tuple[int, int]] = []
    for start, size in zip(starts[wide].tolist(), sizes[wide].tolist(), strict=True):
        leaves, added = _tree(int(net[start]), size, netlist.nets + len(rows))
        driven[start : start + size] = leaves
        rows += added
    if not rows:
        return netlist, 0, buffer
    unsorted = np.empty_like(driven)
    unsorted[order] = driven
    cells = {kind: pins.copy() for kind, pins in netlist.cells.items()}
    place = 0
    for kind, column, used in groups:
        cells[kind][used, column] = unsorted[place : place + len(used)]
        place += len(used)
    pairs = np.array(rows, dtype=np.int64)
    if next(iter(buffer.pins.values())).output:
        pairs = pairs[:, ::-1]
    old = cells.get(buffer.name)
    cells[buffer.name] = pairs if old is None else np.concatenate([old, pairs])
    return replace(netlist, nets=netlist.nets + len(rows), cells=cells), len(rows), buffer
