"""The cycle model of the element-wise core against the hardware: equal in every cycle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.hw.sida.elementwise.ewise_core import EwiseCore
from tilewright.hw.spec.elementwise.program import words_of
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.sida.cycles.compute import MACHINE
from tilewright.sim.sida.cycles.elementwise_state import Program, program, set_up_elementwise
from tilewright.sim.sida.cycles.ewise_core import core_offer, core_step
from tilewright.sim.sida.cycles.shared import set_up_sizes
from tilewright.sim.timing.compiled import compiled
from tilewright.sim.timing.parts import fields
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.cycles.replay import Replayed
from tilewright.verif.sida.elementwise.random_programs import random_program
from tilewright.verif.timing.striped.pace import pattern

pytestmark = pytest.mark.long

CONFIGS = {
    "fp16": SidaConfig(pes=4, subtensor=32, vector_words=512, value="fp16", program_words=64),
    "int32": SidaConfig(
        pes=8, subtensor=8, vector_words=512, value="int32", program_words=64, adder_stages=1,
        multiplier_stages=2,
    ),
    "fp32": SidaConfig(
        pes=4, subtensor=8, vector_words=512, program_words=64, adder_stages=2, multiplier_stages=1
    ),
}  # fmt: skip
SIGNALS = {
    "i_ready": None,
    "loaded_ready": None,
    "done": None,
    "executes": None,
    "waits": None,
    "o_valid": None,
    "o_base": "o_valid",
    "requests_valid": None,
    "requests_vector": "requests_valid",
    "requests_base": "requests_valid",
    "requests_rows": "requests_valid",
    "stored_valid": None,
    "stored_vector": "stored_valid",
    "stored_row_base": "stored_valid",
}
"""Outputs, and for each whether it means something only where another one is set."""
SEEN = np.dtype(fields("start", "i_valid", "loaded_valid", *SIGNALS))
GATES = ("start", "i", "loaded", "o", "requests", "stored")
"""Streams that may pause."""


@compiled
def _run(machines: Any, p: Program, gates: Any, parts: int, seen: Any) -> int:
    """Runs the two parts of a program in turn, ``parts`` in all; returns the cycles."""
    m = machines[0]
    begun = over = rows = row = 0
    there = False
    for now in range(gates.shape[1]):
        if over == parts:
            return now
        starts = begun == over and gates[0, now]
        m.first = starts and begun % 2 == 0
        m.second = starts and begun % 2 == 1
        if starts:
            rows = (m.rows + m.pes - 1) // m.pes
            row = 0
        there = there or (not starts and row < rows and gates[1, now] != 0)
        m.loaded.valid = m.loaded.valid or gates[2, now]
        m.requests.ready = gates[4, now]
        m.stored.ready = gates[5, now]
        one = seen[now]
        one.start = starts
        one.i_valid = there
        one.loaded_valid = m.loaded.valid
        core_offer(m)
        one.o_valid = m.core_result.valid
        one.o_base = m.core_result.base
        core_step(m, p, there, gates[3, now] != 0)
        one.requests_valid = m.requests.valid
        one.requests_vector = m.requests.vector
        one.requests_base = m.requests.base
        one.requests_rows = m.requests.rows
        one.stored_valid = m.stored.valid
        one.stored_vector = m.stored.vector
        one.stored_row_base = m.stored.base
        one.loaded_ready = m.loaded.ready
        one.done = m.core_done
        one.executes = m.executes
        one.waits = m.core_waits
        one.i_ready = m.row_taken
        if m.row_taken:
            there = False
            row += 1
        if m.loaded.ready and m.loaded.valid:
            m.loaded.valid = 0
        begun += starts
        over += m.core_done
    return -1


def compare(config: SidaConfig, unit: Replayed, seed: int) -> None:
    """A program, some parts of it, on the model and on the hardware."""
    rng = np.random.default_rng(seed)
    given = random_program(seed, config.format, int(rng.integers(1, 25)))
    first = words_of(given.e1)
    words = [*first, *words_of(given.e2)]
    machines = np.zeros(1, MACHINE)
    m = machines[0]
    set_up_sizes(m, config)
    set_up_elementwise(m, config)
    m["rows"] = rng.integers(1, [4, 40, 200][seed % 3])
    m["entry"] = len(first)
    most = 40_000
    pauses = rng.choice([0.0, 0.2, 0.6], len(GATES))
    gates = np.stack([pattern(rng, most, pause) for pause in pauses])
    # The program is written first.
    gates[0, : len(words) + 2] = 0
    seen = np.zeros(most, SEEN)
    cycles = _run(machines, program(words), gates, 3, seen)
    assert cycles > 0
    seen = seen[:cycles]
    second = np.cumsum(seen["start"]) % 2 == 0
    writes = np.arange(cycles) < len(words)
    found = unit.run(
        {
            "program_write": writes,
            "program_place": np.arange(cycles) * writes,
            "word": np.array([*words, *[0] * (cycles - len(words))]),
            "words": np.full(cycles, len(words)),
            "columns": np.full(cycles, m["rows"]),
            "start": seen["start"],
            "entry": second * len(first),
            "i_valid": seen["i_valid"],
            "loaded_valid": seen["loaded_valid"],
            **{f"{name}_ready": gates[3 + n, :cycles] for n, name in enumerate(GATES[3:])},
        },
        cycles,
    )
    found["i_ready"] &= seen["i_valid"].astype(bool)
    for name, valid in SIGNALS.items():
        which = slice(None) if valid is None else seen[valid] == 1
        np.testing.assert_array_equal(found[name][which], seen[name][which], name)


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["fp16"]))
def test_every_cycle_is_equal(name: str) -> None:
    unit = Replayed(EwiseCore(CONFIGS[name]))
    for seed in range(by_size(2, 12, 60)):
        compare(CONFIGS[name], unit, seed)
