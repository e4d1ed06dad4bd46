"""The column loader in the cycle model: every set in its cycle, with its contents."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.sida.layouts import set_layout
from tilewright.hw.sida.load.column_loader import ColumnLoader
from tilewright.hw.sida.load.layouts import job_layout
from tilewright.sim.sida.cycles.columns import columns_idle, columns_step
from tilewright.sim.sida.cycles.compute import MACHINE, set_up_shared
from tilewright.sim.sida.cycles.load_state import GROUPS, memory_bus, set_up_load
from tilewright.sim.timing.compiled import compiled
from tilewright.sim.timing.striped.bus import look_at_ports, step, use_ports
from tilewright.sim.timing.striped.reader import reader_idle
from tilewright.verif.channels.striped.memory_bench import ChannelMemory, Image, Manner
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.cycles.replay import job_registers
from tilewright.verif.sida.load.matrices import CONFIGS, Matrix, drawn
from tilewright.verif.stream.agents import Agent, run_agents
from tilewright.verif.timing.striped.pace import Pace, Watch, pattern

_NAMES = ("pointers", "rows", "values")


@dataclass
class Seen:
    """``idle`` in every cycle; of each set the cycle, its base, columns, whether it is final, and
    by leaf (present, row, offset), zeros where there is none."""

    idle: list[int]
    sets: list[tuple[int, int, int, int]]
    leaves: list[list[tuple[int, int, int]]]


@dataclass
class Loading:
    """Passes over a matrix; sets are taken where ``takes`` [cycle] is 1. The first pass starts in
    cycle 0, another one when nothing is left to be done."""

    matrix: Matrix
    pace: Pace
    takes: npt.NDArray[np.uint8]
    passes: int
    seed: int

    def image(self) -> tuple[bytes, list[int]]:
        """Memory, and where the arrays begin in it."""
        image = Image(self.matrix.config, self.seed)
        bases = [image.place(array) for array in self.matrix.arrays]
        return image.bytes, bases


class _Starts:
    """Starts passes."""

    def __init__(self, part: Any, passes: int) -> None:
        self._part, self._left = part, passes

    def drive(self, sim: Any, cycle: int) -> None:
        starts = self._left > 0 and sim.get(self._part.idle)
        sim.set(self._part.start, int(starts))
        self._left -= starts

    def observe(self, sim: Any, cycle: int) -> None: ...


class _Sets:
    """Takes sets, and notes them in ``seen``."""

    def __init__(self, part: ColumnLoader, gate: npt.NDArray[np.uint8], seen: Seen) -> None:
        self._part, self._gate, self._seen = part, gate, seen
        self._layout = set_layout(part.config)

    def drive(self, sim: Any, cycle: int) -> None:
        sim.set(self._part.o.ready, int(self._gate[cycle]))

    def observe(self, sim: Any, cycle: int) -> None:
        if not (self._gate[cycle] and sim.get(self._part.o.valid)):
            return
        found: Any = sim.get(self._part.o.payload)
        self._seen.sets.append((cycle, found.base, found.columns, found.final))
        leaves = [found.leaves[n] for n in range(self._part.config.pes)]
        self._seen.leaves.append([(1, x.row, x.offset) if x.valid else (0, 0, 0) for x in leaves])


def on_rtl(job: Loading) -> Seen:
    """Runs in Amaranth's simulator until all passes are over."""
    config = job.matrix.config
    part = ColumnLoader(config)
    content, bases = job.image()
    given = {**dict(zip(_NAMES, bases, strict=True)), "columns": job.matrix.size}
    manner = Manner(latency=(job.pace.latency, job.pace.latency))
    memories = [
        ChannelMemory(ar, r, config.geometry, channel, content, manner)
        for channel, (ar, r) in enumerate(zip(part.ar, part.r, strict=True))
    ]
    idle = Watch(part.idle)
    seen = Seen(idle.values, [], [])
    starts = _Starts(part, job.passes)
    agents: list[Agent] = [starts, _Sets(part, job.takes, seen), idle, *memories]

    def until(sim: Any, cycle: int) -> bool:
        return sum(final for _, _, _, final in seen.sets) == job.passes and bool(idle.values[-1])

    wires = [(part.job, job_layout(config).const(given).as_bits())]
    run_agents(part, agents, until=until, most=len(job.takes), wires=wires)
    return seen


