"""Computes a program of the element-wise core bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ....hw.spec.elementwise.instructions import REDUCTIONS, Instruction, scalar_operand
from ....hw.spec.elementwise.program import Program
from ....hw.spec.formats import FloatFormat, Format
from ....hw.spec.semirings import SEMIRINGS, Semiring
from ...numbers.fused import fused_dot_product
from ...numbers.semirings import combine, product
from ...numbers.values import Patterns, decode, encode, is_true
from .products import Rules
from .sums import tree_sums

_FMA_BITS = 128
"""Bits of the window of one product and one addend; a single product is exact in any window."""

Operation = Callable[..., Patterns]


def truth(flags: npt.NDArray[np.bool_], fmt: Format) -> Patterns:
    """1 and 0 of the format."""
    one = fmt.constant("1")
    assert one is not None
    return np.where(flags, np.uint64(one), np.uint64(0))


def _by_numbers(compute: Callable[..., Any]) -> Operation:
    """An operation whose result float64, or int64, holds so well that it is rounded once."""

    def operation(fmt: Format, *values: Patterns) -> Patterns:
        with np.errstate(all="ignore"):
            return encode(compute(*(decode(value, fmt) for value in values)), fmt)

    return operation


def _by_relation(compare: Callable[..., Any]) -> Operation:
    def operation(fmt: Format, *values: Patterns) -> Patterns:
        return truth(compare(*(decode(value, fmt) for value in values)), fmt)

    return operation


def _bytruth(decide: Callable[..., Any]) -> Operation:
    def operation(fmt: Format, *values: Patterns) -> Patterns:
        return truth(decide(*(is_true(value, fmt) for value in values)), fmt)

    return operation


def _extreme(name: str) -> Operation:
    def operation(fmt: Format, x: Patterns, y: Patterns) -> Patterns:
        return combine(SEMIRINGS[name], x, y, fmt)

    return operation


def _fma(fmt: Format, a: Patterns, b: Patterns, c: Patterns) -> Patterns:
    if not isinstance(fmt, FloatFormat):
        return encode(decode(a, fmt) * decode(b, fmt) + decode(c, fmt), fmt)
    x, y, z = np.broadcast_arrays(a, b, c)
    return fused_dot_product(
        x[..., None], y[..., None], z, operand=fmt, result=fmt, alignment_bits=_FMA_BITS
    )


def _sign(fmt: Format) -> np.uint64:
    return np.uint64(1 << (fmt.bits - 1))


def _absolute(fmt: Format, a: Patterns) -> Patterns:
    if isinstance(fmt, FloatFormat):
        return _quiet(fmt, a, a & ~_sign(fmt))
    return encode(np.abs(decode(a, fmt)), fmt)


def _negative(fmt: Format, a: Patterns) -> Patterns:
    if isinstance(fmt, FloatFormat):
        return _quiet(fmt, a, a ^ _sign(fmt))
    return encode(-decode(a, fmt), fmt)


def _quiet(fmt: FloatFormat, a: Patterns, found: Patterns) -> Patterns:
    """The canonical NaN where there was one."""
    return np.where(np.isnan(decode(a, fmt)), np.uint64(fmt.nan), found)


def _relu(fmt: Format, a: Patterns) -> Patterns:
    return combine(SEMIRINGS["maxplus"], a, np.zeros_like(a), fmt)


def _select(fmt: Format, a: Patterns, b: Patterns, c: Patterns) -> Patterns:
    return np.where(is_true(a, fmt), b, c)


OPERATIONS: dict[str, Operation] = {
    "add": _by_numbers(np.add),
    "sub": _by_numbers(np.subtract),
    "mul": _by_numbers(np.multiply),
    "fma": _fma,
    "div": _by_numbers(np.divide),
    "sqrt": _by_numbers(np.sqrt),
    "min": _extreme("minplus"),
    "max": _extreme("maxplus"),
    "abs": _absolute,
    "neg": _negative,
    "relu": _relu,
    "equal": _by_relation(np.equal),
    "less": _by_relation(np.less),
    "atmost": _by_relation(np.less_equal),
    "and": _bytruth(np.logical_and),
    "or": _bytruth(np.logical_or),
    "not": _bytruth(np.logical_not),
    "select": _select,
}


_ROWS = {"rsum": SEMIRINGS["mma"], "rmin": SEMIRINGS["minplus"], "rmax": SEMIRINGS["maxplus"],
         "ror": SEMIRINGS["orand"]}  # fmt: skip
"""Semiring of each reduction, whose (+) the reduction applies."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Results of a part of a program.

    Parameters
    ----------
    result: (size, features) patterns: what ``out`` gave; without one, r0 as the part leaves it
    vectors: by number those that were stored
    reductions: by number the pattern of each that the part adds to
    """

    result: Patterns
    vectors: dict[int, Patterns]
    reductions: dict[int, int]


def begin(program: Program, fmt: Format, given: Mapping[str, float]) -> list[int]:
    """Returns patterns of all scalars before the first pass: constants and given ones, rounded to
    the format; reductions have their value of no elements.

    Raises ValueError if one that comes with the job is missing, or an unknown one is given.
    """
    known = [one.name for one in program.scalars if one.name and one.value is None]
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(f"`given` must be of {', '.join(known) or 'nothing'}, not {unknown[0]}")
    found = []
    for one in program.scalars:
        if one.reduction and one.name not in given:
            pattern = fmt.constant(REDUCTIONS[one.reduction])
            assert pattern is not None
            found.append(pattern)
            continue
        value = given.get(one.name) if one.value is None else one.value
        if value is None:
            raise ValueError(f"`given` must have {one.name}")
        number: Any = float(value) if isinstance(fmt, FloatFormat) else int(value)
        found.append(int(encode(np.array([number]), fmt)[0]))
    return found


def run(
    rules: Rules,
    program: Program,
    part: str,
    product_: Patterns,
    scalars: list[int],
    vectors: Mapping[int, Patterns],
    matrices: Mapping[int, Patterns] | None = None,
) -> Outcome:
    """A part of a program on all elements.

    Parameters
    ----------
    product_: (size, features) patterns: y of each element
    scalars: patterns by number
    vectors: (size, features) patterns by number, of those that are loaded
    matrices: (features, features) patterns by number

    A load finds what the same part stored before. Sums of reductions are in the order of
    ``tree_sums``: features of an element follow each other.
    """
    machine = _Machine(rules.fmt, scalars, dict(vectors), dict(matrices or {}), product_)
    reductions: dict[int, list[tuple[str, Patterns]]] = {}
    for one in program.part(part):
        if number := one.of("s"):
            values = np.broadcast_to(machine.read(one.of("a")[0]), product_.shape)
            listed = (one.operation.name, values.reshape(-1))
            reductions.setdefault(number[0], []).append(listed)
        else:
            machine.step(one)
    return Outcome(
        result=machine.given,
        vectors=machine.stored,
        reductions={number: _reduced(rules, lists) for number, lists in reductions.items()},
    )


def _reduced(rules: Rules, lists: list[tuple[str, Patterns]]) -> int:
    """Reduces each list in its order, and then their results, each as its instruction reduces."""
    total: Patterns | None = None
    for kind, values in lists:
        plus = partial(_combine, _ROWS[kind], rules.fmt)
        if not len(values):
            continue
        places = np.arange(len(values))
        if kind == "ror":
            values = truth(is_true(values, rules.fmt), rules.fmt)
        _, found = tree_sums(
            places, np.zeros_like(places), values, plus,
            leaves=rules.leaves, partials=rules.partials,
        )  # fmt: skip
        total = found if total is None else plus(total, found)
    if total is not None:
        return int(total[0])
    pattern = rules.fmt.constant(REDUCTIONS[lists[-1][0]])
    assert pattern is not None
    return pattern


def _combine(row: Semiring, fmt: Format, x: Patterns, y: Patterns) -> Patterns:
    return combine(row, x, y, fmt)


class _Machine:
    """Registers of all elements at once."""

    def __init__(
        self,
        fmt: Format,
        scalars: list[int],
        vectors: dict[int, Patterns],
        matrices: dict[int, Patterns],
        product_: Patterns,
    ) -> None:
        self._format, self._scalars = fmt, scalars
        self._vectors, self._matrices = vectors, matrices
        self._registers: dict[int, Patterns] = {0: product_}
        self._shape = product_.shape
        self.result: Patterns | None = None
        self.stored: dict[int, Patterns] = {}

    def read(self, operand: int) -> Patterns:
        """A register, or a scalar; registers that nothing was written to are 0."""
        if operand >= scalar_operand(0):
            return np.array(self._scalars[operand - scalar_operand(0)], np.uint64)
        if operand not in self._registers:
            self._registers[operand] = np.zeros(self._shape, np.uint64)
        return self._registers[operand]

    @property
    def given(self) -> Patterns:
        """The result, when the part is over."""
        if self.result is not None:
            return self.result
        return np.broadcast_to(self.read(0), self._shape).copy()

    def step(self, one: Instruction) -> None:
        """An instruction that is no reduction."""
        name = one.operation.name
        values = [self.read(number) for number in one.of("abc")]
        if name == "load":
            found = self.stored.get(one.of("v")[0])
            found = self._vectors[one.of("v")[0]] if found is None else found
        elif name == "dot":
            found = self._dot(values[0], self._matrices[one.of("m")[0]])
        elif name in ("store", "out", "move"):
            found = np.broadcast_to(values[0], self._shape).copy()
        else:
            found = np.broadcast_to(OPERATIONS[name](self._format, *values), self._shape)
        if name == "store":
            self.stored[one.of("v")[0]] = found
        elif name == "out":
            self.result = found
        else:
            self._registers[one.of("d")[0]] = found

    def _dot(self, a: Patterns, matrix: Patterns) -> Patterns:
        row, values = SEMIRINGS["mma"], np.broadcast_to(a, self._shape)
        terms = [
            product(row, values[:, g, None], matrix[g][None], self._format, self._format)
            for g in range(self._shape[1])
        ]
        total = terms[0]
        for term in terms[1:]:
            total = combine(row, total, term, self._format)
        return total
