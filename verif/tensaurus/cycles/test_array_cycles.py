"""The cycle model of the compute array against the hardware: equal, cycle for cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.sim.tensaurus.cycles.compute_array import array_step, has_room_for_token
from tilewright.sim.tensaurus.cycles.state import COUNTS, MACHINE, SIDES, set_up_array
from tilewright.sim.tensaurus.result.kernel import Kernel
from tilewright.sim.timing.compiled import called, compiled
from tilewright.verif.kit.sampling import cases, slow_but
from tilewright.verif.tensaurus.array.array_bench import (
    JOBS,
    ArrayBench,
    Tile,
    random_job,
    random_tile,
    small,
)

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RowSlots:
    """Slots of a row, tile after tile.

    Parameters
    ----------
    kind: (slots,) of each slot
    index: (slots, modes): of a header the slice is the first; else by mode, less 1
    """

    kind: Ints
    index: Ints


@dataclass(frozen=True)
class ArrayCounts:
    """Counts of an array.

    Parameters
    ----------
    events: by name, see ``COUNTS``, of all rows
    busy: cycles from the first product to the last one
    cycles: until all slices had left
    """

    events: dict[str, int]
    busy: int
    cycles: int


class _Slots(NamedTuple):
    """Slots of all rows one behind the other: row r's from ``start[r]`` on, the next one at
    ``at[r]``; sides by tile."""

    start: Any
    at: Any
    kind: Any
    index: Any
    sides: Any


@called
def _show(row: Any, start: Any, at: Any, kind: Any, index: Any, number: int) -> None:
    """The next slot of a row."""
    place = at[number]
    row.slots.valid = place < start[number + 1]
    if row.slots.valid:
        row.kind = kind[place]
        row.index_0 = index[place, 0]
        row.index_1 = index[place, 1]
        row.index_2 = index[place, 2]
        at[number] += 1


@compiled
def _run(machines: Any, d: _Slots, phase: int, limit: int) -> int:
    """All tiles; the cycle in which the last row has drained the last one."""
    m = machines[0]
    tiles = len(d.sides)
    given = opened = 0
    for number in range(m.height):
        _show(m.rows[number], d.start, d.at, d.kind, d.index, number)
    for now in range(limit):
        if m.drained == tiles * m.height:
            return now - 1
        m.token = given < tiles and has_room_for_token(m)
        m.opens = opened < tiles
        if m.token:
            m.sides[given % SIDES] = d.sides[given]
        array_step(m, now, (now + phase) % m.height)
        given += m.token
        opened += m.opens
        for number in range(m.height):
            if m.rows[number].took:
                _show(m.rows[number], d.start, d.at, d.kind, d.index, number)
    return -1


def array_counts(
    config: TensaurusConfig,
    kernel: Kernel,
    rows: Sequence[RowSlots],
    regions: Mapping[int, int],
    sides: Sequence[int],
    *,
    phase: int = 0,
    limit: int = 1 << 40,
) -> ArrayCounts:
    """Returns the counts of a job whose slots, tokens and openings are available at once.

    ``regions``: by mode, where its operand begins; ``sides``: by tile, bit m - 1 of mode m's.
    ``phase``: cycles since the reset. Raises RuntimeError if it takes ``limit`` cycles.
    """
    machines = np.zeros(1, MACHINE)
    set_up_array(machines[0], config, kernel, regions)
    start = np.cumsum([0, *(len(row.kind) for row in rows)])
    index = np.zeros((start[-1], 3), np.int64)
    given = np.concatenate([row.index for row in rows])
    index[:, : given.shape[1]] = given
    kind = np.concatenate([row.kind for row in rows]).astype(np.int64)
    slots = _Slots(start, start[:-1].copy(), kind, index, np.array(sides, np.int64))
    cycles = _run(machines, slots, phase, limit)
    if cycles < 0:
        raise RuntimeError(f"the array has not finished after {limit} cycles")
    m = machines[0]
    busy = int(m["last_at"] - m["first_at"]) + 1 if m["busy"] else 0
    events = {name: int(m["rows"][name].sum()) for name in COUNTS}
    return ArrayCounts(events, busy, cycles)


pytestmark = pytest.mark.long


def row_slots(bench: ArrayBench, tiles: list[Tile]) -> list[RowSlots]:
    """The slots that the bench sends."""
    found = []
    for row in range(bench.config.rows):
        kind, index = [], []
        for tile in tiles:
            for slot in bench.slots(tile.slices[row]):
                kind.append(slot["kind"])
                index.append(slot["index"])
        found.append(RowSlots(np.array(kind), np.array(index)))
    return found


def compare(bench: ArrayBench, name: str, seed: int, slices: int = 12) -> None:
    config: TensaurusConfig = bench.config
    kernel, order, vectors, scalars = JOBS[name]
    rng = np.random.default_rng(seed)
    job = random_job(config, rng, kernel, order, vectors=vectors, scalars=scalars)
    lengths = [1, 1, 2, 3, 4, 5, 8, 13, 21, 34, 150]
    sides = int(rng.integers(8))
    tiles = [
        random_tile(config, rng, job, slices=count, lengths=lengths, sides=sides)
        for count in (slices, 0, slices // 2)
    ]
    bench.unit.reset()
    bench.begin(job)
    bench.load(tiles[0])
    phase = bench.unit.cycle
    bench.run(tiles)
    counts = bench.counts()
    expected = array_counts(
        config,
        Kernel(name=kernel, order=order, vectors=vectors, scalars=scalars),
        row_slots(bench, tiles),
        bench.regions(job),
        [tile.sides for tile in tiles],
        phase=phase,
        limit=100_000,
    )
    # Slots come later there.
    names = set(COUNTS) - {"wait_slots"}
    assert {n: expected.events[n] for n in names} == {n: counts[n] for n in names}
    assert expected.busy == counts["last"] - counts["first"] + 1


@pytest.mark.slow
@pytest.mark.parametrize("name", JOBS)
def test_every_count_is_equal(name: str) -> None:
    bench = ArrayBench(small())
    for seed in range(max(1, cases(20) // 5)):
        compare(bench, name, seed)


@pytest.mark.parametrize("stages", slow_but([], [1, 2], [2]))
def test_other_latencies(stages: int) -> None:
    """Fewer partial sums, and rows that are no power of two."""
    rows = 1 + 2 * (stages - 1)
    bench = ArrayBench(
        small(order=3, rows=rows, vlen=1, adder_stages=stages, multiplier_stages=stages)
    )
    for name in ("mm 1", "mv", "mttkrp 3, 1", "ttmc 3, 1 3"):
        compare(bench, name, 60)
