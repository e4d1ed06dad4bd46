"""The algorithms that can be counted, a row each: theorem, sizes, and the formula of the unit's
work. Plain names: what they name is imported when it is used."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ALGORITHMS", "Algorithm", "Size"]


class Size(NamedTuple):
    """A size that a formula takes.

    Parameters
    ----------
    name: of the formula's parameter
    meaning: in words
    """

    name: str
    meaning: str


class Algorithm(NamedTuple):
    """A row.

    Parameters
    ----------
    theorem: of the paper
    problem: in words
    formula: ``module:function``, from the sizes and ``s`` (and ``weak``, where the algorithm runs
        on a weak unit) to a `tilewright.sim.tcu.cost.UnitWork`
    words: that it needs, in words
    sizes: that the formula takes; the first is what ``--n`` says
    run: the command of ``tilewright run``, if there is one
    """

    theorem: str
    problem: str
    formula: str
    words: str
    sizes: tuple[Size, ...]
    run: str = ""


_FORMULAS = "tilewright.sim.tcu.formulas"
_SIDE = Size("n", "side of the matrices")

ALGORITHMS = {
    "standard": Algorithm(
        "1", "dense product, recursive: 8 products of halves", f"{_FORMULAS}.dense:standard",
        "any", (_SIDE,), "strassen --method standard",
    ),
    "strassen": Algorithm(
        "1", "dense product, recursive: 7 products of halves, Winograd's form",
        f"{_FORMULAS}.dense:strassen", "that subtract", (_SIDE,), "strassen",
    ),
    "tall": Algorithm(
        "2", "dense product, tall left operands", f"{_FORMULAS}.dense:tall",
        "any", (_SIDE,), "strassen --method tall",
    ),
    "rectangular": Algorithm(
        "2, corollary 1", "dense product of (n, k) by (k, p)", f"{_FORMULAS}.dense:rectangular",
        "any", (Size("n", "rows of A"), Size("k", "columns of A"), Size("p", "columns of B")),
    ),
}  # fmt: skip
