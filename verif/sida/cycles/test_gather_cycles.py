"""The cycle model of Gather against the hardware: equal in every cycle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.hw.sida.vectors.gather import Gather
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.sida.cycles.compute import MACHINE
from tilewright.sim.sida.cycles.gather import (
    Lanes,
    gather_ready,
    gather_step,
    lanes,
    set_up_vectors,
)
from tilewright.sim.sida.cycles.shared import set_up_sizes
from tilewright.sim.timing.compiled import compiled
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.cycles.replay import Replayed
from tilewright.verif.sida.cycles.sets import Sets, any_sets, set_inputs, show_set
from tilewright.verif.timing.striped.pace import pattern

pytestmark = pytest.mark.long

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
