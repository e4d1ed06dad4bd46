"""The cycle models of the parts that sum columns and make rows, compared with the hardware in every
cycle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.hw.sida.elementwise.row_packer import RowPacker
from tilewright.hw.sida.held.late_sums import SumRows
from tilewright.hw.sida.sums.both_sums import BothSums
from tilewright.hw.sida.vectors.gather import Gather
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.sida.cycles.compute import (
    MACHINE,
    Lanes,
    gather_ready,
    gather_step,
    lanes,
    set_up_sizes,
    set_up_sums,
    set_up_vectors,
    sums_offer,
    sums_step,
)
from tilewright.sim.sida.cycles.ewise_core import packer_step, sum_rows_step
from tilewright.sim.timing.compiled import compiled
from tilewright.sim.timing.parts import fields
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.cycles.replay import Replayed, Sets, any_sets, set_inputs, show_set
from tilewright.verif.timing.striped.pace import pattern

pytestmark = pytest.mark.long

CONFIG = SidaConfig(
    pes=4, subtensor=8, vector_words=64, value="fp16", semirings=("minplus",), adder_stages=2
)
_CYCLES = 400
_DEPTH = 2 * CONFIG.subtensor // CONFIG.pes + 1
"""Rows that may wait."""

SUMS = np.dtype(fields("valid", "base", "columns", "elements"))
ROWS = np.dtype(fields("valid", "base", "columns", "o_valid", "start"))


@compiled
def _sums(machines: Any, given: Any, seen: Any) -> None:
    m = machines[0]
    for now in range(len(given)):
        sums_offer(m)
        one = seen[now]
        one.valid = m.results.valid
        one.base = m.results.base
        one.columns = m.results.columns
        m.gathered.valid = given[now].valid
        m.gathered.base = given[now].base
        m.gathered.columns = given[now].columns
        m.gathered.elements = given[now].elements
        sums_step(m)
        one.elements = m.set_elements


@pytest.mark.slow
def test_results_come_when_they_do() -> None:
    rng = np.random.default_rng(1)
    machines = np.zeros(1, MACHINE)
    set_up_sizes(machines[0], CONFIG)
    set_up_sums(machines[0], CONFIG)
    given, seen = np.zeros(_CYCLES, SUMS), np.zeros(_CYCLES, SUMS)
    present = rng.integers(0, 2, (_CYCLES, CONFIG.pes))
    given["valid"] = rng.integers(0, 2, _CYCLES)
    given["base"] = rng.integers(0, 60, _CYCLES)
    given["columns"] = rng.integers(0, CONFIG.pes + 1, _CYCLES)
    given["elements"] = present.sum(axis=1)
    _sums(machines, given, seen)
    inputs = {f"i_{name}": given[name] for name in ("valid",)}
    inputs |= {f"i_set_{name}": given[name] for name in ("base", "columns")}
    inputs["i_set_leaves_valid"] = present
    found = Replayed(BothSums(CONFIG)).run(inputs, _CYCLES)
    there = seen["valid"] == 1
    assert there.any()
    for side in ("first", "second"):
        np.testing.assert_array_equal(found[f"{side}_valid"], seen["valid"])
        for name in ("base", "columns"):
            results = found[f"{side}_results_{name}"]
            np.testing.assert_array_equal(results[there], seen[name][there])
    np.testing.assert_array_equal(found["elements"].astype(int), _bits(present, given))


def _bits(present: Any, given: Any) -> Any:
    """Leaves as bits of a number, of sets that are there."""
    return (present << np.arange(CONFIG.pes)).sum(axis=1) * given["valid"]


@compiled
def _pack(machines: Any, counts: Any, offers: Any, takes: Any, depth: int, seen: Any) -> None:
    """Vectors of ``m.rows`` columns one after the other, a cycle between them."""
    m = machines[0]
    base = ahead = 0
    for now in range(len(seen)):
        one = seen[now]
        ended = base == m.rows
        if ended:
            base = 0
        columns = min(counts[now], m.rows - base)
        gives = not ended and offers[now] and ahead <= depth - 2
        one.valid = gives
        one.base = base
        one.columns = columns
        one.o_valid = m.packed.valid
        m.results.valid = gives
        m.results.base = base
        m.results.columns = columns
        ahead -= m.packed.valid and takes[now]
        packer_step(m, takes[now] != 0)
        if gives:
            before = base // m.pes
            base += columns
            ahead += (base if base < m.rows else base + m.pes - 1) // m.pes - before


@pytest.mark.slow
def test_rows_are_there_when_they_are() -> None:
    unit = Replayed(RowPacker(CONFIG))
    for seed in range(by_size(2, 10, 40)):
        rng = np.random.default_rng(seed)
        machines = np.zeros(1, MACHINE)
        set_up_sizes(machines[0], CONFIG)
        machines[0]["rows"] = rows = rng.integers(1, 30)
        counts = rng.integers(0, CONFIG.pes + 1, _CYCLES)
        offers, takes = (pattern(rng, _CYCLES, rng.choice([0.0, 0.3, 0.7])) for _ in range(2))
        seen = np.zeros(_CYCLES, ROWS)
        _pack(machines, counts, offers, takes, _DEPTH, seen)
        inputs = {f"results_{name}": seen[name] for name in ("base", "columns")}
        inputs |= {"valid": seen["valid"], "columns": np.full(_CYCLES, rows), "o_ready": takes}
        found = unit.run(inputs, _CYCLES)
        np.testing.assert_array_equal(found["o_valid"], seen["o_valid"])
        assert seen["o_valid"].any()


@compiled
def _sum_rows(machines: Any, starts: Any, takes: Any, seen: Any) -> None:
    m = machines[0]
    for now in range(len(seen)):
        m.second = starts[now] and not m.sum_there
        seen[now].start = m.second
        seen[now].o_valid = m.sum_there
        sum_rows_step(m, takes[now] != 0)


@pytest.mark.slow
def test_rows_of_w_follow_each_other() -> None:
    unit = Replayed(SumRows(CONFIG))
    for rows in (1, 4, 5, 31):
        rng = np.random.default_rng(rows)
        machines = np.zeros(1, MACHINE)
        set_up_sizes(machines[0], CONFIG)
        machines[0]["rows"] = rows
        starts, takes = (rng.integers(0, 2, _CYCLES) for _ in range(2))
        seen = np.zeros(_CYCLES, ROWS)
        _sum_rows(machines, starts, takes, seen)
        inputs = {"start": seen["start"], "columns": np.full(_CYCLES, rows), "o_ready": takes}
        found = unit.run(inputs, _CYCLES)
        np.testing.assert_array_equal(found["o_valid"], seen["o_valid"])


# The cycle model of Gather against the hardware: equal in every cycle.

CONFIGS = {
    "four": SidaConfig(pes=4, subtensor=8, vector_words=64, window=4, value="fp16"),
    "eight": SidaConfig(pes=8, subtensor=8, vector_words=256, value="fp16"),
}
SEEN = np.dtype(
    [
        (name, np.int64)
        for name in ("shown", "z_steps", "i_ready", "o_valid", "base", "columns", "elements",
                     "conflicts", "waits")
    ]
)  # fmt: skip
"""Record of a cycle."""


@compiled
def _run(
    machines: Any, g: Lanes, given: Sets, offers: Any, takes: Any, steps: Any, seen: Any
) -> int:
    """All sets, each when it is offered; returns the cycles."""
    m = machines[0]
    number = 0
    for now in range(len(offers)):
        if number == len(given.sets) and not m.gathered.valid and g.taken.sum() == number:
            return now
        if not m.set.valid and number < len(given.sets) and offers[now]:
            m.set.valid = 1
            show_set(m, given, number)
        ready = gather_ready(m, g, m.set.valid != 0)
        one = seen[now]
        one.shown = number if m.set.valid else -1
        one.z_steps = m.z_steps
        one.i_ready = ready
        one.o_valid = m.gathered.valid
        one.base = m.gathered.base
        one.columns = m.gathered.columns
        one.elements = m.gathered.elements
        one.waits = m.wait_z
        enters = m.set.valid and ready
        gather_step(m, g, enters, takes[now] != 0, now)
        one.conflicts = m.conflicts
        if enters:
            m.set.valid = 0
            number += 1
        m.z_steps += steps[now]
    return -1


def compare(config: SidaConfig, unit: Replayed, seed: int) -> int:
    """Sets through the model, and the same again through the hardware; returns operands that
    waited."""
    rng = np.random.default_rng(seed)
    given = any_sets(config, rng, 200)
    machines = np.zeros(1, MACHINE)
    set_up_sizes(machines[0], config)
    set_up_vectors(machines[0], config, 0)
    cycles = 20_000
    seen = np.zeros(cycles, SEEN)
    gap, stall = rng.choice([0.0, 0.3, 0.8], 2)
    offers, takes = pattern(rng, cycles, gap), pattern(rng, cycles, stall)
    count = config.vector_words // config.subtensor
    steps = np.zeros(cycles, np.int64)
    steps[np.sort(rng.integers(0, 600, count))] = 1
    cycles = _run(machines, lanes(config), given, offers, takes, steps, seen)
    assert cycles > 0
    seen = seen[:cycles]
    inputs = set_inputs(config, given, seen["shown"])
    inputs["o_ready"] = takes[:cycles]
    inputs["z_steps"] = seen["z_steps"]
    found = unit.run(inputs, cycles)
    there = seen["o_valid"] == 1
    assert there.sum() >= len(given.sets)
    for name in ("i_ready", "o_valid", "conflicts", "waits"):
        shown = seen["shown"] >= 0 if name == "i_ready" else slice(None)
        np.testing.assert_array_equal(found[name][shown], seen[name][shown], name)
    for name in ("base", "columns"):
        np.testing.assert_array_equal(found[f"o_set_{name}"][there], seen[name][there], name)
    elements = found["o_set_leaves_valid"].sum(axis=1)
    np.testing.assert_array_equal(elements[there], seen["elements"][there])
    return int(seen["conflicts"].sum())


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["four"]))
def test_every_cycle_is_equal(name: str) -> None:
    unit = Replayed(Gather(CONFIGS[name]))
    conflicts = 0
    for seed in range(by_size(2, 4, 20)):
        conflicts += compare(CONFIGS[name], unit, seed)
    assert conflicts
