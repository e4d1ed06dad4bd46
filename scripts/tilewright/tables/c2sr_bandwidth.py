"""The table of the bandwidth that lanes reach from C2SR and from CSR, by a model of memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import UserError
from ..sim.timing.dram import HBM, HBM_32
from ..synth.tables import Row, Table

__all__ = ["c2sr_bandwidth"]

_LANES = (2, 4, 8)
_ROWS, _PER_ROW = 20_000, 8


def c2sr_bandwidth(target: str, progress: Callable[[str], None] = lambda said: None) -> Table:
    """Bandwidth that lanes reach when they stream a matrix from HBM channels, as many as lanes.

    From C2SR by 64 bytes of the lane's own channel, from CSR by the element, wherever it lies
    (MatRaptor, section on bandwidth utilisation; its figure has no numbers to quote). The matrix is
    a random one with 160,000 entries.

    Raises UserError for a target other than "cmos", the default: nothing is synthesised.
    """
    from scipy.sparse import csr_array

    from ..sim.matraptor.cycles.bandwidth import bandwidth

    if target != "cmos":
        raise UserError(f"c2sr-bandwidth is computed by a model: no --target, not {target!r}")
    rng = np.random.default_rng(0)
    lengths = rng.poisson(_PER_ROW, _ROWS)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    columns = np.concatenate([np.sort(rng.choice(_ROWS, n, replace=False)) for n in lengths])
    matrix = csr_array((np.ones(len(columns)), columns, starts), shape=(_ROWS, _ROWS))
    rows = []
    for memory in (HBM, HBM_32):
        for name in ("c2sr", "csr"):
            found = []
            for lanes in _LANES:
                progress(f"{name.upper()}, {lanes} lanes, {memory.name}")
                found.append(bandwidth(matrix, lanes, name, memory=memory))
            access = f"{memory.access_bytes}-byte accesses"
            none = [None] * len(_LANES)
            rows.append(
                Row(f"{name.upper()}, GB/s, {access}", none, [x.gigabytes for x in found], 1)
            )
            rows.append(
                Row(f"{name.upper()}, of the peak, {access}", none, [x.fraction for x in found], 3)
            )
    return Table("c2sr-bandwidth", "model", [f"{lanes} lanes" for lanes in _LANES], rows)
