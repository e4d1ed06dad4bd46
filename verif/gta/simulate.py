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
    every third time, vectors of any function, until so many results of every format were compared.

    Every other memory answers at once, the others are slow, with stalls on all channels, or all of
    it. Formats follow each other in any order; one that has its results comes no more, but for
    every eighth job, which may be of any. The report says how many results of each were compared,
    products' and vectors'.

    Parameters
    ----------
    unit, config: the unit, or its name in the catalogue
    seed: of products, vectors and memories
    count: results of each format to compare at least
    waves: file for the waves

    Raises as :class:`NativeAccelerator`.
    """
    formats = (*config.integers, *config.floats)
    results = dict.fromkeys(formats, 0)

    def job(state: JobsUnderWay) -> Iterator[tuple[int, int]]:
        before = min(results.values())
        lacking = [name for name in formats if results[name] < count]
        among = formats if not state.number % 8 else lacking
        name = str(state.rng.choice(among))
        rough = state.number % 2
        memory = "rough" if rough else "ideal"
        state.device.behave(any_behaviour(state.rng) if rough else AxiBehaviour())
        state.coverage[memory, "jobs"] += 1
        done, counts = _job(state, name, memory)
        state.coverage[memory, "commands"] += counts["bytes_list"] // 64
        results[name] += done
        yield min(count, min(results.values())) - min(count, before), counts["cycles"]

    return run_jobs(
        unit,
        config,
        job,
        counted="results of each format",
        memory_bytes=_MEMORY_BYTES,
        seed=seed,
        count=count,
        waves=waves,
    )


def _job(state: JobsUnderWay, name: str, memory: str) -> tuple[int, dict[str, int]]:
    """A product, or something with vectors, of a format; the number of its results, and the
    counters."""
    config: GtaConfig = state.device.config
    if state.number % 3 == 2:
        vector = random_vector(state.rng, config, format=name)
        counts = check_vector(QuietAtEnd(state.device), vector)
        state.coverage[memory, vector.what] += 1
        first = vector.operands[0]
        done = first.size // (first.shape[-1] if vector.what.startswith("reduce") else 1)
        state.coverage[memory, f"results of vectors, {name}"] += done
        return done, counts
    case = random_case(state.rng, config, format=name)
    counts = check_product(QuietAtEnd(state.device), case)
    state.coverage[memory, case.settings["dataflow"]] += 1
    done = len(case.a) * case.b.shape[1]
    state.coverage[memory, f"results of products, {name}"] += done
    return done, counts
