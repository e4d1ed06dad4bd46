"""Entries of a CISS stream for the model of Tensaurus."""

from __future__ import annotations

import numpy as np
from tilewright.sim.sparse.c2sr import run_indices
from tilewright.sim.sparse.ciss import Ciss
from tilewright.sim.sparse.ciss_stream import read_slices
from tilewright.sim.tensaurus.result.entries import Entries


def of_stream(ciss: Ciss) -> Entries:
    """The entries of a stream. Raises ValueError that names the first slot that cannot be."""
    slices = read_slices(ciss.slots, ciss.layout, ciss.stream_shape)
    where = run_indices(slices.begins, slices.lengths)
    rows, entries = np.divmod(where, max(1, ciss.entries))
    slots = ciss.slots[entries, rows]
    numbers = np.repeat(slices.numbers, slices.lengths)
    return Entries(numbers, slots["index"].T.astype(np.int64), slots["value"].astype(np.uint64))
