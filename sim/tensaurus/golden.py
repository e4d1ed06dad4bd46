"""Tensaurus' products whose operands are given element by element: a tile each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...hw.spec.jobs.tensaurus_operations import Described, described
from ...hw.spec.tensaurus import TensaurusConfig
from .result.entries import Entries, of_dense
from .result.kernel import Kernel
from .result.tile import add_tile, empty_output

__all__ = ["golden"]


def golden(
    config: TensaurusConfig, operation: str, sizes: Mapping[str, int], operands: Mapping[str, Any]
) -> dict[str, Any]:
    """One job: a, b, ... to c, or y of a tensor; see :class:`tilewright.registry.Entry`."""
    what = described(config)[operation]
    kernel = _kernel(config, what, operands)
    entries = of_dense(operands["a"]) if what.dense else _entries(config, operands["a"], what.order)
    output = empty_output(config, kernel, sizes["I" if what.order > 2 else "M"])
    factors = {mode: operands[name] for mode, name in enumerate(what.factors, 1)}
    add_tile(config, kernel, output, entries, factors)
    if what.kernel == "ttmc":
        ranks = (factors[mode].shape[1] for mode in range(1, what.order))
        output = output.reshape(len(output), *ranks)
    return {what.result: output}


def _kernel(config: TensaurusConfig, what: Described, operands: Mapping[str, Any]) -> Kernel:
    """Returns the kernel with as many vectors and scalars as the operands have columns."""
    columns = [operands[name].shape[1] for name in what.factors]
    vectors = 1 if what.kernel == "mv" else columns[-1] // config.unit_values
    first, second = [*(columns[:-1] if what.kernel == "ttmc" else []), 1, 1][:2]
    return Kernel(name=what.kernel, order=what.order, vectors=vectors, scalars=(first, second))


def _entries(config: TensaurusConfig, tensor: Mapping[tuple[int, ...], int], order: int) -> Entries:
    """A sparse tensor's in the order of a stream; where +0 announces a slice it is no value."""
    there = sorted(at for at, word in tensor.items() if word or config.marker != "zero")
    places = np.array(there, np.int64).reshape(-1, order)
    words = np.array([tensor[at] for at in there], np.uint64)
    return Entries(places[:, 0], np.ascontiguousarray(places[:, 1:].T), words)
