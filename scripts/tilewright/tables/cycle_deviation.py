"""Products on the RTL and in the cycle model: by how much their counters differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..hw.emit.unit import emit
from ..hw.spec.jobs.matraptor import counters
from ..hw.spec.matraptor import MatRaptorConfig
from ..sim.matraptor.cycles.outer import simulate_outer
from ..sim.matraptor.cycles.plan import in_csr
from ..sim.matraptor.cycles.rows import simulate
from ..sim.matraptor.driver import SparseDriver
from ..sim.matraptor.result.outer import by_columns
from ..sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from ..sim.sparse.c2sr import from_csr
from ..sim.timing.dram import FLAT

CONFIGS: dict[str, dict[str, Any]] = {
    "1x1": {"lanes": 1, "channels": 1, "queues": 4, "queue_depth": 2048, "data_bits": 64,
            "queue_sets": 4, "row_queue": 2},
    "2x2": {"lanes": 2, "channels": 2, "queues": 5, "outstanding": 16,
            "a_outstanding": 4},
    "4x2": {"lanes": 4, "channels": 2, "queues": 4, "data_bits": 64, "adder_stages": 1,
            "queue_sets": 3, "row_queue": 4, "beat_queue": 2},
    "2x6": {"lanes": 2, "channels": 6, "queues": 3, "interleave": 256, "multiplier_stages": 1,
            "row_queue": 16, "beat_queue": 8},
    "3x3": {"lanes": 3, "channels": 3, "queues": 4, "value": "fp64", "interleave": 128,
            "outstanding": 2, "a_outstanding": 8},
    "8x8": {"lanes": 8, "channels": 8},
}  # fmt: skip
"""Configurations by lanes x channels: one and several lanes a channel, one and several channels a
lane, numbers of channels that are not powers of two, hardly any bursts in flight."""
LATENCIES = (1, 20, 100)
"""Cycles of the memory."""

SparseNative = NativeAccelerator[MatRaptorConfig]
Operands = tuple[sp.csr_array, sp.csr_array]
Counters = dict[str, tuple[int, int]]
"""Counters of the RTL and of the model, by the names of the registers."""


def config_of(name: str, *, outer: bool = False) -> MatRaptorConfig:
    """``outer``: with outer products."""
    return MatRaptorConfig(**CONFIGS[name], outer_product=outer)


def uniform(rows: int, cols: int, density: float, seed: int = 1) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    return sp.random_array((rows, cols), density=density, format="csr", rng=rng)


def power_law(rows: int, seed: int = 2) -> sp.csr_array:
    """Row lengths and columns as in a graph with few hubs."""
    rng = np.random.default_rng(seed)
    lengths = np.minimum(rng.zipf(1.8, rows), rows // 2)
    columns = np.minimum(rng.zipf(1.3, lengths.sum()) - 1, rows - 1)
    data = np.ones(lengths.sum())
    result = sp.coo_array((data, (np.repeat(np.arange(rows), lengths), columns)), (rows, rows))
    return result.tocsr()


def _banded(rows: int, width: int) -> sp.csr_array:
    offsets = range(-width, width + 1)
    return sp.diags_array([np.ones(rows - abs(k)) for k in offsets], offsets=list(offsets)).tocsr()


def _dense_row(size: int) -> sp.csr_array:
    m = sp.eye_array(size, format="lil")
    m[size // 3, :] = 1
    return m.tocsr()


def _empty_rows(size: int) -> sp.csr_array:
    """Nine rows of ten have nothing."""
    m = uniform(size, size, 0.05, 3).tolil()
    m[np.arange(size) % 10 != 4, :] = 0
    return m.tocsr()


def square(m: sp.csr_array) -> Operands:
    return m, m


def _short(seed: int) -> Operands:
    """A job of about a thousand cycles, in which lanes fight for channels."""
    size = 20 + 7 * seed
    return uniform(size, size, 0.1, seed), uniform(size, size, 0.12, seed + 40)


INPUTS: dict[str, Callable[[], Operands]] = {
    "sparse": lambda: square(uniform(300, 300, 0.005)),
    "medium": lambda: square(uniform(200, 200, 0.03)),
    "dense": lambda: square(uniform(40, 40, 0.6)),
    "full": lambda: square(uniform(16, 16, 1.0)),
    "power_law": lambda: square(power_law(200)),
    "diagonal": lambda: square(_banded(400, 0)),
    "banded": lambda: square(_banded(150, 3)),
    "dense_row": lambda: square(_dense_row(150)),
    "dense_column": lambda: square(_dense_row(150).T.tocsr()),
    "empty_rows": lambda: square(_empty_rows(400)),
    "rectangular": lambda: (uniform(30, 500, 0.05), uniform(500, 60, 0.1)),
    "one_row": lambda: (uniform(1, 300, 0.5), uniform(300, 300, 0.02)),
    **{f"short_{seed}": partial(_short, seed) for seed in range(10)},
}


def _few_columns() -> Operands:
    """Draws operands: most columns of A, and a third of B's rows, are empty."""
    a, b = uniform(40, 300, 0.2, 5).tolil(), uniform(300, 50, 0.2, 6).tolil()
    a[:, np.arange(300) % 7 != 2] = 0
    b[np.arange(300) % 3 == 0, :] = 0
    return a.tocsr(), b.tocsr()


