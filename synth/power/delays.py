"""Replays a recorded run with the delays of the library: every glitch on the way to rest.

Each cycle begins at rest. Inputs change with the clock edge, outputs of flip-flops and read data of
memories as long after it as the library says. An output follows an input after the delay of the
slowest arc between them, by the edges of both, at the slew that the timing analysis has for the
input and at the load of the output, after the delay of the wire. Delays are inertial: an output
that would change and change back within its delay does not. A glitch that is shorter than it takes
to rise counts as a whole one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.host.activity import activity

from ..library.cells import Cell
from ..timing.graph import Graph
from .circuit import CellGroup, Circuit
from .kernel import kernel, pointer
from .recording import Recording
from .replay import THREADS, CellTable, Mismatch, Replay

__all__ = ["Glitches", "cell_delays", "replay_with_delays"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FEMTOSECONDS = 1e6
"""In a nanosecond."""


class _KindStruct(ctypes.Structure):
    """``Kind`` of events.cpp."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("inputs", "outputs", "clock")),
        *((name, ctypes.c_void_p) for name in ("truth", "passive", "active")),
    ]


_ARRAYS: dict[str, type[np.generic]] = {
    "kind": np.int32, "first_input": np.int64, "first_output": np.int64, "input_rows": np.int32,
    "output_nets": np.int32, "first_energy": np.int64, "energy": np.float32,
    "first_delay": np.int64, "delay": np.int32, "first_fanout": np.int64, "fanout_cell": np.int32,
    "fanout_input": np.uint8, "source_rows": np.int32, "source_cells": np.int32,
    "source_delays": np.int32,
}  # fmt: skip


_RAGGED = (
    ("first_input", "input_rows"), ("first_output", "output_nets"), ("first_energy", "energy"),
    ("first_delay", "delay"),
)  # fmt: skip
"""Arrays that have some entries for each cell, and those that say where these begin."""


