"""What a definition means, by NumPy on all its indices at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.t2s.program import Program
from .semiring_numbers import operators
from .sizes import check_bounds

__all__ = ["definition_result"]


def definition_result(
    program: Program, bounds: Mapping[str, int], operands: Mapping[str, npt.NDArray[Any]]
) -> npt.NDArray[Any]:
    """The result's elements from the tensors' indices alone: no loop nest of the program is used.

    Takes memory for all products. Raises ValueError for bounds that do not fit.
    """
    check_bounds(program, bounds)
    plus, times, identity = operators(program.semiring)
    spans = [np.arange(bounds[name]) for name in program.indices]
    grids = dict(zip(program.indices, np.meshgrid(*spans, indexing="ij"), strict=True))
    products: Any = None
    for tensor in program.tensors:
        if tensor.image or tensor.name == program.result:
            continue
        places = tuple(
            sum(
                (by * grids[name] for name, by in one.terms),
                np.full_like(spans[0][0], one.constant),
            )
            for one in tensor.dimensions
        )
        shape = tuple(bounds[name] for name in program.indices)
        found = np.broadcast_to(operands[tensor.name][places], shape)
        products = found if products is None else np.frompyfunc(times, 2, 1)(products, found)
    kept = len(program.tensor(program.result).dimensions)
    flat = products.reshape(*products.shape[:kept], -1)
    total = np.full(flat.shape[:-1], identity, dtype=object)
    for n in range(flat.shape[-1]):
        total = np.frompyfunc(plus, 2, 1)(total, flat[..., n])
    return total
