"""The cycle model of HeldElements against the hardware: equal in every cycle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.hw.sida.held.held_elements import HeldElements
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.sida.cycles.compute import MACHINE
from tilewright.sim.sida.cycles.held_state import set_up_held
from tilewright.sim.sida.cycles.shared import set_up_sizes
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.cycles.held_pass import GATES, SEEN, passage, run_pass
from tilewright.verif.sida.cycles.replay import Replayed
from tilewright.verif.sida.cycles.sets import set_inputs
from tilewright.verif.sida.held.matrices import SHAPES, drawn
from tilewright.verif.timing.striped.pace import pattern

pytestmark = pytest.mark.long


def small(**changes: Any) -> SidaConfig:
    given: dict[str, Any] = {
        "pes": 4, "subtensor": 4, "buffer_words": 64, "vector_words": 64, "value": "fp16",
        "semirings": ("minplus",),
    }  # fmt: skip
    return SidaConfig(**{**given, **changes})


CONFIGS = {
    "tiny": small(),
    "ample": small(subtensor=8, buffer_words=1024, adder_stages=1),
    "one panel": small(subtensor=64, adder_stages=2),
    "eight": small(pes=8, subtensor=8, buffer_words=256, vector_words=256, multiplier_stages=1),
}
SIGNALS = {
    "i_ready": "i_valid",
    "z_ready": None,
    "reload_ready": None,
    "request_valid": None,
    "request_panel": "request_valid",
    "request_columns": "request_valid",
    "done": None,
    "counts_held": None,
    "counts_most": None,
}
"""Outputs, and for each whether it means something only where another one is set."""
_MOST = 20_000


def compare(config: SidaConfig, unit: Replayed, seed: int, passes: int = 2) -> int:
    """Passes one after the other on the model and on the hardware; returns requests."""
    rng = np.random.default_rng(seed)
    machines = np.zeros(1, MACHINE)
    m = machines[0]
    set_up_sizes(m, config)
    m["second_product"] = 1
    m["transposed"] = seed % 3 == 2
    held = set_up_held(m, config, 0)
    found, inputs = [], []
    for number in range(passes):
        shape = SHAPES[(seed + number) % len(SHAPES)]
        size = int(rng.integers(1, min(config.vector_words, 100) + 1))
        matrix = drawn(rng, config, size, shape)
        cut = float(rng.choice([0.0, 0.4]))
        given = passage(config, matrix, rng, cut, transposed=bool(m["transposed"]))
        m["rows"] = size
        seen = np.zeros(_MOST, SEEN)
        gates = np.stack([pattern(rng, _MOST, p) for p in rng.choice([0.0, 0.3, 0.6], len(GATES))])
        cycles = run_pass(machines, held, given, gates, seen)
        assert cycles > 0, (shape, size, cycles)
        found.append(seen[:cycles])
        inputs.append(_inputs(config, given, seen[:cycles], gates[:, :cycles]))
    model = np.concatenate(found)
    joined = {name: np.concatenate([one[name] for one in inputs]) for name in inputs[0]}
    joined["transposed"] = np.full(len(model), m["transposed"])
    hardware = unit.run(joined, len(model))
    for name, valid in SIGNALS.items():
        which: Any = slice(None)
        if valid is not None:
            which = (model["shown"] >= 0) if valid == "i_valid" else model[valid] == 1
        np.testing.assert_array_equal(hardware[name][which], model[name][which], name)
    return int(model["request_valid"].sum())


def _inputs(config: SidaConfig, given: Any, seen: Any, gates: Any) -> dict[str, Any]:
    leaves = np.arange(config.pes)
    again = seen["reload_at"][:, None] + leaves
    columns = np.append(given.columns, np.zeros(config.pes, np.int64))
    present = (again < seen["reload_end"][:, None]) & (seen["reload_valid"][:, None] == 1)
    return {
        **set_inputs(config, given.sets, seen["shown"]),
        "start": seen["start"],
        "columns": seen["rows"],
        "first_valid": seen["first_valid"],
        "first_base": seen["first_base"],
        "first_columns": seen["first_columns"],
        "z_valid": seen["z_valid"],
        "request_ready": gates[3],
        "reload_valid": seen["reload_valid"],
        "reload_last": seen["reload_last"],
        "reload_elements_valid": present,
        "reload_elements_column": columns[np.minimum(again, len(columns) - 1)] * present,
    }


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["tiny"]))
def test_every_cycle_is_equal(name: str) -> None:
    unit = Replayed(HeldElements(CONFIGS[name]))
    requests = sum(compare(CONFIGS[name], unit, seed) for seed in range(by_size(3, 9, 45)))
    assert requests or name in ("ample", "one panel")
