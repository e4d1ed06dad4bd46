"""The warp-level sequencer: every instruction through the RTL against its model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from tilewright.hw.emit import emit
from tilewright.hw.spec.m3xu import INSTRUCTIONS, Instruction, SequencerConfig
from tilewright.sim.m3xu import matrix_unit
from tilewright.sim.sequencer import execute, tiles_of
from tilewright.verif.native import NativeSimulation, Pauses, pack, unpack

SMALL = SequencerConfig(rows=4, cols=2, depth=4)
ONE_TILE_ROW = SequencerConfig(
    rows=16, cols=1, depth=2, modes=("bf16", "fp32"), data_assignment="pipelined", pipeline=2
)
ILLEGAL = 7

Words = npt.NDArray[np.uint64]


@cache
def simulation(config: SequencerConfig) -> NativeSimulation:
    return NativeSimulation(emit("m3xu_sequencer", config))


def fragments(
    config: SequencerConfig, instruction: Instruction, rng: np.random.Generator
) -> tuple[Words, Words, Words]:
    """Random fragments; half of them with exponents near zero, so that sums are finite."""

    def lanes(*shape: int) -> Words:
        return rng.integers(0, 1 << 16, shape, dtype=np.uint64)

    a, b = lanes(16, instruction.lanes), lanes(instruction.lanes, 8)
    c = rng.integers(0, 1 << config.accumulator_bits, (16, 8), dtype=np.uint64)
    if rng.random() < 0.5:
        a, b = (a & np.uint64(0xBFFF)) | np.uint64(0x3000), (b & np.uint64(0x8FFF))
        b |= np.uint64(0x3000)
        c &= np.uint64(0xBFFF3FFFBFFF3FFF)
    return a, b, c


class Program:
    """A sequence of instructions, as the sequencer's streams carry it, and what it yields."""

    def __init__(self, config: SequencerConfig, opcodes: Sequence[int], seed: int) -> None:
        self.config = config
        rng = np.random.default_rng(seed)
        by_opcode = {row.opcode: row for row in config.instructions}
        zero = np.zeros((config.rows, config.cols), np.uint64)
        self.tiles: dict[str, list[Words]] = {"i_a": [], "i_b": [], "i_c": []}
        self.opcodes = np.array(opcodes)
        self.results: list[Words] = []
        self.errors: list[int] = []
        self.last: list[int] = []
        for opcode in opcodes:
            if opcode not in by_opcode:
                self._expect([zero], error=1)
                continue
            a, b, c = fragments(config, by_opcode[opcode], rng)
            d = execute(config, by_opcode[opcode], a, b, c)
            columns = tiles_of(a, config.rows, config.depth).swapaxes(0, 1)
            self.tiles["i_a"] += list(columns.reshape(-1, config.rows, config.depth))
            rows = tiles_of(b, config.depth, config.cols)
            self.tiles["i_b"] += list(rows.reshape(-1, config.depth, config.cols))
            self.tiles["i_c"] += self._grid(c)
            self._expect(self._grid(d), error=0)

    def _grid(self, fragment: Words) -> list[Words]:
        tiles = tiles_of(fragment, self.config.rows, self.config.cols)
        return list(tiles.reshape(-1, self.config.rows, self.config.cols))

    def _expect(self, tiles: list[Words], *, error: int) -> None:
        self.results += tiles
        self.errors += [error] * len(tiles)
        self.last += [0] * (len(tiles) - 1) + [1]

    def run(self, pauses: Pauses = Pauses()) -> int:
        """Run it through the RTL, check every result, return the cycles."""
        sim = simulation(self.config)
        payloads = {"i": pack({"op": self.opcodes}, sim.stream("i"))}
        for name, tiles in self.tiles.items():
            if tiles:
                payloads[name] = pack({name[-1]: np.array(tiles)}, sim.stream(name))
        outputs, cycles = sim.run_streams(payloads, {"o": len(self.results)}, pauses=pauses)
        got = unpack(outputs["o"], sim.stream("o"))
        np.testing.assert_array_equal(got["d"].astype(np.uint64), np.array(self.results))
        np.testing.assert_array_equal(got["error"], self.errors)
        np.testing.assert_array_equal(got["last"], self.last)
        return cycles


@pytest.mark.parametrize("config", [SMALL, ONE_TILE_ROW], ids=["small", "pipelined"])
@pytest.mark.parametrize("seed", range(4))
def test_mixed_instructions_with_stalls(config: SequencerConfig, seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    opcodes = rng.choice([*config.opcodes.values(), ILLEGAL], 40).tolist()
    pauses = Pauses() if seed == 0 else Pauses(seed=seed, gap=0.4, stall=0.3 * seed)
    Program(config, opcodes, seed).run(pauses)


def test_an_illegal_opcode_is_harmless() -> None:
    """Alone, repeated, and as the opcode of a mode the unit lacks."""
    assert Program(SMALL, [ILLEGAL], 1).run() > 0
    lacking = INSTRUCTIONS["HMMA.1684.F32.TF32"].opcode
    legal = ONE_TILE_ROW.instructions[0].opcode
    Program(ONE_TILE_ROW, [legal, lacking, lacking, legal, lacking], 2).run()


@pytest.mark.parametrize("config", [SMALL, ONE_TILE_ROW], ids=["small", "pipelined"])
def test_cycles_are_those_of_the_sidecar(config: SequencerConfig) -> None:
    for name, opcode in config.opcodes.items():
        few, many = (Program(config, [opcode] * n, 3).run() for n in (4, 12))
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
