"""Computes a pass over the matrix: two products with it, and the element-wise work after each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ....hw.spec.elementwise.program import Program
from ....hw.spec.semirings import Semiring
from ...numbers.values import Patterns
from .elementwise import run
from .products import (
    Columns,
    Rules,
    input_stationary,
    output_stationary,
    transposed_product,
)

__all__ = ["Passed", "one_pass"]


@dataclass(frozen=True, kw_only=True)
class Passed:
    """Results of a pass.

    Parameters
    ----------
    z: (size, features) patterns: the result of E1, operand of the second product
    x: of E2: the operand of the next pass; z itself if there is no second product
    scalars: by number, reductions as they are when the pass ends
    vectors: by number, as they are then
    """

    z: Patterns
    x: Patterns
    scalars: list[int]
    vectors: dict[int, Patterns]


def one_pass(
    rules: Rules,
    matrix: Columns,
    x: Patterns,
    program: Program,
    semirings: tuple[Semiring, Semiring | None],
    scalars: list[int],
    vectors: Mapping[int, Patterns],
    matrices: Mapping[int, Patterns] | None = None,
    *,
    transposed: bool = False,
) -> Passed:
    """``y = x L``, ``z = E1(y)``, ``w = z L``, ``x' = E2(w)``.

    Parameters
    ----------
    x: (size, features) patterns
    semirings: of the first product, and of the second; None: there is none, and no E2
    scalars, vectors, matrices: by number
    transposed: the second product is with the transpose of L

    E1 sees reductions of E2 as they were when the pass before ended; E2 those of E1 of this pass,
    and what E1 stored.
    """
    first = run(
        rules, program, "e1", output_stationary(rules, semirings[0], matrix, x), scalars, vectors,
        matrices,
    )  # fmt: skip
    numbers = _with(scalars, first.reductions)
    kept = {**vectors, **first.vectors}
    if semirings[1] is None:
        return Passed(z=first.result, x=first.result, scalars=numbers, vectors=kept)
    product = transposed_product if transposed else input_stationary
    second = run(
        rules, program, "e2", product(rules, semirings[1], matrix, first.result), numbers, kept,
        matrices,
    )  # fmt: skip
    return Passed(
        z=first.result,
        x=second.result,
        scalars=_with(numbers, second.reductions),
        vectors={**kept, **second.vectors},
    )


def _with(scalars: list[int], reductions: Mapping[int, int]) -> list[int]:
    return [reductions.get(number, pattern) for number, pattern in enumerate(scalars)]
