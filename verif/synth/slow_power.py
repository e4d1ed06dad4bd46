"""A slow model of the power of a netlist, event by event, from the functions of its cells."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from tilewright.synth.library.cells import evaluate
from tilewright.synth.library.power import InternalPower
from tilewright.synth.power.measure import PoweredNetlist
from tilewright.verif.synth.powered_library import CYCLES


class _Slow:
    """Values of all nets by evaluating functions, and energies event by event."""

    def __init__(self, netlist: PoweredNetlist) -> None:
        self.whole, self.cells = netlist, []
        for kind, pins in netlist.netlist.cells.items():
            cell = netlist.library.cells[kind]
            for row in pins.tolist():
                self.cells.append((cell, dict(zip(cell.pins, row, strict=True))))

    def values(self, known: dict[int, bool]) -> dict[int, bool]:
        """The value of each net from those that are known; a pin without a net is low."""
        values, waiting = {-1: False, **known}, list(self.cells)
        while waiting:
            later = []
            for cell, nets in waiting:
                if cell.sequential:
                    continue
                inputs = {pin: nets[pin] for pin in cell.inputs}
                if any(net not in values for net in inputs.values()):
                    later.append((cell, nets))
                    continue
                state = {pin: values[net] for pin, net in inputs.items()}
                for pin in cell.outputs:
                    values[nets[pin]] = evaluate(cell.pins[pin].function, state)
            assert len(later) < len(waiting)
            waiting = later
        return values

    def energy(self, group: InternalPower, nets: dict[str, int], edge: int, by: int) -> float:
        """Energy of one group."""
        times, clocks = self.whole.times, self.whole.netlist.clock_nets
        net = nets[group.related or group.pin]
        slew = times.graph.clock_slew if net in clocks else times.slew[2 * net + by]
        driven = nets[group.pin] >= 0 and group.related
        load = times.graph.load[2 * nets[group.pin] + edge] if driven else 0.0
        table = group.tables[edge]
        assert table is not None
        return table.at(float(slew) if net >= 0 else 0.0, float(load))

    def chosen(
        self, groups: list[InternalPower], state: Mapping[str, bool]
    ) -> InternalPower | None:
        fitting = [one for one in groups if one.when and evaluate(one.when, state)]
        fitting += [one for one in groups if not one.when]
        return fitting[0] if fitting else None

    def pin(self, kind: str, pin: str, related: str = "") -> list[InternalPower]:
        groups = self.whole.power.cells[kind].internal
        return [one for one in groups if one.pin == pin and one.related == related]

    def passive(
        self, kind: str, nets: dict[str, int], pin: str, state: Mapping[str, bool]
    ) -> float:
        group, edge = self.chosen(self.pin(kind, pin), state), int(state[pin])
        return self.energy(group, nets, edge, edge) if group else 0.0

    def active(
        self, kind: str, nets: dict[str, int], change: tuple[str, str, bool],
        state: Mapping[str, bool],
    ) -> float:  # fmt: skip
        """An output is changed by an input to a value."""
        output, by, value = change
        group = self.chosen(self.pin(kind, output, by), state)
        all_ = [one for one in self.whole.power.cells[kind].internal if one.pin == output]
        groups = [group] if group else self.pin(kind, output) or all_
        edge = int(not value), int(state[by])
        energies = [self.energy(one, nets, *edge) for one in groups]
        return sum(energies) / max(len(energies), 1)


def expected_sums(
    netlist: PoweredNetlist, signals: Mapping[str, tuple[int, list[int]]]
) -> dict[str, float]:
    """Sums over all cells: changes of nets, switching and internal energy, leakage."""
    slow = _Slow(netlist)
    orders = {kind: netlist.order(group).tolist() for kind, group in netlist.circuit.groups.items()}
    names = {netlist.netlist.name(net): net for net in range(netlist.netlist.nets)}
    history = []
    for cycle in range(CYCLES):
        known = {}
        for name, (width, values) in signals.items():
            for bit in range(width):
                known[names[f"{name}[{bit}]" if width > 1 else name]] = bool(
                    values[cycle] >> bit & 1
                )
        history.append(slow.values(known))
    found = {"toggles": 0.0, "switching": 0.0, "internal": 0.0, "leaked": 0.0}
    loads = netlist.times.graph.load
    for before, after in pairwise(history):
        found["toggles"] += sum(before[n] != after[n] for n in after if n >= 0)
        places: dict[str, int] = {}
        for cell, nets in slow.cells:
            place = places[cell.name] = places.get(cell.name, -1) + 1
            state = {pin: before.get(net, False) for pin, net in nets.items()}
            goal = {pin: after.get(net, False) for pin, net in nets.items()}
            outputs = [pin for pin in cell.outputs if state[pin] != goal[pin]]
            load = [loads[2 * nets[pin] : 2 * nets[pin] + 2].mean() for pin in outputs]
            found["switching"] += 0.5 * 0.9**2 * sum(load)
            internal = 0.0
            last: dict[str, tuple[str, dict[str, bool]]] = {}
            if cell.sequential:
                clock = cell.clock
                state[clock] = False
                internal += slow.passive(cell.name, nets, clock, state)
                for pin in outputs:
                    change = pin, clock, goal[pin]
                    internal += slow.active(cell.name, nets, change, state)
                state |= {pin: goal[pin] for pin in cell.outputs} | {clock: True}
            inputs = [pin for pin in cell.inputs if pin != cell.clock]
            columns = list(cell.inputs)
            for column in orders[cell.name][place]:
                if column >= len(columns) or columns[column] not in inputs:
                    continue
                pin = columns[column]
                if state[pin] == goal[pin]:
                    continue
                internal += slow.passive(cell.name, nets, pin, state)
                following = {**state, pin: goal[pin]}
                for output in () if cell.sequential else cell.outputs:
                    function = cell.pins[output].function
                    if evaluate(function, following) != evaluate(function, state):
                        last[output] = pin, dict(state)
                state = following
            if not cell.sequential:
                for pin in outputs:
                    by, then = last[pin]
                    internal += slow.active(cell.name, nets, (pin, by, goal[pin]), then)
            found["internal"] += internal
            power = netlist.power.cells[cell.name]
            if cell.sequential:
                internal = slow.passive(cell.name, nets, cell.clock, {**state, cell.clock: True})
                found["internal"] += internal
            states = [{**goal, cell.clock: value} for value in (False, True)]
            for one in states if cell.sequential else [goal]:
                fitting = [leak.power for leak in power.leakage if evaluate(leak.when, one)]
                fitting.append(power.average_leakage or 0.0)
                found["leaked"] += fitting[0] / (1 + cell.sequential)
    return found
