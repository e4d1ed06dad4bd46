"""The golden model of any matrix unit, whichever it is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...hw.spec.m3xu import GridUnitConfig
from ...hw.spec.simd2 import Simd2Config
from . import m3xu, simd2

__all__ = ["AnyMatrixUnit", "mixed_operations"]

AnyMatrixUnit = GridUnitConfig | Simd2Config


def mixed_operations(
    config: AnyMatrixUnit,
    op: npt.ArrayLike,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    c: npt.ArrayLike,
    metadata: npt.ArrayLike | None = None,
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    """Results (operations, rows, cols) and error flags of operations given by opcode.

    Parameters
    ----------
    config: the unit
    op: opcodes, (operations,); one that the unit was not built with gives zeros and the flag
    a, b: operand lanes, (operations, rows, depth) and (operations, b's rows, cols)
    c: accumulators, (operations, rows, cols)
    metadata: positions of a's elements, in a sparse unit only

    Raises
    ------
    ValueError if an array's shape is wrong, or there is metadata in a unit that is not sparse.
    """
    if isinstance(config, Simd2Config):
        return simd2.mixed_operations(config, op, a, b, c, metadata)
    if metadata is not None:
        raise ValueError("`metadata` must be None without sparsity")
    return m3xu.mixed_operations(config, op, a, b, c)
