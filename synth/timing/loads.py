"""Loads of the nets at modules' boundaries, by pins inside and outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from ..base.memo import Memo
from ..library.cells import INVERTER, Library
from ..mapping.netlist import Loads, MappedModule, Nets

__all__ = ["ALIKE", "Joints", "all_loads", "boundary_loads", "joints_of", "outside_loads",
           "pin_loads"]  # fmt: skip

Flags = npt.NDArray[np.bool_]
Joints = list[tuple[str, str, Nets]]
"""The children of a module: instance, module, the parent's nets at its boundary."""

ALIKE = 1e-12
"""Difference of loads in pF that is none."""


def pin_loads(cells: Mapping[str, Nets], library: Library, nets: int) -> Loads:
    """The loads of nets by the input pins of cells."""
    found = Loads.none(nets)
    for kind, pins in cells.items():
        for column, pin in enumerate(library.cells[kind].pins.values()):
            if not pin.output:
                size = len(pins)
                load = Loads(np.ones(size, dtype=np.int64), np.tile(pin.capacitance, (size, 1)))
                found.add(pins[:, column], load)
    return found


def all_loads(
    modules: Mapping[str, MappedModule], order: Sequence[str], library: Library, memo: Memo
) -> dict[str, Loads]:
    """The loads of all nets of each module by pins in there and in its children."""
    found: dict[str, Loads] = {}

    def make(module: MappedModule) -> Loads:
        loads = pin_loads(module.cells, library, len(module.net_names))
        own = np.arange(len(module.net_names))
        loads.add(own, pin_loads(module.buffers, library, len(own)))
        for _, child, connections in module.children:
            inside = modules[child]
            loads.add(inside.outside(connections), found[child].at(inside.boundary))
        return loads

    for name in order:
        module = modules[name]
        inside = (found[child] for _, child, _ in module.children)
        found[name] = memo((module, *inside), ("loads",), partial(make, module))
    return found


def boundary_loads(
    modules: Mapping[str, MappedModule], order: Sequence[str], library: Library, memo: Memo
) -> dict[str, Loads]:
    """The loads that each module has inside, at its ``boundary``.

    ``modules``: joined through (``joined_through``), in ``order`` children before parents.
    """
    found = all_loads(modules, order, library, memo)
    return {name: loads.at(modules[name].boundary) for name, loads in found.items()}


def joints_of(module: MappedModule, inside: Sequence[MappedModule]) -> Joints:
    """The children of a module: instance, module, nets at its boundary."""
    return [
        (instance, child, within.outside(connections))
        for within, (instance, child, connections) in zip(inside, module.children, strict=True)
    ]


def outside_loads(
    modules: Mapping[str, MappedModule],
    order: Sequence[str],
    joints: Mapping[str, Joints],
    loads: Mapping[str, Loads],
    library: Library,
) -> tuple[dict[str, Loads], dict[str, Flags]]:
    """The loads that the nets of each module's boundary have outside, the largest of all
    instances, and which of them are not the same in all."""
    found = {name: Loads.none(len(m.boundary)) for name, m in modules.items()}
    varies = {name: np.zeros(len(m.boundary), dtype=bool) for name, m in modules.items()}
    seen: set[str] = set()
    top = modules[order[-1]]
    inverter = library.smallest(1, INVERTER)
    if inverter is not None:
        each = 4 * np.array(inverter.pins[inverter.inputs[0]].capacitance)
        for out, nets in top.ports.values():
            places = np.searchsorted(top.boundary, nets[nets >= 0])
            size = len(places) * out
            load = Loads(np.ones(size, dtype=np.int64), np.tile(each, (size, 1)))
            found[top.name].add(places[:size], load)
    for name in reversed(order):
        whole = Loads(*(part.copy() for part in vars(loads[name]).values()))
        whole.add(modules[name].boundary, found[name])
        vary = np.zeros(len(whole.pins), dtype=bool)
        vary[modules[name].boundary] = varies[name]
        for _, child, outer in joints[name]:
            inside, most = loads[child].at(modules[child].boundary), found[child]
            pins = np.where(outer >= 0, whole.pins[outer] - inside.pins, 0)
            capacitance = whole.capacitance[outer] - inside.capacitance
            capacitance[outer < 0] = 0.0
            same = np.isclose(capacitance, most.capacitance, rtol=0, atol=ALIKE).all(axis=1)
            inherited = np.append(vary, False)[outer]
            varies[child] |= inherited
            if child in seen:
                varies[child] |= ~same | (pins != most.pins)
            seen.add(child)
            np.maximum(most.pins, pins, out=most.pins)
            np.maximum(most.capacitance, capacitance, out=most.capacitance)
    return found, varies
