"""Replays a recorded run on a circuit: every net in every cycle, and what every cell takes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.host.activity import activity

from .circuit import CellGroup, Circuit, Register
from .energies import Events
from .kernel import kernel, pointer
from .recording import Recording

__all__ = ["CellTable", "Mismatch", "Replay", "Tally", "joined", "replay"]

Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CHUNK = 64
"""Words of cycles that are evaluated at a time; one more has the first cycle of the next ones."""
THREADS = 2


class _GatesStruct(ctypes.Structure):
    """``Gates`` of replay.cpp."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("truth", "table", "counts", "inputs", "outputs")),
        ("count", ctypes.c_int64),
    ]


class _KindStruct(ctypes.Structure):
    """``Kind`` of replay.cpp."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("cells", "inputs", "outputs", "slots")),
        *(
            (name, ctypes.c_void_p)
            for name in (
                "rows", "order", "truth", "passive", "active", "energy", "leakage", "internal",
                "leaked",
            )
        ),
    ]  # fmt: skip


class Mismatch(ValueError):
    """The netlist does not compute what was recorded: it is not that of the record."""


@dataclass(frozen=True)
class CellTable:
    """What is known of the cells of a kind before the replay.

    Members
    -------
    events: of the kind
    energy: of each cell's slots in pJ
    order: of each cell's inputs, by when they change in a cycle
    """

    events: Events
    energy: npt.NDArray[np.float32]
    order: npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Tally:
    """Sums over the cycles of a replay.

    Members
    -------
    cycles: changes from a cycle to the next that were counted
    toggles, high: of each row of the circuit: its changes, and the cycles in which it is high
    internal: energy of each cell in pJ, by kind; leaked: the sum of its leakage in mW over cycles
    """

    cycles: int
    toggles: Ints
    high: Ints
    internal: dict[str, Floats]
    leaked: dict[str, Floats]


def joined(parts: Sequence[Tally]) -> Tally:
    """The sums of several."""

    def by_kind(each: Sequence[dict[str, Floats]]) -> dict[str, Floats]:
        return {kind: np.sum([one[kind] for one in each], axis=0) for kind in each[0]}

    return Tally(
        sum(part.cycles for part in parts),
        np.sum([part.toggles for part in parts], axis=0),
        np.sum([part.high for part in parts], axis=0),
        by_kind([part.internal for part in parts]),
        by_kind([part.leaked for part in parts]),
    )


class Replay:
    """The values of a circuit in the cycles of a recording.

    Raises ValueError for a register or an input that is not recorded.
    """

    def __init__(self, circuit: Circuit, recording: Recording) -> None:
        self.circuit = circuit
        self.cycles = recording.cycles
        if self.cycles < 2:
            raise ValueError(f"{recording.path} has {self.cycles} cycles: too few to count changes")
        self._given: list[tuple[int, Words]] = []
        for register in circuit.registers:
            bits = recording.bits(f"{register.path}{register.signal}", register.bit)
            self._given.append((register.row, ~bits if register.inverted else bits))
        clocks = set(circuit.netlist.clock_nets.tolist())
        for name, nets in circuit.netlist.inputs.items():
            for place, net in enumerate(nets.tolist()):
                if net >= 0 and net not in clocks:
                    bit = place if len(nets) > 1 else None
                    self._given.append((net, recording.bits(name, bit)))

    def chunks(self) -> Iterator[tuple[Words, int]]:
        """Yields values of all rows, and the number of changes that they have. The array is used
        again."""
        circuit, words = self.circuit, CHUNK + 1
        values = np.zeros((circuit.rows, words), np.uint64)
        gates = circuit.gates
        struct = _GatesStruct(
            pointer(gates.truth, np.uint8),
            *(pointer(part, np.int32) for part in (
                gates.table, gates.counts, gates.inputs, gates.outputs
            )),
            len(gates.outputs),
        )  # fmt: skip
        values[circuit.one] = ~np.uint64(0)
        for net, value in circuit.tied.items():
            values[net] = ~np.uint64(0) if value else 0
        for first in range(0, self.cycles - 1, 64 * CHUNK):
            for row, bits in self._given:
                part = bits[first // 64 : first // 64 + words]
                values[row, : len(part)] = part
            kernel("replay").replay_evaluate(
                ctypes.c_void_p(pointer(values, np.uint64)), ctypes.c_int64(words),
                ctypes.byref(struct),
            )  # fmt: skip
            yield values, min(64 * CHUNK, self.cycles - 1 - first)

    def check(self, values: Words, steps: int, first: int) -> None:
        """Compare next states with what was recorded. Raises Mismatch."""
        for register in self.circuit.registers:
            if register.next_row >= 0:
                at = _differs(values, register, steps)
                if at >= 0:
                    raise Mismatch(
                        f"the netlist is not that of the record: register {register.name} differs "
                        f"in cycle {first + at + 1}"
                    )


def _differs(values: Words, register: Register, steps: int) -> int:
    rows = (
        ctypes.c_void_p(values.ctypes.data + row * values.strides[0])
        for row in (register.row, register.next_row)
    )
    return int(kernel("replay").replay_differs(*rows, ctypes.c_int64(steps)))


def replay(circuit: Circuit, recording: Recording, tables: Mapping[str, CellTable]) -> Tally:
    """Count what happens in a recording; ``tables``: by kind, of all cells but those at memories.

    Raises ValueError for a register that is not recorded, Mismatch if next states differ.
    """
    whole = Replay(circuit, recording)
    toggles = np.zeros(circuit.rows, np.int64)
    high = np.zeros(circuit.rows, np.int64)
    internal = {kind: np.zeros(len(group.rows)) for kind, group in circuit.groups.items()}
    leaked = {kind: np.zeros(len(group.rows)) for kind, group in circuit.groups.items()}
    first = 0
    with (
        activity("replaying the netlist", total=whole.cycles - 1) as shown,
        ThreadPoolExecutor(THREADS) as pool,
    ):
        for values, steps in whole.chunks():
            whole.check(values, steps, first)
            address = ctypes.c_void_p(pointer(values, np.uint64))
            words, count = ctypes.c_int64(values.shape[1]), ctypes.c_int64(steps)
            kernel("replay").replay_count(
                address, ctypes.c_int64(circuit.rows), words, count,
                ctypes.c_void_p(pointer(toggles, np.int64)),
                ctypes.c_void_p(pointer(high, np.int64)),
            )  # fmt: skip

            def add(kind: str, values: Words = values, steps: int = steps) -> None:
                group = circuit.groups[kind]
                _add(group, tables[kind], values, steps, internal[kind], leaked[kind])

            list(pool.map(add, circuit.groups))
            first += steps
            shown.step(steps)
    return Tally(whole.cycles - 1, toggles, high, internal, leaked)


def _add(
    group: CellGroup, table: CellTable, values: Words, steps: int, internal: Floats, leaked: Floats
) -> None:
    """Add what the cells of a kind take."""
    address = ctypes.c_void_p(pointer(values, np.uint64))
    words, count = ctypes.c_int64(values.shape[1]), ctypes.c_int64(steps)
    struct = ctypes.byref(_struct(group, table, internal, leaked))
    if group.flip_flop is None:
        kernel("replay").replay_gates(address, words, count, struct)
    else:
        clock = ctypes.c_int64(group.inputs.index(group.flip_flop.clock))
        kernel("replay").replay_flip_flops(address, words, count, clock, struct)


def _struct(group: CellGroup, table: CellTable, internal: Floats, leaked: Floats) -> _KindStruct:
    events = table.events
    return _KindStruct(
        len(group.rows), len(group.inputs), len(events.truth), table.energy.shape[1],
        pointer(group.rows, np.int32),
        pointer(table.order, np.uint8),
        pointer(events.truth, np.uint8),
        pointer(events.passive, np.int16),
        pointer(events.active, np.int16),
        pointer(table.energy, np.float32),
        pointer(events.leakage, np.float64),
        pointer(internal, np.float64),
        pointer(leaked, np.float64),
    )  # fmt: skip
