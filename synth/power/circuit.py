"""A flat netlist as a circuit that can be evaluated: gates in order, registers, constants.

Every net is a row of values. Rows behind those of the nets are a constant 0, a constant 1, the
state of each register, which its outputs follow, and its next state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..library.cells import Cell, Library
from ..library.functions import Function, parse_function
from ..library.liberty_text import parse_liberty
from ..mapping.netlist import Netlist, Place
from ..memories.cells import READ_DATA
from ..timing.graph import levels

__all__ = ["CellGroup", "Circuit", "FlipFlop", "Gates", "Register", "flip_flop", "states_of"]

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class FlipFlop:
    """The behaviour of a flip-flop.

    Members
    -------
    state, inverse: names of its state and of the inverse in functions
    clock: pin with the clock
    next: state after the rising clock
    forced: functions that must not be true: asynchronous set and reset
    """

    state: str
    inverse: str
    clock: str
    next: Function
    forced: tuple[Function, ...]


def flip_flop(cell: Cell) -> FlipFlop:
    """The behaviour of a cell with state. Raises ValueError unless it is a flip-flop of one bit
    with a rising clock."""
    groups = parse_liberty(f"library () {{ {cell.state} }}").groups
    facts = groups[0].attributes if groups else {}
    clock = parse_function(facts.get("clocked_on", ""))
    if len(groups) != 1 or groups[0].name != "ff" or clock.kind != "name":
        raise ValueError(f"cell {cell.name} is not a flip-flop with a rising clock")
    forced = tuple(parse_function(facts[name]) for name in ("clear", "preset") if name in facts)
    state, inverse = groups[0].arguments
    return FlipFlop(state, inverse, clock.name, parse_function(facts["next_state"]), forced)


def states_of(names: Sequence[str]) -> dict[str, Flags]:
    """The value of each name in each state; the first name is the lowest bit of a state."""
    states = np.arange(1 << len(names))
    return {name: (states >> place & 1).astype(bool) for place, name in enumerate(names)}


@dataclass(frozen=True)
class CellGroup:
    """The cells of a kind.

    Members
    -------
    cell, flip_flop: what they are; no flip-flop for gates, and for cells at memories
    inputs: names of the input pins, in the order of the columns of ``rows``, and behind them of a
        flip-flop its state
    rows: row of values of each input, and of the state
    nets: net of each output in order, -1 where there is none
    """

    cell: Cell
    flip_flop: FlipFlop | None
    inputs: tuple[str, ...]
    rows: npt.NDArray[np.int32]
    nets: Ints

    def values(self) -> dict[str, Flags]:
        """The value of each input, of the state and of each output in each state of the inputs."""
        values = states_of(self.inputs)
        if self.flip_flop is not None:
            values[self.flip_flop.inverse] = ~values[self.flip_flop.state]
        for pin in self.cell.outputs:
            found = parse_function(self.cell.pins[pin].function).value(values)
            values[pin] = np.broadcast_to(found, 1 << len(self.inputs))
        return values


@dataclass(frozen=True)
class Register:
    """A bit that is recorded: state of a flip-flop, or read data of a memory.

    Members
    -------
    path: of its instance, names with a dot behind each
    module: that it is in
    signal, bit: that has its value there; bit None for a signal of one bit
    row: of values
    inverted: whether the row has the inverse of the signal
    next_row: of the state after the next clock; -1 of read data
    """

    path: str
    module: str
    signal: str
    bit: int | None
    row: int
    inverted: bool
    next_row: int

    @property
    def name(self) -> str:
        """The name from the top."""
        bit = "" if self.bit is None else f"[{self.bit}]"
        return f"{self.path}{self.signal}{bit}"


@dataclass(frozen=True)
class Gates:
    """Gates in an order in which each follows those that it needs.

    Members
    -------
    truth: the truth tables one behind another, a byte for each state
    table: where the table of each gate begins
    counts, inputs: number of inputs of each gate; their rows, one gate behind another
    outputs: row of each gate
    """

    truth: npt.NDArray[np.uint8]
    table: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    inputs: npt.NDArray[np.int32]
    outputs: npt.NDArray[np.int32]


class _GateList:
    def __init__(self) -> None:
        self.truth: list[int] = []
        self.known: dict[bytes, int] = {}
        self.parts: list[tuple[int, Ints, Ints]] = []

    def add(self, function: Function, columns: dict[str, Ints], outputs: Ints) -> None:
        """Add gates of a function; ``columns``: rows of its names, one for each gate."""
        names = list(dict.fromkeys(name for name in function.names() if name in columns))
        values = np.broadcast_to(function.value(states_of(names)), 1 << len(names))
        table = bytes(values.astype(np.uint8))
        if table not in self.known:
            self.known[table] = len(self.truth)
            self.truth += table
        rows = np.array([columns[name] for name in names], dtype=np.int64)
        self.parts.append((self.known[table], rows.reshape(len(names), -1).T, outputs))

    def ordered(self, rows: int) -> Gates:
        """The gates in order. Raises ValueError for a loop."""
        empty = np.zeros(0, np.int64)
        sources = [np.concatenate(list(ins.T)) if ins.size else empty for _, ins, _ in self.parts]
        targets = [np.tile(out, ins.shape[1]) for _, ins, out in self.parts]
        level = levels(rows, np.concatenate([empty, *sources]), np.concatenate([empty, *targets]))
        if (level < 0).any():
            raise ValueError("a combinational loop")
        table = np.concatenate([empty, *(np.full(len(o), t) for t, _, o in self.parts)])
        counts = np.concatenate([empty, *(np.full(len(o), i.shape[1]) for _, i, o in self.parts)])
        outputs = np.concatenate([empty, *(out for _, _, out in self.parts)])
        flat = np.concatenate([empty, *(ins.ravel() for _, ins, _ in self.parts)])
        starts = np.cumsum(counts) - counts
        order = np.argsort(level[outputs], kind="stable")
        sizes = counts[order]
        places = np.repeat(starts[order], sizes) + np.arange(sizes.sum())
        places -= np.repeat(np.cumsum(sizes) - sizes, sizes)
        kind = np.int32
        return Gates(
            np.array(self.truth, np.uint8),
            table[order].astype(kind),
            sizes.astype(kind),
            flat[places].astype(kind),
            outputs[order].astype(kind),
        )


class Circuit:
    """The circuit of a netlist.

    Members
    -------
    rows: number of rows of values; those of the constants are ``zero`` and ``one``
    groups: cells by the name of their kind
    tied: nets that are constant in the modules around them, with their value
    registers: the recorded bits, flip-flops first
    gates: of all cells, those of the next states behind all others

    Raises ValueError for cells with state that are no flip-flops with a rising clock, or that are
    set or reset at any time, and for loops.
    """

    def __init__(self, netlist: Netlist, library: Library) -> None:
        self.netlist, self.library = netlist, library
        self.places = list(netlist.places())
        self.zero, self.one = netlist.nets, netlist.nets + 1
        self.rows = netlist.nets + 2
        self.tied = dict(self._tied())
        self.groups: dict[str, CellGroup] = {}
        self.registers: list[Register] = []
        self._gates = _GateList()
        memories = []
        for kind, pins in netlist.cells.items():
            cell = library.cells[kind]
            if cell.state == "memory":
                memories.append((cell, pins))
            elif cell.sequential:
                self.groups[kind] = self._add_flip_flops(cell, pins)
            else:
                self.groups[kind] = self._add_gates(cell, pins)
        for cell, pins in memories:
            self._add_read_data(cell, pins)
        self.gates = self._gates.ordered(self.rows)

    def _tied(self) -> Iterator[tuple[int, bool]]:
        """Yields the nets that have no driver but a constant elsewhere in the hierarchy."""
        by_path = {place.path: place for place in self.places}
        for place in self.places:
            constants = place.module.constants
            parent = self.places[place.parent]
            instance = place.path[len(parent.path) : -1]
            outside: dict[str, Ints] = next(
                (nets for child, _, nets in parent.module.children if child == instance), {}
            )
            for (port, bit), value in constants.ports.items():
                if place.path and port in outside and outside[port][bit] >= 0:
                    yield int(parent.nets[outside[port][bit]]), value
            for (instance, port, bit), value in constants.children.items():
                inside = by_path[f"{place.path}{instance}."]
                net = int(inside.module.ports[port][1][bit])
                if net >= 0:
                    yield int(inside.nets[net]), value

    def _inputs(self, cell: Cell, pins: Ints) -> dict[str, Ints]:
        """The rows of the input pins: of a constant where there is no net."""
        places = {pin: place for place, pin in enumerate(cell.pins)}
        columns = {
            pin: np.where(pins[:, places[pin]] < 0, self.zero, pins[:, places[pin]])
            for pin in cell.inputs
        }
        outputs = [places[pin] for pin in cell.outputs]
        first = 0
        for owner, _, count in self.netlist.owners(cell.name):
            module = self.places[owner].module
            if module.constants.pins:
                local = module.cells[cell.name]
                for row, place in np.argwhere(local < 0).tolist():
                    nets = [net for net in local[row, outputs].tolist() if net >= 0]
                    key = nets[0] if nets else -1, list(cell.pins)[place]
                    if module.constants.pins.get(key):
                        columns[key[1]][first + row] = self.one
            first += count
        return columns

    def _add_gates(self, cell: Cell, pins: Ints) -> CellGroup:
        columns = self._inputs(cell, pins)
        nets = pins[:, [place for place, pin in enumerate(cell.pins) if pin in cell.outputs]]
        for pin, net in zip(cell.outputs, nets.T, strict=True):
            self._add(cell.pins[pin].function, columns, net)
        return CellGroup(cell, None, tuple(columns), _table(columns), nets)

    def _add(self, function: str | Function, columns: dict[str, Ints], nets: Ints) -> None:
        used = nets >= 0
        if isinstance(function, str):
            function = parse_function(function)
        if used.any():
            chosen = {name: rows[used] for name, rows in columns.items()}
            self._gates.add(function, chosen, nets[used])

    def _new_rows(self, count: int) -> Ints:
        self.rows += count
        return np.arange(self.rows - count, self.rows)

    def _add_flip_flops(self, cell: Cell, pins: Ints) -> CellGroup:
        found = flip_flop(cell)
        columns = self._inputs(cell, pins)
        for function in found.forced:
            self._require_false(cell, function, columns)
        columns[found.state] = self._new_rows(len(pins))
        after = self._new_rows(len(pins))
        nets = pins[:, [place for place, pin in enumerate(cell.pins) if pin in cell.outputs]]
        states = [parse_function(cell.pins[pin].function) for pin in cell.outputs]
        for state, net in zip(states, nets.T, strict=True):
            if [*state.names()] == [found.inverse]:
                inverse = Function("!", parts=(Function("name", found.state),))
                self._add(inverse if state.kind == "name" else state.parts[0], columns, net)
            else:
                self._add(state, columns, net)
        self._add(found.next, columns, after)
        inverted = [
            (state.kind == "!") != ([*state.names()] == [found.inverse]) for state in states
        ]
        self._record(cell, inverted, columns[found.state], after)
        return CellGroup(cell, found, tuple(columns), _table(columns), nets)

    def _require_false(self, cell: Cell, function: Function, columns: dict[str, Ints]) -> None:
        fixed = {
            name: [self.one if self.tied.get(int(r)) else int(r) for r in rows]
            for name, rows in columns.items()
        }
        for row in range(len(next(iter(fixed.values())))):
            values = {name: rows[row] == self.one for name, rows in fixed.items()}
            if function.value(values):
                raise ValueError(f"a cell {cell.name} is set or reset without a clock")

    def _add_read_data(self, cell: Cell, pins: Ints) -> None:
        """Registers of what memories read, by the names of the signals around them. The cells at
        their inputs have outputs that go nowhere."""
        if not cell.name.endswith(f"__{READ_DATA}"):
            return
        rows, first = pins[:, list(cell.pins).index("Q")].tolist(), 0
        for owner, _, count in self.netlist.owners(cell.name):
            memory = self.places[owner]
            parent = self.places[memory.parent]
            instance = memory.path[len(parent.path) : -1]
            nets = next(
                ports[READ_DATA] for child, _, ports in parent.module.children if child == instance
            )
            for row, net in zip(rows[first : first + count], nets.tolist(), strict=True):
                if row >= 0 and net >= 0:
                    signal, bit, _ = _signal(parent, [net], [False])
                    self.registers.append(
                        Register(parent.path, parent.module.name, signal, bit, row, False, -1)
                    )
            first += count

    def _record(self, cell: Cell, inverted: list[bool], rows: Ints, after: Ints) -> None:
        """Add registers; ``inverted``: of each output of the cell."""
        places = [place for place, pin in enumerate(cell.pins) if pin in cell.outputs]
        first = 0
        for owner, name, count in self.netlist.owners(cell.name):
            place = self.places[owner]
            for row, pins in enumerate(place.module.cells[cell.name][:, places].tolist()):
                signal, bit, other = _signal(place, pins, inverted)
                at = first + row
                if rows[at] >= 0:
                    self.registers.append(
                        Register(
                            place.path, name, signal, bit, int(rows[at]), other, int(after[at])
                        )
                    )
            first += count


def _table(columns: dict[str, Ints]) -> npt.NDArray[np.int32]:
    rows = np.array(list(columns.values()), np.int32).reshape(len(columns), -1)
    return np.ascontiguousarray(rows.T)


def _signal(place: Place, nets: list[int], inverted: list[bool]) -> tuple[str, int | None, bool]:
    """Name and bit of a signal that has the state of a register, and whether it is inverted."""
    best = None
    for net, other in zip(nets, inverted, strict=True):
        name = place.module.net_names[net] if net >= 0 else f"net_{net}"
        hidden = name == f"net_{net}"
        if best is None or (hidden, other) < best[0]:
            best = (hidden, other), name
    assert best is not None
    # The last index is that of a bit, or of a word of one bit: a record tells which.
    signal, bracket, bit = best[1].rpartition("[")
    return signal or bit, int(bit[:-1]) if bracket else None, best[0][1]
