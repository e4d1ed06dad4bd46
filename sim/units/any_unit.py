"""The golden model of any matrix unit, whichever it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.matrix_unit import MatrixUnitConfig
from ...hw.spec.unit import named_object

__all__ = ["mixed_operations"]


def mixed_operations(
    config: MatrixUnitConfig,
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
    model: Any = named_object(config.golden_model)
    done: tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]] = model(
        config, op, a, b, c, metadata
    )
    return done
