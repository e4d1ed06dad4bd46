"""Measures the multiplication throughput of a lane of MatRaptor on the RTL."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..sim.matraptor.driver import SparseDriver
from ..sim.rtl.accelerator import AxiBehaviour
from ..sim.sparse.c2sr import from_csr
from .cycle_deviation import SparseNative

__all__ = ["port_rate"]


def port_rate(rtl: SparseNative, length: int, products: int = 20_000) -> tuple[float, float]:
    """Products and beats read, a cycle, with rows of B of a length, on a memory that answers in
    the next cycle. What twice as many rows of A, of four entries, take longer."""
    counts = []
    # Whole blocks of pairs.
    block = rtl.config.layout.block_pairs
    rows = max(1, products // (4 * length * block)) * block
    for count in (rows, 2 * rows):
        index = np.arange(4 * count)
        inner = 4 * count
        a = sp.csr_array((np.ones(4 * count), index, np.arange(count + 1) * 4), (count, inner))
        columns = np.tile(np.arange(length), inner)
        b = sp.csr_array(
            (np.ones(inner * length), columns, np.arange(inner + 1) * length), (inner, length)
        )
        rtl.reset()
        rtl.behave(AxiBehaviour())
        driver = SparseDriver(rtl)
        driver.multiply(*(from_csr(m, rtl.config.layout) for m in (a, b)))
        counts.append(driver.jobs[0].counts)
    more = {name: counts[1][name] - counts[0][name] for name in counts[0]}
    beats = more["bytes_read"] / rtl.config.beat_bytes
    return more["operations"] / more["cycles"], beats / more["cycles"]
