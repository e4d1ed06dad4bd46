"""Passes through :class:`WindowedElements`, with a memory for w."""

from __future__ import annotations

from functools import partial
from typing import Any

from tilewright.hw.sida.spilled.windowed_elements import WindowedElements
from tilewright.hw.spec.sida import SidaConfig
from tilewright.verif.sida.held.pass_bench import Pass, RunningPass, Seen, run_passes
from tilewright.verif.sida.spilled.row_memory import RowMemory
from tilewright.verif.stream.agents import Sink

__all__ = ["run_windowed"]


class _WindowedPass(RunningPass):
    """What surrounds the part during a pass: the memory, too."""

    def __init__(
        self,
        dut: Any,
        config: SidaConfig,
        given: Pass,
        gap: float,
        seed: str,
        *,
        stall: float,
        latency: int,
    ) -> None:
        super().__init__(dut, config, given, gap, seed)
        self.memory = RowMemory(dut, stall=stall, latency=latency, seed=seed)
        self.rows = Sink(dut.w, stall=stall, seed=f"{seed} w", accept=self.add_row)
        self.agents += [self.memory, self.rows]
        self.asks = False

    def drive(self, sim: Any, cycle: int) -> None:
        sim.set(self.dut.reads, int(self.asks and not self.reads))
        self.reads += self.asks
        super().drive(sim, cycle)

    def see(self, sim: Any) -> None:
        """Asks for w, which comes by itself then; by then it is in memory."""
        if not self.asks:
            assert self.memory.idle
            self.seen.counts["missed"] = sim.get(self.dut.missed)
            self.seen.counts["fetched"] = len(self.memory.fetched)
            self.seen.counts["spilled"] = len(self.memory.spilled)
            self.asks = True


def run_windowed(
    config: SidaConfig,
    passes: list[Pass],
    *,
    stall: float = 0.0,
    latency: int = 1,
    **others: Any,
) -> list[Seen]:
    """Likewise :func:`run_passes`: rows that were fetched are those that are counted, and each of
    them went back, as all first values went there."""
    surround = partial(_WindowedPass, stall=stall, latency=latency)
    seen = run_passes(config, passes, part=WindowedElements, surround=surround, **others)
    for given, found in zip(passes, seen, strict=True):
        counts = found.counts
        rows = -(-given.matrix.size // config.pes)
        assert counts["fetched"] == counts["missed"]
        assert counts["spilled"] == counts["missed"] + rows
    return seen
