"""Evaluates a definition with NumPy on all its indices at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...hw.spec.semirings import SEMIRINGS
from ...hw.spec.t2s.program import Program, TensorDeclaration
from .sizes import Numbers, check_bounds

Operator = Callable[[Any, Any], Any]

_OPERATORS: dict[str, Operator] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "min": min,
    "max": max,
    "or": lambda a, b: int(bool(a) or bool(b)),
    "and": lambda a, b: int(bool(a) and bool(b)),
    "square_difference": lambda a, b: (a - b) * (a - b),
    "second": lambda a, b: b if a else 0,
}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "absolute": abs,
    "negate": lambda a: -a,
    "relu": lambda a: max(a, 0),
}
"""Functions of one word."""

_CONSTANTS: dict[str, Any] = {"0": 0, "+inf": math.inf, "-inf": -math.inf}


def operators(semiring: str) -> tuple[Operator, Operator, Any]:
    """(+), (x), and the identity of (+)."""
    row = SEMIRINGS[semiring]
    return _OPERATORS[row.plus], _OPERATORS[row.times], _CONSTANTS[row.identity]


class Arithmetic(Protocol):
    """Arithmetic of an interpreter: words of operands, products of them, and sums.

    Members
    -------
    identity: the sum of nothing
    """

    identity: Any

    def pad(self, tensor: TensorDeclaration) -> Any:
        """The word that pads an operand."""

    def apply(self, name: str, value: Any) -> Any:
        """A function of a word or of a sum."""

    def plus(self, total: Any, term: Any) -> Any:
        """A sum and a word or a product more."""

    def times(self, a: Any, b: Any) -> Any:
        """The product of words, products and sums."""

    def fold(self, total: Any, terms: tuple[Any, ...]) -> Any:
        """A sum and the words or products of all lanes more."""

    def finished(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The numbers of an array of sums."""


class PythonNumbers:
    """The operators of Python's numbers, one after the other.

    Parameters
    ----------
    semiring: name of (+) and (x)
    """

    def __init__(self, semiring: str) -> None:
        self._plus, self._times, self.identity = operators(semiring)

    def pad(self, tensor: TensorDeclaration) -> Any:
        return _CONSTANTS[tensor.pad]

    def apply(self, name: str, value: Any) -> Any:
        return FUNCTIONS[name](value)

    def plus(self, total: Any, term: Any) -> Any:
        return self._plus(total, term)

    def times(self, a: Any, b: Any) -> Any:
        return self._times(a, b)

    def fold(self, total: Any, terms: tuple[Any, ...]) -> Any:
        for one in terms:
            total = self._plus(total, one)
        return total

    def finished(self, sums: npt.NDArray[Any]) -> npt.NDArray[np.object_]:
        return sums


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
