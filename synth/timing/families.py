"""Cells of a library that differ in their size alone."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..library.cells import Arc, Cell, Library, Table

__all__ = ["ArcKey", "Family", "families", "merged_arcs"]


class ArcKey(NamedTuple):
    """Names of an arc's pins, its kind, and its edges at its source and its target."""

    source: str
    target: str
    kind: str
    before: int
    after: int


@dataclass(frozen=True, eq=False)
class Family:
    """Cells with the same pins, functions and arcs, the smallest first.

    Members
    -------
    pins: names in the order of the first cell
    arcs: of each member, a delay and a slew table for each key; the slew table of a setup time is
        that of the delay
    """

    members: tuple[Cell, ...]
    pins: tuple[str, ...]
    keys: tuple[ArcKey, ...]
    arcs: tuple[dict[ArcKey, tuple[Table, Table]], ...]


def _highest(tables: list[Table]) -> Table:
    """The table that is nowhere below any of these, at the points of the first."""
    first, *rest = tables
    values = first.values
    for table in rest:
        axes = (table.rows, first.rows), (table.columns, first.columns)
        if all(np.array_equal(*pair) for pair in axes):
            values = np.maximum(values, table.values)
        else:
            points = np.meshgrid(first.rows, first.columns, indexing="ij")
            found = table.each(*(axis.ravel() for axis in points))
            values = np.maximum(values, found.reshape(values.shape))
    return replace(first, values=values)


def _arcs(cell: Cell) -> dict[ArcKey, tuple[Table, Table]]:
    """The arcs of a cell by edges, those of several conditions as one."""
    found: dict[ArcKey, list[tuple[Table, Table]]] = defaultdict(list)
    for arc in cell.arcs:
        edges = ((0, 0), (0, 1)) if arc.kind == "setup" else arc.edges
        for before, after in edges:
            slew = arc.slew or arc.delay
            key = ArcKey(arc.source, arc.target, arc.kind, before, after)
            found[key].append((arc.delay[after], slew[after]))
    return {
        key: (_highest([pair[0] for pair in pairs]), _highest([pair[1] for pair in pairs]))
        for key, pairs in sorted(found.items())
    }


def families(library: Library) -> dict[str, tuple[Family, int]]:
    """The family of each cell, and its place there.

    A family's cells grow in drive with their area. A cell that is not usable is alone, and so is
    one that is larger than another but not stronger, such as a delay cell.
    """
    groups: dict[object, list[tuple[Cell, dict[ArcKey, tuple[Table, Table]]]]] = defaultdict(list)
    for cell in library.cells.values():
        arcs = _arcs(cell)
        pins = tuple(sorted((pin.name, pin.output, pin.function) for pin in cell.pins.values()))
        alike = (pins, cell.state, cell.clock, tuple(arcs))
        groups[alike if cell.usable else cell.name].append((cell, arcs))
    found: dict[str, tuple[Family, int]] = {}
    for group in groups.values():
        group.sort(key=lambda pair: (pair[0].area, pair[0].name))
        stronger: list[tuple[Cell, dict[ArcKey, tuple[Table, Table]]]] = []
        for pair in group:
            if not stronger or _weakness(pair[1]) < _weakness(stronger[-1][1]):
                stronger.append(pair)
        for each in [stronger, *([pair] for pair in group if pair not in stronger)]:
            first, keys = each[0]
            members, tables = (tuple(column) for column in zip(*each, strict=True))
            family = Family(members, tuple(first.pins), tuple(keys), tables)
            found |= {cell.name: (family, place) for place, (cell, _) in enumerate(each)}
    return found


def merged_arcs(library: Library) -> Library:
    """The library with one arc for each pair of edges, in place of one for each condition."""
    cells = {}
    for name, cell in library.cells.items():
        found = _arcs(cell)
        arcs = []
        for key, (delay, slew) in found.items():
            names, edges = key[:3], ((key.before, key.after),)
            if key.kind != "setup":
                arcs.append(Arc(*names, edges, (delay, delay), (slew, slew)))
            elif key.after == 0:
                falling, _ = found[key._replace(after=1)]
                arcs.append(Arc(*names, edges, (delay, falling), None))
        cells[name] = replace(cell, arcs=tuple(arcs))
    return replace(library, cells=cells)


def _weakness(arcs: dict[ArcKey, tuple[Table, Table]]) -> float:
    """Returns the growth of a cell's delay with its load, in ns/pF, at its slowest arc."""
    found = [0.0]
    for key, (table, _) in arcs.items():
        if key.kind != "setup" and len(table.columns) > 1:
            growth = table.values[:, -1] - table.values[:, 0]
            found.append(float(growth.max() / (table.columns[-1] - table.columns[0])))
    return max(found)
