"""The two Strassen-like algorithms that the paper names, of 2 x 2 blocks (n0 = 4)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..words import Array

# A Strassen-like algorithm as data: products of sums of blocks, and sums of the products.
#
# Source: section 3.1 of the paper, after Ballard, Demmel, Holtz and Schwartz. Blocks of the
# operands are called A11 to Ann and B11 to Bnn, those of the result C11 to Cnn; each statement
# names a new value as a sum of earlier ones, so that sums that several need are made once
# (Winograd's form).

_TERM = re.compile(r"([+-])([A-Z]\w*)")


class Sum(NamedTuple):
    """``target = +- name +- name ...``; a term that is added comes first, if there is one."""

    target: str
    terms: tuple[tuple[int, str], ...]


class Product(NamedTuple):
    """``target = left right``, a product of matrices."""

    target: str
    left: str
    right: str


def _sum(statement: str) -> Sum:
    target, _, terms = statement.replace(" ", "").partition("=")
    signed = terms if terms.startswith("-") else f"+{terms}"
    found = [(1 if sign == "+" else -1, name) for sign, name in _TERM.findall(signed)]
    if not found or "".join(("+" if k > 0 else "-") + name for k, name in found) != signed:
        raise ValueError(f"statements must be like 'S = A11 - A12', not {statement!r}")
    return Sum(target, tuple(sorted(found, key=lambda term: -term[0])))


def _product(statement: str) -> Product:
    parts = statement.split()
    if len(parts) != 4 or parts[1] != "=":
        raise ValueError(f"products must be like 'P = S T', not {statement!r}")
    return Product(parts[0], parts[2], parts[3])


@dataclass(frozen=True, kw_only=True)
class Bilinear:
    """An algorithm for the product of matrices of ``side`` x ``side`` blocks.

    Parameters
    ----------
    name: of the algorithm
    side: the paper's sqrt(n0), 2..9
    operand_sums: statements, in order, on blocks of A or blocks of B
    products: statements; their number is the paper's p0
    result_sums: statements on products, in order; C11 to Cnn among them

    Raises
    ------
    ValueError for a side that is not allowed, a statement that cannot be read or names what there
    is not, and for results that are not those of the product of matrices.
    """

    name: str
    side: int
    operand_sums: tuple[str, ...] = ()
    products: tuple[str, ...]
    result_sums: tuple[str, ...]

    def __post_init__(self) -> None:
        if not 2 <= self.side <= 9:
            raise ValueError(f"`side` must be in 2..9, not {self.side}")
        try:
            right = self._computes_products()
        except KeyError as missing:
            raise ValueError(f"{self.name} has no value {missing}") from None
        if not right:
            raise ValueError(f"the results of {self.name} are not those of a product of matrices")

    @classmethod
    def of_coefficients(
        cls, name: str, left: Sequence[Sequence[int]], right: Sequence[Sequence[int]],
        result: Sequence[Sequence[int]],
    ) -> Bilinear:  # fmt: skip
        """The algorithm of coefficient matrices of -1, 0 and 1, no sum shared.

        Parameters
        ----------
        left, right: (p0, n0): what each product takes of the blocks of A and of B, row by row
        result: (n0, p0): what each block of C takes of the products

        Raises ValueError for other coefficients, and as the class does.
        """
        matrices = [np.asarray(one) for one in (left, right, result)]
        if any(np.any(np.abs(one) > 1) for one in matrices):
            raise ValueError("coefficients must be -1, 0 or 1")
        side = round(matrices[0].shape[1] ** 0.5)
        sums, products = [], []
        for p, rows in enumerate(zip(matrices[0], matrices[1], strict=True)):
            names = []
            for matrix, row in zip("AB", rows, strict=True):
                made = _statement(row, [f"{matrix}{place}" for place in _places(side)])
                alone = np.count_nonzero(row) == 1 and not np.any(row < 0)
                names.append(made if alone else f"{matrix}S{p}")
                if not alone:
                    sums.append(f"{matrix}S{p} = {made}")
            products.append(f"P{p} = {names[0]} {names[1]}")
        every = [f"P{p}" for p in range(len(products))]
        results = [
            f"C{place} = {_statement(row, every)}"
            for place, row in zip(_places(side), matrices[2], strict=True)
        ]
        return cls(
            name=name,
            side=side,
            operand_sums=tuple(sums),
            products=tuple(products),
            result_sums=tuple(results),
        )

    @cached_property
    def steps(self) -> tuple[tuple[Sum, ...], tuple[Product, ...], tuple[Sum, ...]]:
        """The statements, read: sums of operands, products, sums of products."""
        return (
            tuple(map(_sum, self.operand_sums)),
            tuple(map(_product, self.products)),
            tuple(map(_sum, self.result_sums)),
        )

    @property
    def places(self) -> tuple[str, ...]:
        """Rows and columns of blocks: 11, 12, ... row by row."""
        return _places(self.side)

    @property
    def subtracts(self) -> bool:
        """Tells whether words must subtract; the standard algorithm accepts any words."""
        sums, _, results = self.steps
        return any(sign < 0 for one in (*sums, *results) for sign, _ in one.terms)

    @property
    def additions(self) -> int:
        """Additions and subtractions of blocks a level."""
        sums, _, results = self.steps
        return sum(len(one.terms) - 1 for one in (*sums, *results))

    def _computes_products(self) -> bool:
        """Brent's equations: the coefficient of A_ik B_lj in C_ij is 1 if k = l, 0 otherwise."""
        sums, products, results = self.steps
        n0 = self.side**2
        # A value of an operand is its coefficients of A's blocks, then of B's.
        eye = np.eye(2 * n0, dtype=np.int64)
        names = [f"{matrix}{place}" for matrix in "AB" for place in self.places]
        of: dict[str, Array] = dict(zip(names, eye, strict=True))
        for one in sums:
            of[one.target] = _combined(one, of)
        for product in products:
            left, right = of[product.left], of[product.right]
            if left[n0:].any() or right[:n0].any():
                return False
            of[product.target] = np.outer(left[:n0], right[n0:])
        for one in results:
            of[one.target] = _combined(one, of)
        found = np.stack([of[f"C{place}"] for place in self.places])
        i, k, j = np.indices((self.side,) * 3)
        expected = np.zeros((n0, n0, n0), np.int64)
        expected[i * self.side + j, i * self.side + k, k * self.side + j] = 1
        return found.shape == expected.shape and bool(np.array_equal(found, expected))


