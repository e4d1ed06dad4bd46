"""Buffer trees on nets with many loads, such as enables and broadcast operands.

ABC buffers what it sees inside a module, but no net that crosses modules. So every net with more
than ``FANOUT_LIMIT`` loads, clocks excepted, gets a balanced tree of the library's buffer: real
cells, which count in the area and in the timing alike.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .library import INVERTER, Cell, Library
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


def add_buffers(netlist: Netlist, library: Library) -> tuple[Netlist, int, Cell | None]:
    """The netlist with its buffer trees, how many buffers they took, and which cell."""
    buffer = choose_buffer(library)
    if buffer is None:
        return netlist, 0, None
    cells = {kind: pins.copy() for kind, pins in netlist.cells.items()}
    nets, rows = netlist.nets, []
    clock = np.zeros(nets + 1, dtype=bool)
    clock[netlist.clock_nets] = True
    owners: list[tuple[str, int]] = []
    parts: list[tuple[Nets, Nets, Nets]] = []
    for kind, pins in cells.items():
        for column, pin in enumerate(library.cells[kind].pins.values()):
            if not pin.output:
                used = np.flatnonzero((pins[:, column] >= 0) & ~clock[pins[:, column]])
                parts.append((pins[used, column], np.full(len(used), len(owners)), used))
                owners.append((kind, column))
    if not parts:
        return netlist, 0, buffer
    net, owner, row = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(net, kind="stable")
    net, owner, row = net[order], owner[order], row[order]
    starts = np.flatnonzero(np.diff(net, prepend=-2))
    sizes = np.diff(starts, append=len(net))
    wide = sizes > FANOUT_LIMIT
    for start, size in zip(starts[wide].tolist(), sizes[wide].tolist(), strict=True):
        groups = -(-size // FANOUT_LIMIT)
        leaf = nets + np.arange(size) * groups // size
        for place in range(len(owners)):
            chosen = np.flatnonzero(owner[start : start + size] == place)
            if len(chosen):
                kind, column = owners[place]
                cells[kind][row[start + chosen], column] = leaf[chosen]
        level = list(range(nets, nets + groups))
        nets += groups
        while len(level) > FANOUT_LIMIT:
            above = -(-len(level) // FANOUT_LIMIT)
            rows += [(nets + i * above // len(level), n) for i, n in enumerate(level)]
            level = list(range(nets, nets + above))
            nets += above
        rows += [(int(net[start]), n) for n in level]
    if rows:
        pairs = np.array(rows, dtype=np.int64)
        if buffer.pins[next(iter(buffer.pins))].output:
            pairs = pairs[:, ::-1]
        old = cells.get(buffer.name)
        cells[buffer.name] = pairs if old is None else np.concatenate([old, pairs])
    return replace(netlist, nets=nets, cells=cells), len(rows), buffer
