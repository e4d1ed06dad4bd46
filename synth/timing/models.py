"""Timing of a whole design from models of its different modules.

A module's model is its netlist, models of its children put in, without all that no instance can
change: it keeps the cells that an input leads to without a register in between, and the drivers of
its outputs. Signals from elsewhere arrive in it at a fixed time, with a fixed slew. What is left
out is analysed once for the module: the slowest path that ends there is known from then on. So the
work grows with the different modules, and the slowest path of all is that of the flat netlist.

An instance changes two things: when its inputs arrive, and how much its outputs have to drive. An
output whose load is the same in all instances, and which is used inside as well, is known there.
One whose load is not the same counts as an input: the cells that it leads to stay in the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from ..base.memo import Memo
from ..library.cells import Library, WireLoad
from ..mapping.netlist import NONE, Arrivals, Loads, MappedModule, Netlist, Nets
from .alike import falling, merged, side_classes
from .analysis import End, Step, Times, Timing, fo4, propagated
from .graph import build_graph, clock_slew
from .loads import ALIKE, Joints, all_loads, joints_of, outside_loads, pin_loads
from .module_netlist import Model, ModuleNetlist, below, led_to, module_netlist

__all__ = ["ModuleTiming"]

Flags = npt.NDArray[np.bool_]

SIDE_STEP = 0.05
"""Difference in FO4 of arrival times from inside a module that is none outside."""


class ModuleTiming:
    """Timing of a design by models of its modules.

    Parameters
    ----------
    modules: joined through (``joined_through``), with their buffers (``buffered``)
    order: their names, children before parents; the last one is the top
    wires: model of the wires, free without one
    memo: what was found before of the same modules, under the same loads
    """

    def __init__(
        self,
        modules: Mapping[str, MappedModule],
        order: Sequence[str],
        library: Library,
        memo: Memo,
        wires: WireLoad | None = None,
    ) -> None:
        self.modules, self.order, self._memo = modules, order, memo
        self.library, self.wires = library, wires
        self._fo4, self._input_slew = fo4(library)
        self._clock_slew = clock_slew(library, {kind for m in modules.values() for kind in m.cells})
        self._step = SIDE_STEP * self._fo4
        self._fall = memo((library,), ("falling",), partial(falling, library))
        self._outputs = {
            kind: np.array([pin.output for pin in cell.pins.values()])
            for kind, cell in library.cells.items()
        }
        self._loads = all_loads(modules, order, library, memo)
        self._joints: dict[str, Joints] = {}
        for name in order:
            module = modules[name]
            inside = tuple(modules[child] for _, child, _ in module.children)
            self._joints[name] = memo(
                (module, *inside), ("joints",), partial(joints_of, module, inside)
            )
        self._outside, self._varies = outside_loads(
            modules, order, self._joints, self._loads, library
        )
        self.models: dict[str, Model] = {}

    def _netlist(self, name: str) -> ModuleNetlist:
        return module_netlist(self.modules[name], self._joints[name], self.models, self.library)

    def _times(self, netlist: Netlist) -> Times:
        graph = build_graph(netlist, self.library, self.wires, slew=self._clock_slew)
        return propagated(netlist, self.library, graph, self._input_slew)

    def _inside(self, name: str) -> tuple[Times, Flags, Flags]:
        """The times of all nets of a module that no instance changes; the nets that an instance
        changes, and the outputs that are driven by other nets. Elements for ``NONE`` follow."""
        netlist = self._netlist(name)
        module = self.modules[name]
        output = np.ones(netlist.nets + 1, dtype=bool)
        for out, nets in module.ports.values():
            output[nets] &= out
        clock = np.zeros(netlist.nets + 1, dtype=bool)
        clock[netlist.clock_nets] = True
        boundary = module.boundary
        used = self._varies[name] & (self._loads[name].pins[boundary] > 0)
        begin = boundary[(~output[boundary] | used) & ~clock[boundary]]
        cone = led_to(netlist, self.library, begin, clock)
        driven = np.zeros(netlist.nets + 1, dtype=bool)
        driven[boundary] = output[boundary] & ~clock[boundary]
        assert netlist.loads is not None
        places = driven[boundary] & ~cone[boundary]
        netlist.loads.add(boundary[places], self._outside[name].at(np.flatnonzero(places)))
        return self._times(netlist), cone, driven

    def _model(self, name: str, times: Times, cone: Flags, driven: Flags) -> Model:
        netlist, boundary = times.netlist, self.modules[name].boundary
        assert isinstance(netlist, ModuleNetlist)
        assert netlist.names is not None
        common = cone.copy()
        common[netlist.clock_nets] = True
        at_ports = np.zeros(netlist.nets + 1, dtype=bool)
        at_ports[boundary] = True
        rows, cells = self._kept(netlist, cone, driven)
        self._drop_early(times, cells, cone, cone & ~at_ports)
        read = self._pins_of(cells, netlist.nets, output=False)
        arriving = read[~common[read]]
        time, slew = (each.reshape(-1, 2)[arriving] for each in (times.arrival, times.slew))
        # Wires differ by how many pins are at a net.
        pins = times.graph.fanout[arriving] * (self.wires is not None)
        stand, time, slew = side_classes(time, slew, pins, self._step, self._fall)
        # Of nets from elsewhere one of each class is left, of nets in the cone those of cells
        # that are.
        stands = np.append(np.arange(netlist.nets), NONE)
        stands[arriving] = arriving[stand]
        for kind, pins in cells.items():
            cells[kind] = np.where(self._outputs[kind], pins, stands[pins])
        keys = {
            kind: np.where(self._outputs[kind] & ~(cone | at_ports)[pins], NONE, pins)
            for kind, pins in cells.items()
        }
        load = times.graph.load.reshape(-1, 2)
        once = merged(keys, self._outputs, times.graph.net_levels(), load, at_ports | ~cone)
        for kind, left in once.rows.items():
            rows[kind] = rows[kind][left]
            inputs = once.nets[cells[kind][left]]
            cells[kind] = np.where(self._outputs[kind], cells[kind][left], inputs)
        # Numbers: of the boundary, of other nets in the cone, of nets from elsewhere, and of those
        # that nobody reads, for the names of registers.
        read, out = (self._pins_of(cells, netlist.nets, output=output) for output in (False, True))
        both = np.union1d(read, out)
        private = both[common[both] & ~at_ports[both]]
        side, named = read[~common[read]], out[~common[out] & ~at_ports[out]]
        origins = np.concatenate([boundary, private, side, named])
        inward = np.full(netlist.nets + 1, NONE, dtype=np.int64)
        inward[boundary] = np.arange(len(boundary))
        inward[private] = len(boundary) + np.arange(len(private))
        outward = inward.copy()
        first = len(boundary) + len(private)
        inward[side] = first + np.arange(len(side))
        outward[named] = first + len(side) + np.arange(len(named))
        for kind, pins in cells.items():
            cells[kind] = np.where(self._outputs[kind], outward[pins], inward[pins])
        # Each net has the load that it had, whoever is left to read it.
        whole = pin_loads(netlist.cells, self.library, netlist.nets)
        assert netlist.loads is not None
        whole.add(np.arange(netlist.nets), netlist.loads)
        loads = Loads.none(len(origins))
        inside = np.flatnonzero(common[origins[:first]])
        inside = np.append(inside, first + np.arange(len(side)))
        loads.add(inside, whole.at(origins[inside]))
        loads.remove(pin_loads(cells, self.library, len(origins)), inside)
        outputs = np.flatnonzero(driven[boundary] & ~cone[boundary])
        loads.add(outputs, self._loads[name].at(boundary[outputs]))
        classes = stand == np.arange(len(stand))
        nodes = (2 * inward[arriving[classes]][:, None] + [0, 1]).ravel()
        time, slew = time[classes].ravel(), slew[classes].ravel()
        reached = time > -np.inf
        arrivals = Arrivals(nodes[reached], time[reached], slew[reached])
        is_clock = np.zeros(netlist.nets + 1, dtype=bool)
        is_clock[netlist.clock_nets] = True
        clocks = np.flatnonzero(is_clock[origins])
        return Model(len(origins), clocks, cells, loads, arrivals, rows, origins, netlist.names)

    def _drop_early(self, times: Times, cells: dict[str, Nets], cone: Flags, inside: Flags) -> None:
        """Disconnect pins of cells that drive nets ``inside`` where a signal from elsewhere arrives
        before another one that counts, whatever arrives at the inputs."""
        graph = times.graph
        arcs = np.flatnonzero(inside[graph.target // 2])
        source, target = graph.source[arcs], graph.target[arcs]
        late, slew = times.through(arcs)
        latest = np.full(len(times.arrival), -np.inf)
        np.maximum.at(latest, target, late)
        steepest = np.zeros(len(times.arrival))
        last = late == latest[target]
        margin = self._step if self._fall else 0.0
        near = late >= latest[target] - margin
        np.maximum.at(steepest, target[last], slew[last])
        counts = (late > -np.inf) & (near | (slew > steepest[target]))
        nets = times.netlist.nets + 1
        pairs = np.unique(source[counts] // 2 * nets + target[counts] // 2)
        for kind, pins in cells.items():
            output = self._outputs[kind]
            driven = pins[:, output]
            fixed = (inside[driven] | (driven < 0)).all(axis=1)
            for column in np.flatnonzero(~output).tolist():
                net = pins[:, column]
                early = fixed & (net >= 0) & ~cone[net]
                for out in driven.T:
                    pair = net * nets + out
                    place = np.searchsorted(pairs, pair)
                    early &= (out < 0) | (np.append(pairs, -1)[place] != pair)
                pins[early, column] = NONE

    def _pins_of(self, cells: Mapping[str, Nets], nets: int, *, output: bool) -> Nets:
        """Those of so many nets that are at input or output pins of cells."""
        found = np.zeros(nets + 1, dtype=bool)
        for kind, pins in cells.items():
            found[pins[:, self._outputs[kind] == output]] = True
        return np.flatnonzero(found[:-1])

    def _kept(
        self, netlist: Netlist, cone: Flags, driven: Flags
    ) -> tuple[dict[str, Nets], dict[str, Nets]]:
        """The rows of the cells that an instance changes or that drive outputs, and their nets."""
        rows, cells = {}, {}
        for kind, pins in netlist.cells.items():
            cell, output = self.library.cells[kind], self._outputs[kind]
            led_to: Flags = np.any(cone[pins[:, ~output]], axis=1)
            kept = np.flatnonzero(led_to | np.any(driven[pins[:, output]], axis=1))
            if len(kept):
                rows[kind], cells[kind] = kept, pins[kept]
                # Paths that end at the other drivers end inside.
                sources = {arc.source for arc in cell.arcs if arc.kind != "setup"}
                ends = ~output & ~np.isin(list(cell.pins), list(sources))
                cells[kind][np.ix_(~led_to[kept], ends)] = NONE
        return rows, cells

    def _slowest(self) -> tuple[str, End] | None:
        """The module in which the slowest path ends, and where; None without any path."""
        found: list[tuple[str, End]] = []
        for name in self.order[:-1]:
            module, outside = self.modules[name], self._outside[name]
            inside = (self.models[child] for _, child, _ in module.children)
            loads = np.rint(outside.capacitance / ALIKE).tobytes(), outside.pins.tobytes()
            values = "model", *loads, self._varies[name].tobytes(), self._clock_slew
            self.models[name], end = self._memo(
                (module, *inside, self.library), values, partial(self._known, name)
            )
            if end is not None:
                found.append((name, end))
        end = self._top().slowest()
        if end is not None:
            found.append((self.order[-1], end))
        return max(found, key=lambda pair: pair[1].total, default=None)

    def _known(self, name: str) -> tuple[Model, End | None]:
        """A module's model, and the end of the slowest path that no instance changes."""
        times, cone, driven = self._inside(name)
        return self._model(name, times, cone, driven), times.slowest(~cone)

    def _top(self) -> Times:
        """The times of the top, whose ports are the design's."""
        name = self.order[-1]
        netlist, ports = self._netlist(name), self.modules[name].ports
        netlist.inputs = {port: nets for port, (out, nets) in ports.items() if not out}
        netlist.outputs = {port: nets for port, (out, nets) in ports.items() if out}
        return self._times(netlist)

    def _start(self, name: str, node: int, times: Times) -> tuple[list[Step], str, bool]:
        """As of ``Times``, into the children of a module."""
        steps, origin = times.trace(node)
        netlist = times.netlist
        assert isinstance(netlist, ModuleNetlist)
        assert netlist.names is not None
        assert netlist.arrivals is not None
        net = origin // 2
        part = netlist.names.part(net)
        if times.graph.is_clock[net]:
            return steps, steps[0].net, True
        if part is None or origin not in netlist.arrivals.nodes:
            return steps, netlist.name(net), False
        inner = 2 * int(part.model.origins[net - part.first]) + origin % 2
        before, start, register = self._start(part.child, inner, self._inside(part.child)[0])
        before = [_moved(step, part.instance) for step in before]
        return [*before, *steps], f"{part.instance}.{start}", register

    def _instance(self, name: str) -> str:
        """The first instance of a module, from the top."""
        found = {self.order[-1]: ""}
        for parent in reversed(self.order):
            for instance, child, _ in self._joints[parent] if parent in found else ():
                found.setdefault(child, below(found[parent], instance))
        return found[name]

    def timing(self) -> Timing:
        """The slowest path of the design. Raises ValueError for a combinational loop."""
        slowest = self._slowest()
        if slowest is None:
            return Timing(None, self._fo4)
        name, end = slowest
        times = self._top() if name == self.order[-1] else self._inside(name)[0]
        steps, start, register = self._start(name, end.node, times)
        instance = self._instance(name)
        steps = [_moved(step, instance) for step in steps]
        end = replace(end, name=below(instance, end.name))
        return Timing(end.path(steps, below(instance, start), register), self._fo4)


def _moved(step: Step, instance: str) -> Step:
    """A step of an instance, named from where that is."""
    inside = below(instance, step.instance)
    return replace(step, instance=inside, net=below(instance, step.net))