def _places(side: int) -> tuple[str, ...]:
    return tuple(f"{i}{j}" for i in range(1, side + 1) for j in range(1, side + 1))


def _statement(row: Array, names: Sequence[str]) -> str:
    terms = [f"{'-' if k < 0 else '+'} {name}" for k, name in zip(row, names, strict=True) if k]
    return " ".join(terms).removeprefix("+ ")


def _combined(one: Sum, of: Mapping[str, Array]) -> Array:
    return np.asarray(np.sum([sign * of[name] for sign, name in one.terms], axis=0))


STANDARD = Bilinear(
    name="standard",
    side=2,
    products=(
        "P1 = A11 B11", "P2 = A12 B21", "P3 = A11 B12", "P4 = A12 B22",
        "P5 = A21 B11", "P6 = A22 B21", "P7 = A21 B12", "P8 = A22 B22",
    ),
    result_sums=("C11 = P1 + P2", "C12 = P3 + P4", "C21 = P5 + P6", "C22 = P7 + P8"),
)  # fmt: skip
"""p0 = 8: any words."""

STRASSEN = Bilinear(
    name="strassen",
    side=2,
    operand_sums=(
        "S1 = A21 + A22", "S2 = S1 - A11", "S3 = A11 - A21", "S4 = A12 - S2",
        "T1 = B12 - B11", "T2 = B22 - T1", "T3 = B22 - B12", "T4 = T2 - B21",
    ),
    products=(
        "P1 = A11 B11", "P2 = A12 B21", "P3 = S4 B22", "P4 = A22 T4",
        "P5 = S1 T1", "P6 = S2 T2", "P7 = S3 T3",
    ),
    result_sums=(
        "C11 = P1 + P2",
        "U2 = P1 + P6", "U3 = U2 + P7", "U4 = U2 + P5",
        "C12 = U4 + P3", "C21 = U3 - P4", "C22 = U3 + P5",
    ),
)  # fmt: skip
"""p0 = 7, in Winograd's form: 15 additions of blocks a level, where Strassen's own has 18."""
