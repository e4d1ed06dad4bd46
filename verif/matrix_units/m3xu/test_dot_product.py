"""The dot product unit in a grid of one: every pipeline, several windows and depths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.m3xu import BaselineConfig, GridUnitConfig, M3xuConfig, WideConfig
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, pack, unpack
from tilewright.sim.units.m3xu import mixed_operations
from tilewright.verif.kit.sampling import cases, slow_but
from tilewright.verif.matrix_units.matrix_stimuli import operations

ONE: dict[str, Any] = {"rows": 1, "cols": 1}

CONFIGS: dict[str, tuple[str, GridUnitConfig]] = {
    **{f"m3xu_{n}": ("m3xu", M3xuConfig(**ONE, depth=4, pipeline=n)) for n in range(1, 7)},
    **{
        f"baseline_{n}": ("m3xu_baseline", BaselineConfig(**ONE, depth=2, pipeline=n))
        for n in (1, 3, 6)
    },
    "wide": ("m3xu_wide", WideConfig(**ONE, depth=3, pipeline=5)),
    "fp32_alone": ("m3xu", M3xuConfig(**ONE, depth=2, modes=("fp32",))),
    "bf16_alone": ("m3xu", M3xuConfig(**ONE, depth=1, modes=("bf16",), alignment_bits=26)),
    "odd_depth": ("m3xu", M3xuConfig(**ONE, depth=5, modes=("fp16", "bf16"), alignment_bits=33)),
    "lanes_of_six": (
        "m3xu",
        M3xuConfig(**ONE, depth=6, modes=("tf32", "fp32"), data_assignment="pipelined"),
    ),
    # A normaliser of 64 bits, a power of two, once lost totals of -1 (window 34, 8 products).
    "power_of_two": ("m3xu_baseline", BaselineConfig(**ONE, depth=8, alignment_bits=34)),
    "wide_window": ("m3xu", M3xuConfig(**ONE, depth=8, alignment_bits=98)),
}

SAMPLE = ("baseline_3", "wide", "lanes_of_six", "power_of_two")
"""Those of the default test, with the quick test's."""


@pytest.mark.parametrize("name", slow_but(["m3xu_4"], CONFIGS, SAMPLE))
def test_every_configuration_gives_the_models_bits(name: str) -> None:
    unit, config = CONFIGS[name]
    emitted = emit(unit, config)
    sim = NativeSimulation(emitted)
    # Windows over 60 bits take the model's slow path.
    sent = operations(config, cases(20_000 if config.alignment_bits <= 60 else 2_000), 701)
    payload = pack({"op": sent.op, "a": sent.a, "b": sent.b, "c": sent.c}, sim.stream("i"))
    d, error = mixed_operations(config, sent.op, sent.a, sent.b, sent.c)
    for pauses in (Pauses(), Pauses(seed=702, gap=0.3, stall=0.3)):
        run = sim.run(payload, pauses=pauses)
        got = unpack(run.payloads, sim.stream("o"))
        np.testing.assert_array_equal(got["d"].astype(np.uint64), d)
        np.testing.assert_array_equal(got["error"].astype(bool), error)
    sim.reset()
    free = sim.run(payload)
    # An illegal operation takes as long as one of a single step.
    interval = {config.opcodes[mode]: n for mode, n in config.initiation_interval.items()}
    steps = [interval.get(op, 1) for op in sent.op.tolist()]
    single = config.operand_stages + config.pipeline
    start, end = int(free.input_cycles[0]), free.output_cycles
    assert int(end[0]) - start == single + steps[0] - 1
    assert int(end[-1]) - start == single + sum(steps) - 1
