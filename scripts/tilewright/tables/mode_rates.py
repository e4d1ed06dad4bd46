"""The two modes of MatRaptor side by side, on the RTL."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..hw.emit.unit import emit
from ..hw.spec.matraptor import MatRaptorConfig
from ..sim.matraptor.driver import SparseDriver
from ..sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from ..sim.sparse.c2sr import from_csr

__all__ = ["Case", "ModeRates", "compare_modes", "modes_device"]

_LATENCY = 50


@dataclass(frozen=True, kw_only=True)
class Case:
    """A product of random matrices, ``rows`` x ``inner`` by ``inner`` x ``columns``.

    Parameters
    ----------
    left, right: densities
    """

    rows: int
    inner: int
    columns: int
    left: float
    right: float


@dataclass(frozen=True, kw_only=True)
class ModeRates:
    """Cycles, traffic and utilisation of a product.

    Parameters
    ----------
    cycles, bytes_read: of all its jobs
    utilisation: products over cycles and lanes
    """

    cycles: int
    bytes_read: int
    utilisation: float


def modes_device(lanes: int = 4) -> NativeAccelerator[MatRaptorConfig]:
    """An accelerator with both modes and as many channels as lanes, whose memory answers after 50
    cycles. Raises as :class:`NativeAccelerator`."""
    config = MatRaptorConfig(lanes=lanes, channels=lanes, outer_product=True)
    return NativeAccelerator(
        emit("matraptor", config),
        config,
        memory_bytes=1 << 26,
        behaviour=AxiBehaviour(latency=(_LATENCY, _LATENCY)),
        time_out=1 << 32,
    )


def compare_modes(
    device: NativeAccelerator[MatRaptorConfig], case: Case
) -> tuple[ModeRates, ModeRates]:
    """The product row by row, and by outer products.

    Raises RuntimeError if they differ: values are integers so small that sums are exact.
    """
    rng = np.random.default_rng(1)
    shapes = ((case.rows, case.inner, case.left), (case.inner, case.columns, case.right))
    matrices = []
    for rows, columns, density in shapes:
        found = sp.random_array((rows, columns), density=density, format="csr", rng=rng)
        found.data = rng.integers(1, 8, found.nnz).astype(np.float64)
        matrices.append(from_csr(found, device.config.layout))
    driver = SparseDriver(device)
    rates, results = [], []
    for mode in ("rows", "outer"):
        results.append(driver.multiply(*matrices, mode=mode).patterns())
        counts = [job.counts for job in driver.jobs]
        cycles, products, read = (
            sum(count[name] for count in counts) for name in ("cycles", "operations", "bytes_read")
        )
        rates.append(
            ModeRates(
                cycles=cycles,
                bytes_read=read,
                utilisation=products / (cycles * device.config.lanes),
            )
        )
    if not all(map(np.array_equal, *results)):
        raise RuntimeError(f"the modes differ on {case}")
    return rates[0], rates[1]
