"""Computes the results of the vector functions, octet by octet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ....hw.spec.formats import FLOAT_FORMATS, FORMATS
from ....hw.spec.gta import is_float
from ....hw.spec.jobs.gta_vector import OCTET, operand_memories, vector_result_bytes
from ...numbers.multiply_add import multiply_add
from ...numbers.scalars import convert
from ...numbers.values import Patterns, decode
from ..golden.moves import select
from ..golden.vector import elementwise, reduce

__all__ = ["octet_results"]


def octet_results(
    function: str,
    format: str,
    operands: Sequence[npt.ArrayLike],
    *,
    chain: int = 1,
    amount: int = 0,
    start: npt.ArrayLike | None = None,
) -> Patterns:
    """A function of octets, see ``VECTOR_FUNCTIONS``.

    Parameters
    ----------
    function, format: one of ``functions_of(format)``
    operands: patterns of the format, (octets * chain, 8) each, in the function's order
    chain: of dot and sum: octets of operands that make one of results
    amount: of slide, 0..7
    start: of dot and sum: what the sums begin with, (octets, 8) of results; None: 0

    Returns
    -------
    Patterns (octets, 8), uint64, of ``vector_result_bytes``.

    Raises ValueError for a function that there is not on the format.
    """
    count = len(operand_memories(function, format))
    words = [np.asarray(operand, np.uint64) for operand in operands]
    if len(words) != count:
        raise ValueError(f"`{function}` takes {count} operands on {format}, not {len(words)}")
    if function in ("dot", "sum"):
        parts = [np.swapaxes(each.reshape(-1, chain, OCTET), 1, 2) for each in words]
        first = np.zeros(parts[0].shape[:2], np.uint64) if start is None else start
        if function == "sum":
            return reduce("sum", format, parts[0], first)
        return _dots(format, parts[0], parts[1], np.asarray(first, np.uint64))
    if function == "slide":
        return np.concatenate(words, axis=-1)[:, amount : amount + OCTET]
    if function == "select":
        return select(format, *words)
    return elementwise(function, format, *words)


def _dots(format: str, x: Patterns, y: Patterns, start: Patterns) -> Patterns:
    """Sums of products along the last axis: exact modulo two to the bits of a result, or a chain of
    fused multiply-adds."""
    bits = 8 * vector_result_bytes("dot", format)
    if not is_float(format):
        with np.errstate(over="ignore"):
            products = decode(x, FORMATS[format]) * decode(y, FORMATS[format])
            total: Patterns = start + products.sum(axis=-1).view(np.uint64)
        return total & np.uint64((1 << bits) - 1)
    own, wide = FLOAT_FORMATS[format], FLOAT_FORMATS["fp64" if bits == 64 else "fp32"]
    left, right, sums = convert(x, own, wide), convert(y, own, wide), start
    for k in range(x.shape[-1]):
        sums = multiply_add(left[..., k], right[..., k], sums, wide)
    return sums
