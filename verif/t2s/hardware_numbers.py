"""The numbers of an element of T2S as the arithmetic of an interpreted program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.t2s.arithmetic import LaneSum, WordFunctions, pad_pattern
from tilewright.hw.spec.t2s.design import Design
from tilewright.hw.spec.t2s.program import TensorDeclaration
from tilewright.sim.numbers.scalars import through
from tilewright.sim.t2s.element_sums import ElementSums
from tilewright.sim.t2s.hardware_result import Words, ordered_sums


@dataclass(slots=True, frozen=True)
class _Sum:
    """A sum that will be known: its place among all, and how many operations are before it."""

    place: int
    level: int


class _Absent(int):
    """The pad of a sparse tensor, where it has no entry."""


@dataclass(slots=True, frozen=True)
class _Product:
    """Words that are multiplied, and a sum over lanes with which they are, or none."""

    words: tuple[int, ...]
    inner: _Sum | None = None


class _Operations(NamedTuple):
    """Operations that are done at once.

    Members
    -------
    places: of their results
    totals: places of the sums so far
    words: of all lanes, each as many as are multiplied, one lane after the other
    inner: places of sums over lanes, if words are multiplied with these
    """

    places: list[int]
    totals: list[int]
    words: list[tuple[int, ...]]
    inner: list[int]


class HardwareNumbers:
    """Words of operands are patterns of their format, and results are patterns of sums.
    :meth:`started` converts an initial value to a sum first.

    For programs after all passes: of one that does not say what is done at once, each product is an
    operation of its own. Of each program it can be used once.

    Parameters
    ----------
    arithmetic: of the elements

    Members
    -------
    identity: the sum of nothing
    """

    def __init__(self, arithmetic: LaneSum) -> None:
        self._sums = ElementSums(arithmetic)
        self.identity = _Sum(0, 0)
        padding = arithmetic.semirings[0].padding_in(arithmetic.element)
        self._pad = padding[1] if padding else 0
        self._count = 1
        self._starts: list[tuple[int, int]] = [(0, self._sums.identity)]
        self._operations: defaultdict[tuple[int, int, int, bool], _Operations] = defaultdict(
            lambda: _Operations([], [], [], [])
        )
        self._applied: defaultdict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)

    def pad(self, tensor: TensorDeclaration) -> int:
        """The pattern that pads an operand."""
        pad = pad_pattern(tensor.functions, tensor.pad, self._sums.arithmetic.element)
        return _Absent(pad) if tensor.sparse else pad

    def started(self, words: npt.ArrayLike) -> npt.NDArray[np.object_]:
        """Sums that are known: patterns of sums from which others start."""
        patterns = np.asarray(words, np.uint64)
        found = np.empty(patterns.shape, object)
        for place, pattern in np.ndenumerate(patterns):
            found[place] = known = self._new(0)
            self._starts.append((known.place, int(pattern)))
        return found

    def apply(self, name: str, value: int | _Sum) -> int | _Sum:
        """A function of a word or of a sum."""
        if not isinstance(value, _Sum):
            return WordFunctions((name,), self._sums.arithmetic.element).of(value)
        found = self._new(value.level + 1)
        self._applied[found.level, name].append((found.place, value.place))
        return found

    def plus(self, total: _Sum, term: int | _Product) -> _Sum:
        """A sum after an operation that has one lane, or a sum over lanes."""
        return self.fold(total, (term,))

    def times(self, a: int | _Product | _Sum, b: int | _Product | _Sum) -> _Product:
        """Returns the product of words; one may be a sum over lanes. Where a sparse tensor has no
        entry, it is the product of pads."""
        left, right = _product(a), _product(b)
        if any(isinstance(one, _Absent) for one in left.words):
            right = _Product((self._pad,) * len(right.words))
        return _Product(left.words + right.words, left.inner or right.inner)

    def fold(self, total: _Sum, terms: tuple[int | _Product, ...]) -> _Sum:
        """A sum after an operation."""
        products = [_product(one) for one in terms]
        inner = products[0].inner
        level = 1 + max(total.level, inner.level if inner else 0)
        key = level, len(products), len(products[0].words), inner is not None
        operations = self._operations[key]
        found = self._new(level)
        operations.places.append(found.place)
        operations.totals.append(total.place)
        operations.words.append(tuple(word for one in products for word in one.words))
        if inner:
            operations.inner.append(inner.place)
        return found

    def finished(self, sums: npt.NDArray[Any]) -> Words:
        """The patterns of an array of sums."""
        known = np.zeros(self._count, np.uint64)
        for place, pattern in self._starts:
            known[place] = pattern
        steps = [(key[0], partial(self._operate, known, key)) for key in self._operations]
        steps += [(key[0], partial(self._apply, known, key)) for key in self._applied]
        for _, step in sorted(steps, key=lambda one: one[0]):
            step()
        places = np.array([one.place for one in sums.ravel()], np.int64)
        return known[places].reshape(sums.shape)

    def _new(self, level: int) -> _Sum:
        self._count += 1
        return _Sum(self._count - 1, level)

    def _operate(self, known: Words, key: tuple[int, int, int, bool]) -> None:
        """Do operations that are alike."""
        (_, lanes, factors, factored), one = key, self._operations[key]
        words = np.array(one.words, np.uint64).reshape(len(one.places), lanes, factors)
        operands = [np.ascontiguousarray(words[:, :, n].T) for n in range(factors)]
        total = known[one.totals]
        if factored:
            inner = known[one.inner]
            known[one.places] = self._sums.outer([x[0] for x in operands], inner, total)
        else:
            known[one.places] = self._sums.inner(operands, total)

    def _apply(self, known: Words, key: tuple[int, str]) -> None:
        """Apply a function to sums."""
        results, sums = np.array(self._applied[key]).T
        known[results] = through((key[1],), known[sums], self._sums.arithmetic.result)


def _product(value: int | _Product | _Sum) -> _Product:
    if isinstance(value, _Product):
        return value
    if isinstance(value, _Sum):
        return _Product((), value)
    return _Product((value if isinstance(value, _Absent) else int(value),))


def hardware_result(
    design: Design, bounds: Mapping[str, int], operands: Mapping[str, npt.ArrayLike]
) -> Words:
    """Patterns of the result's elements: functions of sums, each over the vectorised loop at once,
    and over the other loops that are summed over in the order of the nest.

    All elements are worked on at once; nothing of the program but its loops is followed.

    Parameters
    ----------
    bounds: of the computation's indices
    operands: patterns of every tensor

    Raises ValueError for bounds that do not fit.
    """
    return ordered_sums(design.program, design.element, bounds, operands)
