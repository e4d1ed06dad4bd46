"""Simulates a GTA on random products and vectors from a memory that behaves as badly as it may."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tilewright.hw.spec.gta import GtaConfig, is_float
from tilewright.hw.spec.unit import Unit
from tilewright.sim.gta.tiles.choice import DATAFLOWS
from tilewright.sim.gta.vector.tiling import most_chain
from tilewright.sim.rtl.accelerator import AxiBehaviour
from tilewright.verif.gta.jobs import ProductCase, check_product, random_case
from tilewright.verif.gta.vectors import check_vector, random_vector
from tilewright.verif.kit.job_checks import QuietAtEnd
from tilewright.verif.kit.reports import JobsReport, JobsUnderWay, any_behaviour, run_jobs

_FEW_BYTES = 1 << 20


@dataclass(frozen=True)
class _Sizes:
    """Limits of the operands that a run draws.

    Parameters
    ----------
    most: rows and columns of a product
    deepest: of its K
    longest: vector
    memory_bytes: that hold the largest of them
    """

    most: int
    deepest: int
    longest: int
    memory_bytes: int


_SMALL = _Sizes(40, 40, 600, _FEW_BYTES)
_LARGE = _Sizes(250, 40, 20_000, 4 * _FEW_BYTES)
_MANY = 200
"""Jobs of which every other one is large: as many small ones would spend their time on what a job
takes beside results."""

_SEGMENTS = (1, 1, 1, 2, 3, 4, 10)
"""Numbers of segments of K."""


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
    it. Formats follow each other in any order. Products flow in every dataflow, by vectors, too, in
    one to ten segments of K. Where many jobs are asked for half of them are larger. The report
    says how many results of each format were compared, products' and vectors', and of how many
    products by dataflow and segments.

    Parameters
    ----------
    unit, config: the unit, or its name in the catalogue
    seed: of products, vectors and memories
    count: jobs
    waves: file for the waves

    Raises as :class:`NativeAccelerator`.
    """
    formats = (*config.integers, *config.floats)
    largest = _LARGE if count >= _MANY else _SMALL

    def job(state: JobsUnderWay) -> Iterator[tuple[int, int]]:
        name = str(state.rng.choice(formats))
        state.kind = f"{'vectors' if state.number % 3 == 2 else 'products'}, {name}"
        rough = state.number % 2
        memory = "rough" if rough else "ideal"
        state.device.behave(any_behaviour(state.rng) if rough else AxiBehaviour())
        state.coverage[memory, "jobs"] += 1
        sizes = largest if state.rng.integers(2) else _SMALL
        done, counts = _job(state, name, memory, sizes)
        state.coverage[memory, "commands"] += counts["bytes_list"] // 64
        yield done, counts["cycles"]

    return run_jobs(
        unit,
        config,
        job,
        counted="results",
        memory_bytes=largest.memory_bytes,
        seed=seed,
        count=count,
        waves=waves,
    )


def _job(state: JobsUnderWay, name: str, memory: str, sizes: _Sizes) -> tuple[int, dict[str, int]]:
    """A product, or something with vectors, of a format; the number of its results, and the
    counters."""
    config: GtaConfig = state.device.config
    if state.number % 3 == 2:
        vector = random_vector(state.rng, config, most=sizes.longest, format=name)
        counts = check_vector(QuietAtEnd(state.device), vector)
        state.coverage[memory, vector.what] += 1
        first = vector.operands[0]
        done = first.size // (first.shape[-1] if vector.what.startswith("reduce") else 1)
        state.coverage[memory, f"results of vectors, {name}"] += done
        return done, counts
    case = _product(state, name, sizes)
    counts = check_product(QuietAtEnd(state.device), case)
    segments = min(case.settings["segments"], case.a.shape[1])
    state.coverage[memory, f"products, {case.settings['dataflow']}"] += 1
    state.coverage[memory, f"products of {_counted(segments)}"] += 1
    done = len(case.a) * case.b.shape[1]
    state.coverage[memory, f"results of products, {name}"] += done
    return done, counts


def _product(state: JobsUnderWay, name: str, sizes: _Sizes) -> ProductCase:
    """A product in any dataflow that the format has in the configuration."""
    config: GtaConfig = state.device.config
    floats = is_float(name)
    flows = ["auto", "os"] if floats else list(DATAFLOWS)
    if floats or most_chain(config, name):
        flows.append("simd")
    return random_case(
        state.rng,
        config,
        most=sizes.most,
        deepest=sizes.deepest,
        format=name,
        dataflow=str(state.rng.choice(flows)),
        segments=int(state.rng.choice(_SEGMENTS)),
    )


def _counted(segments: int) -> str:
    return f"{segments} segment{'s' * (segments > 1)}"
