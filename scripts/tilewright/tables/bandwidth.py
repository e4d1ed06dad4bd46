"""The tables of bandwidth: of lanes from C2SR and CSR, and of the entries of CISS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..errors import UserError
from ..sim.timing.dram import HBM, HBM_32
from ..synth.tables import Row, Table

__all__ = ["c2sr_bandwidth", "ciss_bandwidth"]


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


_ELEMENTS = (1, 2, 4, 8)
_SLICES, _PER_SLICE, _SIZE = 2000, 80, 2000
_PAPER = {"ciss": 11.2, "csr": 1.9}
"""GB/s of eight elements."""

_PERFECT = replace(
    HBM,
    name="perfect",
    column=0.0,
    activate=0.0,
    precharge=0.0,
    active=0.0,
    read_to_precharge=0.0,
    activate_gap=0.0,
    activate_window=0.0,
)
"""A memory that moves data all the time."""


def ciss_bandwidth(target: str, progress: Callable[[str], None] = lambda said: None) -> Table:
    """Bandwidth that elements reach when they stream an order-3 tensor from a channel of 16 GB/s.

    From CISS by blocks of 64 bytes, from extended CSR each element value by value (Tensaurus,
    section on the sparse format, figure 4.3). The tensor is a random one with about 160,000 values
    in 2000 slices. CISS counts all bytes of the stream; "values" leaves out headers and no-ops.

    Raises UserError for a target other than "cmos", the default: nothing is synthesised.
    """
    from ..sim.sparse.tensor import Tensor
    from ..sim.tensaurus.bandwidth import bandwidth

    if target != "cmos":
        raise UserError(f"ciss-bandwidth is computed by a model: no --target, not {target!r}")
    rng = np.random.default_rng(0)
    slices = np.repeat(np.arange(_SLICES), rng.poisson(_PER_SLICE, _SLICES))
    others = rng.integers(0, _SIZE, (len(slices), 2))
    places = np.unique(np.column_stack([slices, others]), axis=0)
    tensor = Tensor(shape=(_SLICES, _SIZE, _SIZE), indices=places, values=np.ones(len(places)))
    rows = []
    none: list[float | None] = [None] * len(_ELEMENTS)
    for memory in (HBM, HBM_32):
        access = f"{memory.access_bytes}-byte accesses"
        for name, label in (("ciss", "CISS"), ("csr", "extended CSR")):
            found = []
            for elements in _ELEMENTS:
                progress(f"{label}, {elements} elements, {memory.name}")
                found.append(bandwidth(tensor, elements, name, memory=memory))
            paper = [*none[1:], _PAPER[name]] if memory is HBM else none
            part = [None if x is None else x / memory.gigabytes for x in paper]
            rows.append(Row(f"{label}, GB/s, {access}", paper, [x.gigabytes for x in found], 1))
            rows.append(
                Row(f"{label}, of the peak, {access}", part, [x.fraction for x in found], 3)
            )
            if name == "ciss":
                rows.append(
                    Row(f"{label}, values, GB/s, {access}", none, [x.values for x in found], 1)
                )
    progress("CISS, a perfect memory")
    perfect = [bandwidth(tensor, n, "ciss", memory=_PERFECT).fraction for n in _ELEMENTS]
    rows.append(Row("CISS, of the port, a perfect memory", none, perfect, 3))
    columns = [f"{n} element{'s' * (n > 1)}" for n in _ELEMENTS]
    return Table("ciss-bandwidth", "model", columns, rows)
