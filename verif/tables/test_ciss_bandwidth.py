"""The bandwidth of CISS and of extended CSR: the bar, and what bounds each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.errors import UserError
from tilewright.sim.sparse.tensor import Tensor
from tilewright.sim.tensaurus.bandwidth import bandwidth
from tilewright.sim.timing.dram import FLAT, HBM
from tilewright.tables.ciss_bandwidth import ciss_bandwidth


def _tensor(slices: int, per_slice: int) -> Tensor:
    rng = np.random.default_rng(1)
    count = slices * per_slice
    places = np.column_stack(
        [np.repeat(np.arange(slices), per_slice), np.arange(count), rng.integers(0, 9, count)]
    )
    return Tensor(shape=(slices, count, 9), indices=places, values=np.ones(count))


@pytest.mark.slow
def test_the_table() -> None:
    """The bar: 95 % of the peak at eight elements, 98 % of a port on a perfect memory."""
    table = ciss_bandwidth("cmos")
    rows = {row.label: row for row in table.rows}
    ours = {label: [x or 0.0 for x in row.ours] for label, row in rows.items()}
    assert ours["CISS, GB/s, 64-byte accesses"][3] >= 15.2
    assert min(ours["CISS, of the port, a perfect memory"]) >= 0.98
    assert max(ours["extended CSR, GB/s, 64-byte accesses"]) < 16 * 12 / 64
    assert rows["CISS, GB/s, 64-byte accesses"].paper == [None, None, None, 11.2]
    assert rows["extended CSR, GB/s, 64-byte accesses"].paper == [None, None, None, 1.9]
    assert rows["CISS, of the peak, 64-byte accesses"].paper[3] == pytest.approx(0.7)
    for label, row in ours.items():
        if "of the" in label:
            assert 0 < min(row) <= max(row) <= 1
    with pytest.raises(UserError, match=r"^ciss-bandwidth is computed by a model: no --target"):
        ciss_bandwidth("ecp5")


@pytest.mark.slow
@pytest.mark.parametrize("elements", [1, 3, 8])
def test_what_bounds_each(elements: int) -> None:
    tensor = _tensor(60, 70)
    ciss = bandwidth(tensor, elements, "ciss")
    csr = bandwidth(tensor, elements, "csr")
    assert ciss.peak == csr.peak == 16
    # Headers and no-ops are read, but are no values.
    slots = 60 / elements * 71
    assert ciss.values / ciss.gigabytes == pytest.approx(60 * 70 / (elements * slots), rel=0.1)
    assert csr.values == csr.gigabytes
    assert ciss.fraction > 0.9
    # A value of 12 bytes is an access of 64, or two.
    assert csr.fraction <= 12 / 64


@pytest.mark.slow
def test_an_element_takes_an_entry_a_cycle() -> None:
    """Slower than memory, it is what bounds the stream."""
    tensor = _tensor(60, 70)
    slow = bandwidth(tensor, 1, "ciss", gigahertz=0.5)
    assert 0.95 * 6 <= slow.gigabytes <= 6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "coo"}, r"^`name` must be one of ciss, csr, not 'coo'$"),
        ({"memory": FLAT}, r"^`memory` must have banks$"),
        ({"tensor": Tensor(shape=(2, 2, 2), indices=np.zeros((0, 3), np.int64),
                           values=np.zeros(0))}, r"^`tensor` must have values$"),
    ],
)  # fmt: skip
def test_what_bandwidth_refuses(changes: dict[str, Any], message: str) -> None:
    given = {"tensor": _tensor(2, 3), "name": "ciss", "memory": HBM, **changes}
    with pytest.raises(ValueError, match=message):
        bandwidth(given["tensor"], 2, given["name"], memory=given["memory"])
