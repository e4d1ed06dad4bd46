"""Golden model of the semiring matrix unit: ``d = c (+) (+)_k (a_k (x) b_k)`` on small tiles.

Sums of floats are fused, with one rounding for all terms (``sim.numbers.semiring_sums``).

Source: SIMD2, the table of operations; the numerics are the project's own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import FloatFormat, Format
from ...hw.spec.host.words import not_one_of
from ...hw.spec.semirings import SEMIRINGS, Semiring
from ...hw.spec.simd2 import Simd2Config
from ..numbers.floats import from_container
from ..numbers.semiring_sums import semiring_sum

__all__ = ["mixed_operations", "semiring_products"]

Array = npt.NDArray[np.generic]
Words = npt.NDArray[np.uint64]

_CHUNK = 1 << 18
"""Products worked on at a time, to bound the memory taken."""


def semiring_products(
    config: Simd2Config,
    name: str,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    c: npt.ArrayLike,
    metadata: npt.ArrayLike | None = None,
) -> Words:
    """Results of operations of one semiring.

    Parameters
    ----------
    config: the unit
    name: one of ``config.ops``
    a: patterns of ``config.element``, (operations, tile, tile)
    b: likewise, (operations, config.b_depth, tile)
    c: accumulators, (operations, tile, tile): patterns of ``config.result`` in the low bits
    metadata: with sparsity 2:4, where the elements of a stood in their groups of four,
        (operations, tile, tile) of 0..3; lane ``l`` belongs to group ``l // 2``

    Returns
    -------
    uint64 (operations, tile, tile), laid out as ``c``, upper bits zero.

    Raises
    ------
    ValueError if the unit was not built with the semiring, or an array's shape is wrong.
    """
    if name not in config.ops:
        raise ValueError(not_one_of("`name`", config.ops, name))
    left, right, addend, positions = _arrays(config, a, b, c, metadata)
    d = np.zeros(addend.shape, np.uint64)
    step = max(1, _CHUNK // config.tile**3)
    for start in range(0, len(d), step):
        cut = slice(start, start + step)
        here = None if positions is None else positions[cut]
        d[cut] = _chunk(config, SEMIRINGS[name], left[cut], right[cut], addend[cut], here)
    return d


def mixed_operations(
    config: Simd2Config,
    op: npt.ArrayLike,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    c: npt.ArrayLike,
    metadata: npt.ArrayLike | None = None,
) -> tuple[Words, npt.NDArray[np.bool_]]:
    """Results and error flags of operations given by opcode, (operations,).

    An opcode the unit was not built with gives a zero result and the flag. Arrays as in
    ``semiring_products``.
    """
    codes = np.asarray(op)
    left, right, addend, positions = _arrays(config, a, b, c, metadata)
    d = np.zeros(addend.shape, np.uint64)
    error = np.ones(codes.shape, np.bool_)
    for name, code in config.opcodes.items():
        chosen = codes == code
        if chosen.any():
            here = None if positions is None else positions[chosen]
            d[chosen] = semiring_products(
                config, name, left[chosen], right[chosen], addend[chosen], here
            )
            error[chosen] = False
    return d, error


def _arrays(
    config: Simd2Config,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    c: npt.ArrayLike,
    metadata: npt.ArrayLike | None,
) -> tuple[Array, Array, Array, Array | None]:
    left, right, addend = np.asarray(a), np.asarray(b), np.asarray(c)
    count, tile = len(addend), config.tile
    _check_shape("a", left, (count, tile, tile))
    _check_shape("b", right, (count, config.b_depth, tile))
    _check_shape("c", addend, (count, tile, tile))
    if config.sparsity == "none":
        if metadata is not None:
            raise ValueError("`metadata` must be None without sparsity")
        return left, right, addend, None
    positions = np.zeros(0, np.uint64) if metadata is None else np.asarray(metadata)
    _check_shape("metadata", positions, (count, tile, tile))
    return left, right, addend, positions


def _check_shape(name: str, array: Array, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ValueError(f"`{name}` must have shape {shape}, not {array.shape}")


def _chunk(
    config: Simd2Config, row: Semiring, a: Array, b: Array, c: Array, metadata: Array | None
) -> Words:
    """Operations on the last axis: the longest one, and every inner loop of NumPy runs along it."""
    left = _patterns(a, config.element).transpose(2, 1, 0)[:, :, np.newaxis, :]
    lanes_b = _patterns(b, config.element)
    if metadata is None:
        right = lanes_b.transpose(1, 2, 0)[:, np.newaxis, :, :]
    else:
        right = _selected(lanes_b, metadata).transpose(2, 1, 3, 0)
    addend = np.ascontiguousarray(_patterns(c, config.result).transpose(1, 2, 0))
    d = semiring_sum(
        row,
        left,
        right,
        addend,
        element=config.element,
        result=config.result,
        alignment_bits=config.window_bits,
    )
    return d.transpose(2, 0, 1)


def _patterns(lanes: Array, fmt: Format) -> Words:
    """Container words as patterns; what lies above them in a lane is ignored."""
    if isinstance(fmt, FloatFormat):
        return from_container(lanes, fmt).view(np.uint64)
    return lanes.astype(np.uint64) & np.uint64((1 << fmt.bits) - 1)


def _selected(b: Words, metadata: Array) -> Words:
    """The element of b that each lane of a multiplies: (operations, rows, lanes, columns)."""
    operations, _, lanes = np.indices(metadata.shape)
    return b[operations, 4 * (lanes // 2) + metadata.astype(np.int64)]