@compiled
def _run(
    machines: Any, b: Any, pointers: Any, rows: Any, passes: int, takes: Any, idle: Any, sets: Any,
    leaves: Any,
) -> int:  # fmt: skip
    """``sets`` [number] -> (cycle, base, columns, final); returns how many there are."""
    m = machines[0]
    found = 0
    for now in range(len(idle)):
        look_at_ports(m.ports, b)
        is_idle = columns_idle(m)
        for number in range(3):
            is_idle = is_idle and reader_idle(b, number)
        idle[now] = is_idle
        m.columns_start = is_idle and passes > 0
        passes -= m.columns_start
        m.set.ready = takes[now]
        if m.set.valid and takes[now]:
            sets[found, 0] = now
            sets[found, 1] = m.set.base
            sets[found, 2] = m.set.columns
            sets[found, 3] = m.set.final
            for leaf in range(m.pes):
                if m.set.present[leaf]:
                    leaves[found, leaf, 0] = 1
                    leaves[found, leaf, 1] = m.set.row[leaf]
                    leaves[found, leaf, 2] = m.set.offset[leaf]
            found += 1
        columns_step(m, pointers, rows)
        use_ports(m.ports, b)
        step(b, now)
    return found


def on_model(job: Loading, cycles: int) -> Seen:
    """Runs ``cycles`` cycles of the model."""
    matrix, config = job.matrix, job.matrix.config
    _, bases = job.image()
    machines = np.zeros(1, MACHINE)
    registers = job_registers(ROWS=matrix.size)
    registers |= dict(zip(("COLUMN_POINTERS", "ROW_NUMBERS", "COLUMN_VALUES"), bases, strict=True))
    set_up_shared(machines[0], config, registers)
    set_up_load(machines[0], config, registers)
    machine = memory_bus(config, memory=job.pace.memory)
    # The columns' readers alone: what they share is all that there is of the bus.
    alone = machine._replace(
        c=machine.c._replace(groups=GROUPS[0]),
        members=np.array([[n, 1] for n in range(GROUPS[0])], np.int64),
    )
    pointers, rows = np.array(matrix.pointers), np.array([*matrix.rows, 0], np.int32)
    idle = np.zeros(cycles, np.uint8)
    sets = np.zeros((cycles, 4), np.int64)
    leaves = np.zeros((cycles, config.pes, 3), np.int64)
    count = _run(machines, alone, pointers, rows, job.passes, job.takes, idle, sets, leaves)
    return Seen(
        idle.tolist(),
        [(int(at), int(base), int(more), int(end)) for at, base, more, end in sets[:count]],
        [[(int(a), int(r), int(o)) for a, r, o in its] for its in leaves[:count]],
    )


pytestmark = pytest.mark.long


def check(matrix: Matrix, seed: int, passes: int = 1) -> None:
    rng = np.random.default_rng(seed)
    pace = Pace.random(rng)
    takes = pattern(rng, 30_000, pace.wait)
    job = Loading(matrix, pace, takes, passes, seed)
    real = on_rtl(job)
    found = on_model(job, len(real.idle))
    assert found.sets == real.sets, seed
    assert found.leaves == real.leaves, seed
    assert found.idle == real.idle, seed


@pytest.mark.parametrize("name", slow_but([], CONFIGS, []))
def test_every_set_comes_in_its_cycle(name: str) -> None:
    for seed in range(by_size(1, 1, 8)):
        check(drawn(CONFIGS[name], f"cycles {name} {seed}"), seed, 1 + seed % 3)


@pytest.mark.long
def test_columns_of_an_element_or_none() -> None:
    """More of a block than a set may have, of two windows."""
    for seed in range(by_size(1, 1, 6)):
        rng = random.Random(f"short cycles {seed}")
        lengths = [rng.choice([0, 0, 1, 1, 2, 5]) for _ in range(90)]
        check(Matrix(CONFIGS["small"], lengths, rng), seed)
