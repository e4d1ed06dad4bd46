"""Golden model of the warp-level instructions over the multi-mode matrix unit.

Source: M3XU, instruction set architecture.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import FLOAT_FORMATS
from ...hw.spec.sequencer import INSTRUCTIONS, Instruction, SequencerConfig
from ..numbers.scalars import convert
from .any_unit import cut_into_lanes
from .m3xu import matrix_unit

__all__ = ["execute", "golden", "tiles_of"]

Words = npt.NDArray[np.uint64]

_FP16, _FP32 = FLOAT_FORMATS["fp16"], FLOAT_FORMATS["fp32"]


def tiles_of(matrix: npt.ArrayLike, rows: int, cols: int) -> npt.NDArray[np.generic]:
    """A matrix cut into tiles: (tiles down, tiles across, rows, cols)."""
    array = np.asarray(matrix)
    down, across = array.shape[0] // rows, array.shape[1] // cols
    return array.reshape(down, rows, across, cols).swapaxes(1, 2)


def execute(
    config: SequencerConfig,
    instruction: Instruction,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    c: npt.ArrayLike,
) -> Words:
    """The result fragment of one instruction.

    Each k step of the unit's depth is one fused dot product a result element, its fp32 result
    the addend of the next. With ``instruction.half``, c is fp16 and the last sum is rounded to
    fp16.

    Parameters
    ----------
    a, b: (16, lanes) and (lanes, 8) 16-bit lanes, ``lanes`` being ``instruction.lanes``
    c: (16, 8) accumulators

    Returns
    -------
    (16, 8) accumulators, uint64
    """
    unit, mode = config.unit, instruction.mode.name
    lanes_a = tiles_of(a, config.rows, config.depth)
    lanes_b = tiles_of(b, config.depth, config.cols)
    accumulators = np.asarray(c, np.uint64)
    if instruction.half:
        half = accumulators & np.uint64(0xFFFF)
        accumulators = convert(half, _FP16, _FP32).astype(np.uint64)
    sums = tiles_of(accumulators, config.rows, config.cols).copy()
    down, across = sums.shape[:2]
    row, col = (grid.ravel() for grid in np.indices((down, across)))
    flat = sums.reshape(down * across, config.rows, config.cols)
    for k in range(config.depth_tiles(instruction)):
        flat = matrix_unit(unit, mode, lanes_a[row, k], lanes_b[k, col], flat)
    tiles = flat.reshape(sums.shape)
    result = tiles.swapaxes(1, 2).reshape(accumulators.shape)
    if instruction.half:
        return convert(result, _FP32, _FP16).astype(np.uint64)
    return result.astype(np.uint64)


def golden(
    config: SequencerConfig, operation: str, sizes: Mapping[str, int], operands: Mapping[str, Any]
) -> dict[str, Any]:
    """One instruction on fragments of container words: a, b, c to d; see
    :class:`tilewright.registry.Entry`."""
    row = INSTRUCTIONS[operation]
    a = cut_into_lanes(operands["a"], config.lane_bits, row.mode.lanes)
    b = cut_into_lanes(operands["b"].T, config.lane_bits, row.mode.lanes).T
    return {"d": execute(config, row, a, b, operands["c"])}
