"""Simulates the warp-level sequencer on random instructions, and measures their cycles."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from tilewright.hw.catalogue import find_unit
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.host.activity import activity
from tilewright.hw.spec.sequencer import Instruction, SequencerConfig
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.streams import NativeSimulation, Pauses
from tilewright.verif.bench.operations_run import GAP, STALL, halves
from tilewright.verif.kit.reports import Report, Timing
from tilewright.verif.matrix_units.m3xu.instructions import ILLEGAL, Program

__all__ = ["run"]

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
