"""Energies of events: which table of the library tells what a change of a pin takes.

An event is a change of one input of a cell in a state of its pins, the one before it:

* An input takes the energy of its own group, the first whose ``when`` is true, or else of one
  without ``when``. Groups of a supply of 0 V (ASAP7 has such) deliver no energy.
* An output takes that of the group with the input that changes it as ``related_pin``, chosen in the
  same way; without one that of a group without ``related_pin``; without one the mean of all groups
  of the output. Tables of its edge, at the slew of the input's edge and at the load.
* A flip-flop's output changes by its clock, in the state before the edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..library.cells import Cell
from ..library.functions import parse_function
from ..library.power import CellPower, InternalPower
from .circuit import CellGroup

__all__ = ["Events", "Pins", "events_of"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
_Part = tuple[InternalPower, int, int]
"""A group, the edge of its pin and that of the pin whose slew counts; 0 rising, 1 falling."""

NO_SLOT = -1


@dataclass(frozen=True)
class Pins:
    """Slews and loads of the cells of a kind.

    Members
    -------
    slews: of each input pin in ns, (cells, 2), by edge
    loads: of each output pin in pF, the same
    """

    slews: dict[str, Floats]
    loads: dict[str, Floats]


@dataclass(frozen=True)
class Events:
    """The events of a kind of cells, as replay.cpp has them.

    Members
    -------
    slots: the groups whose mean energy each slot is
    passive: slot by input and state; active: by output, input and state
    leakage: in mW in each state
    truth: value of each output in each state
    """

    slots: tuple[tuple[_Part, ...], ...]
    passive: npt.NDArray[np.int16]
    active: npt.NDArray[np.int16]
    leakage: Floats
    truth: npt.NDArray[np.uint8]

    def energies(self, cell: Cell, pins: Pins) -> npt.NDArray[np.float32]:
        """The energy of each slot in pJ for each cell."""
        count = len(next(iter(pins.loads.values())))
        found = np.zeros((count, max(len(self.slots), 1)), np.float32)
        for place, parts in enumerate(self.slots):
            energy = sum((_energy(cell, part, pins) for part in parts), np.zeros(count))
            found[:, place] = energy / len(parts)
        return found


def _energy(cell: Cell, part: _Part, pins: Pins) -> Floats:
    group, edge, by = part
    table = group.tables[edge]
    some = next(iter(pins.loads.values()))
    if table is None:
        return np.zeros(len(some))
    source = group.related or group.pin
    slews = pins.slews[source][:, by] if source in pins.slews else np.zeros(len(some))
    output = cell.pins[group.pin].output
    loads = pins.loads[group.pin][:, edge] if output else np.zeros(len(some))
    return table.each(slews, loads)


class _Chooser:
    """Groups of a cell by event."""

    def __init__(self, group: CellGroup, power: CellPower) -> None:
        self.inputs, self.values = group.inputs, group.values()
        self.states = 1 << len(group.inputs)
        self.groups = [one for one in power.internal if one.volts]
        self.slots: dict[tuple[_Part, ...], int] = {}

    def true(self, when: str) -> Flags:
        """The states in which a condition is true."""
        return np.broadcast_to(parse_function(when).value(self.values), self.states)

    def slot(self, groups: Sequence[InternalPower], edge: int, by: int) -> int:
        parts = tuple((group, edge, by) for group in groups)
        return self.slots.setdefault(parts, len(self.slots)) if parts else NO_SLOT

    def choice(self, groups: Sequence[InternalPower]) -> list[list[InternalPower]]:
        """The groups in each state, one for each supply: the first whose condition is true, or the
        first without one."""
        found: list[list[InternalPower]] = [[] for _ in range(self.states)]
        for supply in dict.fromkeys(group.supply for group in groups):
            here = [group for group in groups if group.supply == supply]
            chosen = np.full(self.states, -1)
            for place, group in reversed([*enumerate(here)]):
                if not group.when:
                    chosen[:] = place
            for place, group in reversed([*enumerate(here)]):
                if group.when:
                    chosen[self.true(group.when)] = place
            for state in np.flatnonzero(chosen >= 0).tolist():
                found[state].append(here[chosen[state]])
        return found

    def passive(self, place: int) -> list[int]:
        """The slot of an input's change in each state."""
        pin = self.inputs[place]
        chosen = self.choice([group for group in self.groups if group.pin == pin])
        edges = self.values[pin].astype(int).tolist()
        return [self.slot(one, edge, edge) for one, edge in zip(chosen, edges, strict=True)]

    def active(self, pin: str, by: str, others: Flags) -> list[int]:
        """The slot of an output's change by an input in each state; ``others``: its value behind
        it."""
        groups = [group for group in self.groups if group.pin == pin]
        chosen = self.choice([group for group in groups if group.related == by])
        rest = self.choice([group for group in groups if not group.related])
        found = []
        for state in range(self.states):
            edge, other = int(not others[state]), int(self.values[by][state])
            some = chosen[state] or rest[state] or groups
            found.append(self.slot(some, edge, other))
        return found


def events_of(group: CellGroup, power: CellPower) -> Events:
    """The events of the cells of a kind."""
    chooser = _Chooser(group, power)
    states, count = chooser.states, len(group.inputs)
    flip_flop = group.flip_flop
    pins = [pin for pin in group.inputs if flip_flop is None or pin != flip_flop.state]
    passive = np.full((count, states), NO_SLOT, np.int16)
    active = np.full((len(group.cell.outputs), count, states), NO_SLOT, np.int16)
    for place in range(len(pins)):
        passive[place] = chooser.passive(place)
    for row, output in enumerate(group.cell.outputs):
        values = chooser.values[output]
        for place, pin in enumerate(pins):
            if flip_flop is None:
                active[row, place] = chooser.active(
                    output, pin, values[np.arange(states) ^ (1 << place)]
                )
            elif pin == flip_flop.clock:
                active[row, place] = chooser.active(output, pin, ~values)
    leakage = np.full(states, power.average_leakage or 0.0)
    for one in reversed(power.leakage):
        if not one.when:
            leakage[:] = one.power
    for one in reversed(power.leakage):
        if one.when:
            leakage[chooser.true(one.when)] = one.power
    truth = np.array([chooser.values[pin] for pin in group.cell.outputs], np.uint8)
    return Events(tuple(chooser.slots), passive, active, leakage, truth.reshape(-1, states))
