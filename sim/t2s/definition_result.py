"""What a definition means, by NumPy on all its indices at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.t2s.program import Program
from .semiring_numbers import FUNCTIONS, operators
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
    started: Any = None
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
        found = _through(tensor.functions, found)
        if tensor.name == program.start:
            started = found
            continue
        products = found if products is None else np.frompyfunc(times, 2, 1)(products, found)
    kept = len(program.tensor(program.result).dimensions)
    flat = products.reshape(*products.shape[:kept], -1)
    total = np.full(flat.shape[:-1], identity, dtype=object)
    if started is not None:
        total = started.reshape(flat.shape)[..., 0]
    for n in range(flat.shape[-1]):
        total = np.frompyfunc(plus, 2, 1)(total, flat[..., n])
    return _through(program.tensor(program.result).functions, total)


def _through(functions: Iterable[str], words: npt.NDArray[Any]) -> npt.NDArray[Any]:
    for name in functions:
        words = np.frompyfunc(FUNCTIONS[name], 1, 1)(words)
    return words