def _short_outer(seed: int) -> Operands:
    rng = np.random.default_rng(seed)
    rows, inner, columns = (int(size) for size in rng.integers(1, 50, 3))
    densities = rng.choice([0.03, 0.1, 0.4, 1.0], 2)
    return uniform(rows, inner, densities[0], seed), uniform(inner, columns, densities[1], seed + 9)


OUTER_INPUTS: dict[str, Callable[[], Operands]] = {
    "sparse": lambda: (uniform(50, 400, 0.01), uniform(400, 60, 0.01)),
    "medium": lambda: (uniform(50, 200, 0.05), uniform(200, 60, 0.05)),
    "dense": lambda: square(uniform(40, 40, 0.6)),
    "full": lambda: square(uniform(16, 16, 1.0)),
    "power_law": lambda: square(power_law(60)),
    "diagonal": lambda: square(_banded(60, 0)),
    "banded": lambda: square(_banded(60, 3)),
    "dense_row": lambda: square(_dense_row(60)),
    "dense_column": lambda: square(_dense_row(60).T.tocsr()),
    "few_columns": _few_columns,
    "one_row": lambda: (uniform(1, 300, 0.5), uniform(300, 300, 0.02)),
    "one_column": lambda: (uniform(50, 300, 0.1), uniform(300, 1, 0.5)),
    "one_inner": lambda: (uniform(50, 1, 0.8), uniform(1, 60, 0.8)),
    **{f"short_{seed}": partial(_short_outer, seed) for seed in range(8)},
}
"""Each with a product that fits the chips of ``CONFIGS`` in one job."""


def device_of(config: MatRaptorConfig) -> SparseNative:
    """The RTL, with a memory. Raises as :class:`NativeAccelerator`."""
    return NativeAccelerator(emit("matraptor", config), config, memory_bytes=1 << 26)


def compare(
    rtl: SparseNative, operands: Operands, latency: int, *, mode: str = "rows",
    columns: tuple[int, int] | None = None, layout: str = "c2sr",
) -> Counters:  # fmt: skip
    """Compares all counters of a product after a reset, on a memory that answers after ``latency``
    cycles; ``mode``: of the driver; ``columns``: begin and end of a range of them, not of all;
    ``layout``: of the operands.
    Arbiters keep their turn from job to job, which the model does not."""
    rtl.reset()
    rtl.behave(AxiBehaviour(latency=(latency, latency)))
    driver = SparseDriver(rtl)
    a, b = (from_csr(m, rtl.config.layout) for m in operands)
    driver.multiply(a, b, mode=mode, columns=columns, layout=layout)
    if [job.error for job in driver.jobs] != ["none"]:
        raise ValueError("the product must fit the queues")
    memory = replace(FLAT, latency=latency)
    if mode == "rows":
        apart = layout == "csr-arrays"
        places = None if layout == "c2sr" else in_csr(*operands, apart=apart)
        model = simulate(rtl.config, *operands, memory=memory, columns=columns, places=places)
    else:
        stored = by_columns(rtl.config, a)
        model = simulate_outer(rtl.config, stored, b, a.shape[0], memory=memory)
    counts = driver.jobs[0].counts
    return {name: (counts[name], getattr(model, name)) for name in counters(rtl.config)}


@dataclass(frozen=True)
class Deviation:
    """Largest deviation of each counter over a number of ``jobs``: the magnitude of the model's
    less the RTL's, as a share of the RTL's (of one, if that is 0)."""

    jobs: int
    worst: dict[str, float]


def deviation(
    rtl: SparseNative,
    inputs: Iterable[str] | None = None,
    latencies: Iterable[int] = LATENCIES,
    *,
    mode: str = "rows",
) -> Deviation:
    """Measures the deviation over all inputs of the mode at all latencies."""
    known = INPUTS if mode == "rows" else OUTER_INPUTS
    found = [
        compare(rtl, known[name](), cycles, mode=mode)
        for name in (known if inputs is None else inputs)
        for cycles in latencies
    ]
    worst = {
        name: max(abs(model - real) / max(1, real) for real, model in (job[name] for job in found))
        for name in counters(rtl.config)
    }
    return Deviation(len(found), worst)
