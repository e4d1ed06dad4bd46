"""Tensaurus' products of two matrices that are given element by element: a tile each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...hw.spec.jobs.tensaurus_operations import MATRIX_OPERATIONS
from ...hw.spec.tensaurus import TensaurusConfig
from .result.entries import Entries, of_dense
from .result.kernel import Kernel
from .result.tile import add_tile, empty_output

__all__ = ["golden"]


def golden(
    config: TensaurusConfig, operation: str, sizes: Mapping[str, int], operands: Mapping[str, Any]
) -> dict[str, Any]:
    """One job: a, b to c; see :class:`tilewright.registry.Entry`."""
    name, dense = MATRIX_OPERATIONS[operation]
    kernel = Kernel(name=name, order=2)
    if dense:
        entries = of_dense(operands["a"])
    else:
        # Where +0 announces a slice it is no value.
        there = sorted(
            (row, column, word)
            for (row, column), word in operands["a"].items()
            if word or config.marker != "zero"
        )
        rows = np.array([row for row, _, _ in there], np.int64)
        columns = np.array([column for _, column, _ in there], np.int64)
        words = np.array([word for _, _, word in there], np.uint64)
        entries = Entries(rows, columns[np.newaxis], words)
    output = empty_output(config, kernel, sizes["M"])
    add_tile(config, kernel, output, entries, {1: operands["b"]})
    return {"c": output}
