"""Simulates the warp-level sequencer on random instructions, and measures their cycles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tilewright.hw.catalogue import find_unit
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.host.activity import activity
from tilewright.hw.spec.sequencer import Instruction, SequencerConfig
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, pack, unpack
from tilewright.sim.units.m3xu_sequencer import execute, tiles_of
from tilewright.verif.bench.stream_job import GAP, STALL, halves
from tilewright.verif.kit.reports import Report, Timing

#: An opcode that is no instruction.
ILLEGAL = 7

Words = npt.NDArray[np.uint64]


def fragments(
    config: SequencerConfig, instruction: Instruction, rng: np.random.Generator
) -> tuple[Words, Words, Words]:
    """Random fragments a, b, c; half of them with exponents near zero, so that sums are finite."""

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

    def run(self, sim: NativeSimulation, pauses: Pauses | None = None) -> int:
        """Run it through the RTL, check every result, return the cycles.

        Raises AssertionError, with the differences, if a result is wrong.
        """
        payloads = {"i": pack({"op": self.opcodes}, sim.stream("i"))}
        for name, tiles in self.tiles.items():
            if tiles:
                payloads[name] = pack({name[-1]: np.array(tiles)}, sim.stream(name))
        counts = {"o": len(self.results)}
        outputs, cycles = sim.run_streams(payloads, counts, pauses=pauses or Pauses())
        got = unpack(outputs["o"], sim.stream("o"))
        np.testing.assert_array_equal(got["d"].astype(np.uint64), np.array(self.results))
        np.testing.assert_array_equal(got["error"], self.errors)
        np.testing.assert_array_equal(got["last"], self.last)
        return cycles


_TIMED = 8


def run(
    unit: Unit | str,
    config: SequencerConfig,
    *,
    seed: int = 0,
    count: int = 1000,
    waves: Path | None = None,
) -> Report:
    """Check random instructions, some of them illegal, with gaps and stalls and without.

    The native harness drives the RTL under Verilator.

    Parameters
    ----------
    unit, config: the unit, or its name in the catalogue
    seed: of fragments, gaps and stalls
    count: instructions, half of them with gaps and stalls, half back to back
    waves: file for the waves

    Raises as :class:`NativeSimulation`.
    """
    sim = NativeSimulation(emit(unit, config), waves=waves)
    rng = np.random.default_rng(seed)
    opcodes = list(config.opcodes.values())
    paused, together = halves(count)
    mixed = rng.choice([*opcodes, ILLEGAL], paused).tolist()
    legal = rng.choice(opcodes, together).tolist()
    complaints: list[str] = []
    cycles = promised = 0
    timings: list[Timing] = []
    try:
        with activity("simulating instructions", total=count) as shown:
            Program(config, mixed, seed).run(sim, Pauses(seed=seed, gap=GAP, stall=STALL))
            shown.step(paused)
            if together:
                Program(config, legal, seed + 1).run(sim)
        timings = [_timing(sim, config, row, seed) for row in config.instructions]
        same = [row for row in config.instructions for _ in range(_TIMED)]
        cycles = Program(config, [row.opcode for row in same], seed).run(sim)
        promised = _promised(config, same)
    except AssertionError as error:
        complaints.append(" ".join(str(error).split()))
    names = {row.opcode: row.name for row in config.instructions}
    chosen = Counter(names.get(opcode, "illegal") for opcode in mixed)
    report = Report(
        unit=find_unit(unit).name,
        simulator="verilator",
        seed=seed,
        operations=count,
        cycles=cycles,
        cycles_promised=promised,
        timings=timings,
        coverage=Counter({(name, "instructions"): n for name, n in chosen.items()}),
        complaints=complaints,
        kinds=chosen,
    )
    complaints += report.timing_complaints()
    return report


def _tail(config: SequencerConfig, row: Instruction) -> int:
    """Cycles from an instruction's first result tile to its last."""
    return (config.row_tiles * config.col_tiles - 1) * row.mode.steps


def _timing(sim: NativeSimulation, config: SequencerConfig, row: Instruction, seed: int) -> Timing:
    one = Program(config, [row.opcode], seed).run(sim)
    many = Program(config, [row.opcode] * (1 + _TIMED), seed).run(sim)
    return Timing(
        mode=row.name,
        latency=one - 1 - _tail(config, row),
        latency_promised=config.latency[row.name],
        interval=(many - one) / _TIMED,
        interval_promised=config.initiation_interval[row.name],
    )


def _promised(config: SequencerConfig, rows: list[Instruction]) -> int:
    """Cycles of instructions one after the other, by the sidecar."""
    last = rows[-1]
    busy = sum(config.initiation_interval[row.name] for row in rows[:-1])
    return busy + config.latency[last.name] + _tail(config, last) + 1