class _NetworkStruct(ctypes.Structure):
    """``Network`` of events.cpp."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("rows", "cells", "outputs", "sources")),
        ("kinds", ctypes.POINTER(_KindStruct)),
        *((name, ctypes.c_void_p) for name in _ARRAYS),
    ]


@dataclass(frozen=True)
class Glitches:
    """Sums over the cycles of a replay with delays.

    Members
    -------
    toggles: of each row of the circuit
    internal: energy of each cell in pJ, by kind
    """

    toggles: Ints
    internal: dict[str, Floats]


def cell_delays(
    group: CellGroup, graph: Graph, slews: Floats, loads: Floats
) -> npt.NDArray[np.int32]:
    """Delays of the cells of a kind in femtoseconds: (cells, inputs, outputs, edge of the input,
    edge of the output); 0 is rising.

    ``slews``, ``loads``: of each row, by edge. Where the library has no arc of two edges, the delay
    is that of the other edge of the input; without any arc from an input it is 1 fs.
    """
    cell, count = group.cell, len(group.rows)
    outputs = list(cell.outputs)
    found = np.full((count, len(group.inputs), len(outputs), 2, 2), -np.inf)
    for arc in cell.arcs:
        if arc.kind == "setup" or arc.target not in outputs or arc.source not in group.inputs:
            continue
        i, o = group.inputs.index(arc.source), outputs.index(arc.target)
        rows, nets = group.rows[:, i], group.nets[:, o]
        for before, after in arc.edges:
            delay = arc.delay[after].each(slews[rows, before], loads[nets, after])
            wire = _wires(graph, rows, cell, arc.source, before)
            place = found[:, i, o, before, after]
            np.maximum(place, delay + wire, out=place)
    other = found[:, :, :, ::-1, :]
    found = np.where(found == -np.inf, other, found)
    return np.maximum(np.where(found == -np.inf, 0.0, found) * FEMTOSECONDS, 1).astype(np.int32)


def _wires(graph: Graph, rows: npt.NDArray[np.int32], cell: Cell, pin: str, edge: int) -> Floats:
    """Delay of the wire to a pin."""
    resistance, capacitance = (np.append(each, [0.0]) for each in graph.branch)
    places = np.minimum(rows, len(resistance) - 1)
    found: Floats = resistance[places] * (capacitance[places] + cell.pins[pin].capacitance[edge])
    return found


class _Network:
    """The arrays of a circuit for events.cpp."""

    def __init__(
        self,
        circuit: Circuit,
        tables: Mapping[str, CellTable],
        delays: Mapping[str, npt.NDArray[np.int32]],
        access: Mapping[int, tuple[float, float]],
    ) -> None:
        self.circuit, self.groups = circuit, list(circuit.groups.items())
        self.kept: list[object] = []
        self.arrays: dict[str, list[npt.NDArray[np.generic]]] = {name: [] for name in _ARRAYS}
        structs = []
        for number, (kind, group) in enumerate(self.groups):
            structs.append(self._kind(group, tables[kind]))
            self._add(number, group, tables[kind], delays[kind])
        self.kinds = (_KindStruct * len(structs))(*structs)
        self._add_sources(access)
        self.struct = self._struct()

    def _kind(self, group: CellGroup, table: CellTable) -> _KindStruct:
        events, flip_flop = table.events, group.flip_flop
        self.kept.append(events)
        return _KindStruct(
            len(group.inputs),
            len(events.truth),
            group.inputs.index(flip_flop.clock) if flip_flop else -1,
            pointer(events.truth, np.uint8),
            pointer(events.passive, np.int16),
            pointer(events.active, np.int16),
        )

    def _add(
        self, number: int, group: CellGroup, table: CellTable, delays: npt.NDArray[np.int32]
    ) -> None:
        count = len(group.rows)
        parts = {
            "kind": np.full(count, number),
            "first_input": np.full(count, len(group.inputs)),
            "first_output": np.full(count, group.nets.shape[1]),
            "input_rows": group.rows.ravel(),
            "output_nets": group.nets.ravel(),
            "first_energy": np.full(count, table.energy.shape[1]),
            "energy": table.energy.ravel(),
            "first_delay": np.full(count, delays[0].size if count else 0),
            "delay": delays.ravel(),
        }
        for name, part in parts.items():
            self.arrays[name].append(part)

    def _add_sources(self, access: Mapping[int, tuple[float, float]]) -> None:
        rows, cells, first = [], [], 0
        columns = []
        for _, group in self.groups:
            count, inputs = group.rows.shape
            numbers = np.repeat(np.arange(first, first + count), inputs)
            places = np.tile(np.arange(inputs), count)
            columns.append(np.stack([group.rows.ravel(), numbers, places]))
            if group.flip_flop is not None:
                rows.append(group.rows[:, -1])
                cells.append(np.arange(first, first + count))
            first += count
        nets = np.array([*access], np.int64)
        times = np.array([*access.values()], float).reshape(-1, 2)
        flip_flops = sum(map(len, rows))
        self.arrays["source_rows"] = [*rows, nets]
        self.arrays["source_cells"] = [*cells, np.full(len(nets), -1)]
        self.arrays["source_delays"] = [np.zeros(2 * flip_flops), (times * FEMTOSECONDS).ravel()]
        row, cell, place = np.concatenate(columns, axis=1)
        order = np.argsort(row, kind="stable")
        # A clock is no net that changes here.
        driven = ~np.isin(row[order], self.circuit.netlist.clock_nets)
        order = order[driven]
        starts = np.searchsorted(row[order], np.arange(self.circuit.rows + 1))
        self.arrays["first_fanout"] = [starts]
        self.arrays["fanout_cell"], self.arrays["fanout_input"] = [cell[order]], [place[order]]

    def _struct(self) -> _NetworkStruct:
        """The cells instance by instance, so that those that work together are near each other."""
        joined = {name: np.concatenate(parts) for name, parts in self.arrays.items()}
        order = np.argsort(self._owners(), kind="stable")
        self.rank = np.empty_like(order)
        self.rank[order] = np.arange(len(order))
        for first, flat in _RAGGED:
            sizes = joined[first]
            joined[flat] = _ordered(joined[flat], sizes, order)
            joined[first] = np.append([0], np.cumsum(sizes[order]))
        joined["kind"] = joined["kind"][order]
        for name in ("fanout_cell", "source_cells"):
            numbers = joined[name].astype(np.int64)
            joined[name] = np.where(numbers < 0, -1, self.rank[numbers])
        ready = {name: np.ascontiguousarray(joined[name], kind) for name, kind in _ARRAYS.items()}
        self.kept.append(ready)
        self.cells, outputs = len(order), len(ready["output_nets"])
        return _NetworkStruct(
            self.circuit.rows, self.cells, outputs, len(ready["source_rows"]), self.kinds,
            *(pointer(array, _ARRAYS[name]) for name, array in ready.items()),
        )  # fmt: skip

    def _owners(self) -> Ints:
        """The number of the instance of each cell; that of buffers in none is the last one."""
        found = []
        for kind, group in self.groups:
            numbers = np.full(len(group.rows), len(self.circuit.places))
            first = 0
            for owner, _, count in self.circuit.netlist.owners(kind):
                numbers[first : first + count] = owner
                first += count
            found.append(numbers)
        return np.concatenate(found)


def _ordered(flat: npt.NDArray[np.generic], sizes: Ints, order: Ints) -> npt.NDArray[np.generic]:
    """Parts of an array, of these sizes, in another order."""
    starts = np.cumsum(sizes) - sizes
    chosen = sizes[order]
    places = np.repeat(starts[order] - (np.cumsum(chosen) - chosen), chosen)
    return flat[places + np.arange(chosen.sum())]


def replay_with_delays(
    circuit: Circuit,
    recordings: Sequence[Recording],
    tables: Mapping[str, CellTable],
    delays: Mapping[str, npt.NDArray[np.int32]],
    access: Mapping[int, tuple[float, float]],
    period: float,
) -> Glitches:
    """Count what happens in recordings with delays.

    Parameters
    ----------
    tables, delays: by kind, of all cells but those at memories; see ``cell_delays``
    access: of the nets that no cell here drives, inputs and read data: time after the clock edge
        in ns when they change, by edge
    period: of the clock in ns, which falls after half of it

    Raises as :func:`.replay.replay`.
    """
    network = _Network(circuit, tables, delays, access)
    toggles, energy = np.zeros(circuit.rows, np.int64), np.zeros(network.cells)
    cycles = sum(recording.cycles - 1 for recording in recordings)
    with (
        activity("replaying the netlist with delays", total=cycles) as shown,
        ThreadPoolExecutor(THREADS) as pool,
    ):
        for recording in recordings:
            for values, steps in Replay(circuit, recording).chunks():
                bounds = [steps * n // THREADS for n in range(THREADS + 1)]
                run = partial(_run, network, values, int(period / 2 * FEMTOSECONDS))
                for some, own in pool.map(run, bounds[:-1], bounds[1:]):
                    toggles += some
                    energy += own
                shown.step(steps)
    ends = np.cumsum([len(group.rows) for _, group in network.groups])[:-1]
    split = np.split(energy[network.rank], ends)
    internal = {kind: own for (kind, _), own in zip(network.groups, split, strict=True)}
    return Glitches(toggles, internal)


def _run(
    network: _Network, values: npt.NDArray[np.uint64], half: int, first: int, last: int
) -> tuple[Ints, Floats]:
    """Changes of each row and energy of each cell in some of the cycles."""
    toggles, internal = np.zeros(network.circuit.rows, np.int64), np.zeros(network.cells)
    at = kernel("events").replay_events(
        ctypes.c_void_p(pointer(values, np.uint64)), ctypes.c_int64(values.shape[1]),
        ctypes.c_int64(first), ctypes.c_int64(last - first), ctypes.c_int64(half),
        ctypes.byref(network.struct), ctypes.c_void_p(pointer(toggles, np.int64)),
        ctypes.c_void_p(pointer(internal, np.float64)),
    )  # fmt: skip
    if at >= 0:
        raise Mismatch("the netlist with delays does not come to rest as without")
    return toggles, internal
