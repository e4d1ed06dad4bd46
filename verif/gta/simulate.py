"""Simulates a GTA on random products and vectors from a memory that behaves as badly as it may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tilewright.hw.spec.gta import GtaConfig
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.accelerator import AxiBehaviour
from tilewright.verif.gta.jobs import check_product, random_case
from tilewright.verif.gta.vectors import check_vector, random_vector
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.kit.job_checks import QuietAtEnd
from tilewright.verif.kit.random_jobs import JobsUnderWay, run_jobs
from tilewright.verif.kit.reports import JobsReport

__all__ = ["run"]

_MEMORY_BYTES = 1 << 20


def run(
    unit: Unit | str,
    config: GtaConfig,
    *,
    seed: int = 0,
    count: int = 1000,
    waves: Path | None = None,
) -> JobsReport:
    """Check random products of all formats, dataflows and layouts against the golden model, and,
    every third time, vectors of any function.

    Every other memory answers at once, the others are slow, with stalls on all channels, or all of
    it.

    Parameters
    ----------
    unit, config: the unit, or its name in the catalogue
    seed: of products, vectors and memories
    count: products of two elements, or elements of vectors, to compute at least
    waves: file for the waves

    Raises as :class:`NativeAccelerator`.
    """

    def job(state: JobsUnderWay) -> Iterator[tuple[int, int]]:
        rough = state.number % 2
        memory = "rough" if rough else "ideal"
        state.device.behave(any_behaviour(state.rng) if rough else AxiBehaviour())
        state.coverage[memory, "jobs"] += 1
        if state.number % 3 == 2:
            vector = random_vector(state.rng, config)
            state.coverage[memory, vector.format] += 1
            state.coverage[memory, vector.what] += 1
            counts = check_vector(QuietAtEnd(state.device), vector)
            state.coverage[memory, "commands"] += counts["bytes_list"] // 64
            yield vector.operands[0].size, counts["cycles"]
            return
        case = random_case(state.rng, config)
        state.coverage[memory, case.format] += 1
        state.coverage[memory, case.settings["dataflow"]] += 1
        counts = check_product(QuietAtEnd(state.device), case)
        state.coverage[memory, "commands"] += counts["bytes_list"] // 64
        m, k = case.a.shape
        yield m * k * case.b.shape[1], counts["cycles"]

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
