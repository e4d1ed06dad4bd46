"""The table of sparse matrices that are merged as they come, beside a pass over each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from ...errors import UserError
from ...synth.tables import Row, Table
from ..matraptor import needs_simulation
from .sparse_sides import drawn

__all__ = ["DENSITIES", "SIZE", "t2s_merge"]

SIZE = 256
"""Rows and columns of the matrices."""

DENSITIES = (0.01, 0.05, 0.2)
"""Densities of both matrices."""

_PARAMETERS: dict[str, Any] = {"largest": 0, "format": "fp32", "pipeline": 6}
_MEMORY_BYTES = 1 << 22
_COLUMNS = ["entries", "visited", "cycles", "cycles an entry", "two passes", "ratio"]


def t2s_merge(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    size: int = SIZE,
) -> Table:
    """Entries of both of two random matrices, places that are visited, cycles of ``sparse/union``
    and ``sparse/hadamard`` on the Verilog, for each entry, and of two products of one matrix with
    the vector, each by ``sparse/spmv``: the same entries, of one matrix behind the other's.

    Union, (A + B) x, could be done in these two passes, and an addition; for an intersection they
    are what its entries take if nothing but the streams counts. All have one element; matrices of
    fp32, of as many entries each; a memory of one channel of 128 bits that answers after 20
    cycles. Results are held against SciPy's, which they equal.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    size: of the matrices, each way

    Raises
    ------
    UserError for another target, if the Verilog cannot be built, or if a result is wrong.
    """
    with needs_simulation("t2s-merge", target), ExitStack() as open_devices:
        drivers = {}
        for name in ("spmv", "union", "hadamard"):
            progress(f"building sparse/{name}")
            drivers[name] = open_devices.enter_context(_device(name))
        rows = []
        for name in ("union", "hadamard"):
            for density in DENSITIES:
                label = f"{name}, {density:.0%}"
                progress(label)
                rows.append(_row(label, name, size, density, drivers))
    return Table("t2s-merge", "RTL", _COLUMNS, rows)


def _device(name: str) -> Any:
    from ...apps.common.session import rtl_device
    from ...hw.spec.t2s.config import T2S, T2sConfig

    config = T2sConfig(design=f"sparse/{name}", **_PARAMETERS)
    return rtl_device(T2S, config, _MEMORY_BYTES)


def _row(label: str, name: str, size: int, density: float, devices: dict[str, Any]) -> Row:
    import numpy as np

    from ...sim.sparse.tensor import to_csr
    from ...sim.t2s.driver import Driver

    a, b = (to_csr(drawn((size, size), density, seed)) for seed in (1, 2))
    x = np.random.default_rng(3).integers(-8, 8, size, endpoint=True).astype(np.float64)
    both = a.astype(bool).multiply(b.astype(bool)).nnz
    visited = both if name == "hadamard" else a.nnz + b.nnz - both
    merged = a.multiply(b) if name == "hadamard" else a + b
    cycles = _cycles(label, Driver(devices[name]), merged @ x, A=a, B=b, X=x)
    apart = sum(_cycles(label, Driver(devices["spmv"]), one @ x, A=one, X=x) for one in (a, b))
    entries = a.nnz + b.nnz
    figures = (entries, visited, cycles, cycles / entries, apart, cycles / apart)
    return Row(label, (None,) * 6, figures, (0, 0, 0, 2, 0, 2))


def _cycles(label: str, driver: Any, wanted: Any, **operands: Any) -> int:
    """Counts the cycles of a job, and checks its result."""
    import numpy as np

    if not np.array_equal(driver.compute(**operands), wanted):
        raise UserError(f"t2s-merge: a result of {label} is not SciPy's")
    return int(driver.counts.cycles)
