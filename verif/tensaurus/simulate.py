"""Simulates a Tensaurus on random products from a memory that behaves as badly as it may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.accelerator import AxiBehaviour
from tilewright.verif.kit.reports import JobsReport, JobsUnderWay, any_behaviour, run_jobs
from tilewright.verif.tensaurus.jobs import check_case, random_case

_MEMORY_BYTES = 1 << 19


def run(
    unit: Unit | str,
    config: TensaurusConfig,
    *,
    seed: int = 0,
    count: int = 1000,
    waves: Path | None = None,
) -> JobsReport:
    """Check random products, sparse and dense, in tiles, against the model: all of memory, status
    and counters.

    Every other memory answers at once, the others are slow, out of order, with stalls on all
    channels, or all of it.

    Parameters
    ----------
    unit, config: the unit, or its name in the catalogue
    seed: of products and memories
    count: jobs
    waves: file for the waves

    Raises as :class:`NativeAccelerator`.
    """

    def job(state: JobsUnderWay) -> Iterator[tuple[int, int]]:
        rough = state.number % 2
        memory = "rough" if rough else "ideal"
        state.device.behave(any_behaviour(state.rng) if rough else AxiBehaviour())
        case = random_case(state.rng, config)
        state.kind = f"{'dense' if case.work.dense else 'sparse'} {case.work.kernel}"
        state.coverage[memory, "jobs"] += 1
        state.coverage[memory, state.kind] += 1
        counts, tiles = check_case(state.rng, state.device, case)
        state.coverage[memory, "tiles"] += tiles
        yield counts.get("products", 0), counts.get("cycles", 0)

    return run_jobs(
        unit,
        config,
        job,
        counted="products",
        memory_bytes=_MEMORY_BYTES,
        seed=seed,
        count=count,
        waves=waves,
    )
