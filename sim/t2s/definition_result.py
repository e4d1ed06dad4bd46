"""Evaluates a definition with NumPy on all its indices at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.t2s.program import Program, TensorDeclaration
from .semiring_numbers import FUNCTIONS, operators
from .sizes import Numbers, check_bounds

__all__ = ["definition_result"]

Words = npt.NDArray[Any]


def definition_result(
    program: Program, bounds: Mapping[str, int], operands: Mapping[str, Words]
) -> Words:
    """The result's elements from the tensors' indices alone: no loop nest of the program is used.
    Sparse tensors have None where they have no entry.

    Takes memory for all products. Raises ValueError for bounds that do not fit.
    """
    check_bounds(program, bounds)
    plus, times, identity = operators(program.semiring)
    spans = [np.arange(bounds[name]) for name in program.indices]
    grids = dict(zip(program.indices, np.meshgrid(*spans, indexing="ij"), strict=True))
    shape = tuple(bounds[name] for name in program.indices)
    words = {
        one.name: np.broadcast_to(operands[one.name][_places(one, grids)], shape)
        for one in program.tensors
        if not one.image and one.name != program.result
    }
    terms = [_product(program, names, words, times, identity) for names in program.products]
    kept = len(program.tensor(program.result).dimensions)
    flat = (*shape[:kept], -1)
    total = np.full(shape[:kept], identity, dtype=object)
    if program.start:
        started = _through(program.tensor(program.start).functions, words[program.start])
        total = started.reshape(flat)[..., 0]
    for term in (one.reshape(flat) for one in terms):
        for n in range(term.shape[-1]):
            total = np.frompyfunc(plus, 2, 1)(total, term[..., n])
    return _through(program.tensor(program.result).functions, total)


def _places(tensor: TensorDeclaration, grids: Mapping[str, Numbers]) -> tuple[Numbers, ...]:
    """Indices of a tensor's words, by those of the computation."""
    grid = next(iter(grids.values()))
    return tuple(
        sum((by * grids[name] for name, by in one.terms), np.full_like(grid, one.constant))
        for one in tensor.dimensions
    )


def _product(
    program: Program,
    names: Iterable[str],
    words: Mapping[str, Words],
    times: Callable[[Any, Any], Any],
    identity: Any,
) -> Words:
    """Products of tensors' words; the identity of (+) where a sparse one has no entry."""
    product, there = None, None
    for tensor in map(program.tensor, names):
        its = words[tensor.name]
        if tensor.sparse:
            has = np.frompyfunc(lambda word: word is not None, 1, 1)(its).astype(bool)
            there = has if there is None else there & has
            its = np.where(has, its, 0)
        its = _through(tensor.functions, its)
        product = its if product is None else np.frompyfunc(times, 2, 1)(product, its)
    assert product is not None
    return product if there is None else np.where(there, product, identity)


def _through(functions: Iterable[str], words: Words) -> Words:
    for name in functions:
        words = np.frompyfunc(FUNCTIONS[name], 1, 1)(words)
    return words
