"""The golden model of any matrix unit, whichever it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.matrix_unit import MatrixUnitConfig
from ...hw.spec.unit import named_object

__all__ = ["cut_into_lanes", "golden", "mixed_operations"]

Words = npt.NDArray[np.uint64]


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


def cut_into_lanes(words: Words, lane_bits: int, lanes: int) -> Words:
    """Container words along the last axis cut into so many lanes each, low lane first."""
    shifts = np.arange(lanes, dtype=np.uint64) * np.uint64(lane_bits)
    cut: Words = (words[..., np.newaxis] >> shifts) & np.uint64((1 << lane_bits) - 1)
    return cut.reshape(*words.shape[:-1], -1)


def golden(
    config: MatrixUnitConfig, operation: str, sizes: Mapping[str, int], operands: Mapping[str, Any]
) -> dict[str, Any]:
    """One operation on matrices of container words: a, b, c to d; see
    :class:`tilewright.registry.Entry`.

    A sparse unit's a is ``{(row, column): word}``, two of every four elements of a row.
    """
    found = config.operations[operation]
    lane = config.lane_bits
    per = found.operand_bits // lane
    a, metadata = operands["a"], None
    if isinstance(a, Mapping):
        places = sorted(a)
        shape = (1, config.rows, config.depth)
        metadata = np.array([column % 4 for _, column in places]).reshape(shape)
        a = np.array([a[place] for place in places], np.uint64).reshape(shape[1:])
    left = cut_into_lanes(a, lane, per)
    right = cut_into_lanes(operands["b"].T, lane, per).T
    d, _ = mixed_operations(
        config, [found.opcode], left[np.newaxis], right[np.newaxis], operands["c"][np.newaxis],
        metadata,
    )  # fmt: skip
    return {"d": d[0]}
