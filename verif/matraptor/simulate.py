"""Random jobs on a simulated MatRaptor, from a memory that behaves as badly as it may, and a few
products on any."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.unit import Unit
from tilewright.sim.matraptor.driver import MODES, SparseDevice, SparseDriver
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.sim.rtl.accelerator import AxiBehaviour
from tilewright.verif.kit.reports import JobsReport, JobsUnderWay, any_behaviour, run_jobs
from tilewright.verif.matraptor.cases import random_case, random_matrix
from tilewright.verif.matraptor.jobs import SparseRtl, check_case
from tilewright.verif.matraptor.outer.outer_cases import check_outer, in_rows, random_outer

_STRIPES = 128
"""Stripes of the memory: a block in every channel each."""


def run(
    unit: Unit | str,
    config: MatRaptorConfig,
    *,
    seed: int = 0,
    count: int = 1000,
    waves: Path | None = None,
) -> JobsReport:
    """Check random jobs against the model: all of memory, status and counters. Where there is an
    outer-product mode, every other pair of jobs is of it.

    Every other memory answers at once, the others are slow, out of order, with stalls on all
    channels, or all of it.

    Parameters
    ----------
    unit, config: the unit, or its name in the catalogue
    seed: of jobs and memories
    count: jobs
    waves: file for the waves

    Raises as :class:`NativeAccelerator`.
    """
    size = max(1 << 18, _STRIPES * config.layout.stripe_bytes)

    def job(state: JobsUnderWay) -> Iterator[tuple[int, int]]:
        rng, device, coverage = state.rng, state.device, state.coverage
        memory = "rough" if state.number % 2 else "ideal"
        device.behave(any_behaviour(rng) if state.number % 2 else AxiBehaviour())
        coverage[memory, "jobs"] += 1
        state.kind = "products by rows"
        if config.outer_product and state.number % 4 > 1:
            state.kind = "outer products"
            outer = random_outer(rng, config, size)
            coverage[memory, "empty rows"] += bool((outer.a.lengths == 0).any())
            counts = check_outer(rng, device, outer).counts
            coverage[memory, "outer products"] += 1
        else:
            case = random_case(rng, config, size)
            case = in_rows(rng, case) if config.outer_product else case
            coverage[memory, "empty rows"] += bool((case.a.lengths == 0).any())
            counts = check_case(rng, device, case).counts
            coverage[memory, "merges"] += bool(case.product().statistics.merge_steps)
        yield counts["operations"], counts["cycles"]

    return run_jobs(
        unit,
        config,
        job,
        counted="products",
        memory_bytes=size,
        seed=seed,
        count=count,
        waves=waves,
    )


_MOST = 60

_SHAPES = (1, 1, 1), (9, 7, 8)
"""Rows of A, of B, and columns of B."""


def exercise(device: SparseDevice, rng: np.random.Generator) -> int:
    """Products in every mode of the device, and of operands in CSR where it reads that, held
    against the model. Returns their number."""
    config = device.config
    count = 0
    more = ("csr", "csr-arrays") if config.csr else ()
    modes = [(mode, "c2sr") for mode in (MODES if config.outer_product else MODES[:1])]
    for mode, layout in [*modes, *(("rows", layout) for layout in more)]:
        for rows, inner, cols in _SHAPES:
            a = random_matrix(rng, config, (rows, inner), 0.4)
            b = random_matrix(rng, config, (inner, cols), 0.4)
            model = MatRaptorModel(config, device.memory_bytes)
            found, expected = (
                SparseDriver(on).multiply(a, b, mode=mode, layout=layout).patterns()
                for on in (device, model)
            )
            for one, other in zip(found, expected, strict=True):
                assert np.array_equal(one, other), (mode, layout)
            count += 1
    return count


def soak(device: SparseRtl, rng: np.random.Generator) -> None:
    """A product in either mode of the device."""
    config, size = device.config, device.memory_bytes
    if config.outer_product and rng.integers(2):
        check_outer(rng, device, random_outer(rng, config, size))
        return
    case = random_case(rng, config, size, most=_MOST)
    check_case(rng, device, in_rows(rng, case) if config.outer_product else case)
