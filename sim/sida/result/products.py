"""The two products of a pass with a sparse matrix, in their order of additions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from ....hw.spec.formats import Format
from ....hw.spec.semirings import Semiring
from ....hw.spec.sida import DELAY, SidaConfig
from ...numbers.semirings import combine, product
from ...numbers.values import Patterns
from .sums import scatter, tree_sums

__all__ = ["Columns", "Rules", "input_stationary", "output_stationary", "transposed_product"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Columns:
    """A square sparse matrix by columns (CSC).

    Parameters
    ----------
    pointers: (size + 1,) where each column begins
    rows: (elements,) ascending within a column
    values: (elements,) patterns

    Raises
    ------
    ValueError if the arrays contradict each other.
    """

    pointers: Ints
    rows: Ints
    values: Patterns

    def __post_init__(self) -> None:
        pointers, rows = self.pointers, self.rows
        if len(pointers) < 1 or pointers[0] != 0 or (np.diff(pointers) < 0).any():
            raise ValueError("`pointers` must ascend from 0")
        if len(rows) != pointers[-1] or len(self.values) != len(rows):
            raise ValueError(
                f"`rows` and `values` must be {pointers[-1]}, not {len(rows)} and "
                f"{len(self.values)}"
            )
        if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < self.size:
            raise ValueError(f"`rows` must be in 0..{self.size - 1}")
        same = self.columns[1:] == self.columns[:-1]
        if (same & (rows[1:] <= rows[:-1])).any():
            raise ValueError("`rows` must ascend within each column")

    @property
    def size(self) -> int:
        """Rows, and columns."""
        return len(self.pointers) - 1

    @property
    def columns(self) -> Ints:
        """(elements,) of each its column."""
        return np.repeat(np.arange(self.size), np.diff(self.pointers))

    def late(self, step: int) -> npt.NDArray[np.bool_]:
        """(elements,) whether an element is late with steps of so many columns: its row is less
        than ``DELAY`` steps behind its column, so that it waits for its row."""
        return self.rows // step + DELAY > self.columns // step


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Number format of products and the order of their sums.

    Parameters
    ----------
    fmt: of all values
    leaves: of the adder trees: the elements of a core
    partials: see :func:`tree_sums`
    subtensor: columns of a step
    """

    fmt: Format
    leaves: int = 16
    partials: int = 4
    subtensor: int = 64

    @classmethod
    def of(cls, config: SidaConfig) -> Rules:
        """Returns the rules of an accelerator."""
        return cls(
            fmt=config.format,
            leaves=config.pes,
            partials=config.partials,
            subtensor=config.subtensor,
        )

    def identity(self, semiring: Semiring) -> int:
        """Returns the sum of no products."""
        found = semiring.identity_in(self.fmt)
        assert found is not None
        return found


def output_stationary(
    rules: Rules, semiring: Semiring, matrix: Columns, vector: Patterns
) -> Patterns:
    """``y[j] = (+) over i of vector[i] (x) matrix[i, j]``.

    ``vector``: (size,) or (size, features) patterns; so is the result.
    """
    found = _empty(rules, semiring, vector)
    terms = _terms(rules, semiring, matrix, vector, np.ones(len(matrix.rows), bool))
    columns, sums = _trees(rules, semiring, matrix, terms, np.ones(len(matrix.rows), bool))
    found[columns] = sums
    return found


def input_stationary(
    rules: Rules, semiring: Semiring, matrix: Columns, vector: Patterns
) -> Patterns:
    """Computes the same product in the order of a pass's second one. Elements ready in a column's
    step, whose rows are ``DELAY`` steps behind it or more, are summed by the tree; then the late
    ones row by row, one element after the other. A column begins with its first sum, or the
    identity."""
    ready = ~matrix.late(rules.subtensor)
    found = _empty(rules, semiring, vector)
    terms = _terms(rules, semiring, matrix, vector, ready)
    columns, sums = _trees(rules, semiring, matrix, terms, ready)
    found[columns] = sums
    order = np.flatnonzero(~ready)
    order = order[np.lexsort((matrix.columns[order], matrix.rows[order]))]
    late = _terms(rules, semiring, matrix, vector, order)
    return scatter(found, matrix.columns[order], late, partial(_plus, rules, semiring))


def transposed_product(
    rules: Rules, semiring: Semiring, matrix: Columns, vector: Patterns
) -> Patterns:
    """``w[i] = (+) over j of vector[j] (x) matrix[i, j]``, the second product of a pass with the
    transpose: each row begins with the identity; then, column by column, one element after the
    other."""
    columns = matrix.columns
    order = np.arange(len(columns))
    terms = _terms(rules, semiring, matrix, vector, order, columns)
    empty = _empty(rules, semiring, vector)
    return scatter(empty, matrix.rows, terms, partial(_plus, rules, semiring))


def _plus(rules: Rules, semiring: Semiring, x: Patterns, y: Patterns) -> Patterns:
    return combine(semiring, x, y, rules.fmt)


def _empty(rules: Rules, semiring: Semiring, vector: Patterns) -> Patterns:
    return np.full(vector.shape, rules.identity(semiring), np.uint64)


def _terms(
    rules: Rules,
    semiring: Semiring,
    matrix: Columns,
    vector: Patterns,
    which: npt.NDArray[np.bool_] | Ints,
    operands: Ints | None = None,
) -> Patterns:
    """The products of some of the elements; ``operands``: of each element its place in the vector,
    None: its row."""
    places = matrix.rows if operands is None else operands
    values = matrix.values[which].reshape(-1, *(1,) * (vector.ndim - 1))
    return product(semiring, vector[places[which]], values, rules.fmt, rules.fmt)


def _trees(
    rules: Rules,
    semiring: Semiring,
    matrix: Columns,
    terms: Patterns,
    which: npt.NDArray[np.bool_],
) -> tuple[Ints, Patterns]:
    return tree_sums(
        np.flatnonzero(which),
        matrix.columns[which],
        terms,
        partial(_plus, rules, semiring),
        leaves=rules.leaves,
        partials=rules.partials,
    )
