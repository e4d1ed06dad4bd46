"""The warp-level sequencer: every instruction through the RTL against its model."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.sequencer import INSTRUCTIONS, SequencerConfig
from tilewright.sim.rtl.streams import NativeSimulation, Pauses
from tilewright.sim.units.m3xu import matrix_unit
from tilewright.sim.units.m3xu_sequencer import execute
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.matrix_units.m3xu.instructions import ILLEGAL, Program, fragments

SMALL = SequencerConfig(rows=4, cols=2, depth=4)
ONE_TILE_ROW = SequencerConfig(
    rows=16, cols=1, depth=2, modes=("bf16", "fp32"), data_assignment="pipelined", pipeline=2
)
CONFIGS = [SMALL, ONE_TILE_ROW]


@cache
def simulation(config: SequencerConfig) -> NativeSimulation:
    return NativeSimulation(emit("m3xu_sequencer", config))


@pytest.mark.parametrize("config", slow_but([], CONFIGS, [SMALL]), ids=["small", "pipelined"])
@pytest.mark.parametrize("seed", range(4))
def test_mixed_instructions_with_stalls(config: SequencerConfig, seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    opcodes = rng.choice([*config.opcodes.values(), ILLEGAL], 40).tolist()
    pauses = Pauses() if seed == 0 else Pauses(seed=seed, gap=0.4, stall=0.3 * seed)
    Program(config, opcodes, seed).run(simulation(config), pauses)


@pytest.mark.slow
def test_an_illegal_opcode_is_harmless() -> None:
    assert Program(SMALL, [ILLEGAL], 1).run(simulation(SMALL)) > 0


@pytest.mark.long
def test_the_opcode_of_a_mode_that_the_unit_lacks_is_harmless() -> None:
    """Alone and repeated."""
    lacking = INSTRUCTIONS["HMMA.1684.F32.TF32"].opcode
    legal = ONE_TILE_ROW.instructions[0].opcode
    program = [legal, lacking, lacking, legal, lacking]
    assert Program(ONE_TILE_ROW, program, 2).run(simulation(ONE_TILE_ROW)) > 0


@pytest.mark.parametrize("config", slow_but([SMALL], CONFIGS, []), ids=["small", "pipelined"])
def test_cycles_are_those_of_the_sidecar(config: SequencerConfig) -> None:
    for name, opcode in config.opcodes.items():
        sim = simulation(config)
        few, many = (Program(config, [opcode] * n, 3).run(sim) for n in (4, 12))
        assert many - few == 8 * config.initiation_interval[name], name


def test_shapes_are_those_of_the_mnemonics() -> None:
    depths = {name: row.depth for name, row in INSTRUCTIONS.items()}
    assert depths == {
        "HMMA.16816.F32": 16,
        "HMMA.16816.F16": 16,
        "HMMA.16816.F32.BF16": 16,
        "HMMA.1684.F32.TF32": 4,
        "HMMA.16416.F32.FP32": 8,
        "HMMA.16216.F32C.FP32C": 4,
    }


def test_the_model_chains_whole_dot_products() -> None:
    """An fp16 instruction on a unit as deep as the fragment equals its own halves, chained."""
    instruction = INSTRUCTIONS["HMMA.16816.F32"]
    config = SequencerConfig(rows=16, cols=8, depth=8)
    rng = np.random.default_rng(4)
    a, b, c = fragments(config, instruction, rng)
    first = matrix_unit(config.unit, "fp16", a[None, :, :8], b[None, :8], c[None])
    second = matrix_unit(config.unit, "fp16", a[None, :, 8:], b[None, 8:], first)
    np.testing.assert_array_equal(execute(config, instruction, a, b, c), second[0])


def test_fp16_accumulators_round_once_more() -> None:
    """Against NumPy: small integers are exact, so D is the fp16 of an exact integer matrix."""
    instruction = INSTRUCTIONS["HMMA.16816.F16"]
    rng = np.random.default_rng(5)
    a, b, c = (rng.integers(-50, 50, shape) for shape in ((16, 16), (16, 8), (16, 8)))
    bits = [np.asarray(x, np.float16).view(np.uint16) for x in (a, b, c)]
    want = (a @ b + c).astype(np.float16).view(np.uint16)
    np.testing.assert_array_equal(execute(SMALL, instruction, *bits), want)
