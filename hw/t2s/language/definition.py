"""The temporal definition: a result, its indices, and what is summed (section 3.3.1)."""

from __future__ import annotations

from ...spec.formats import FORMATS
from ...spec.semirings import SEMIRINGS
from ...spec.t2s.functions import padded_before
from .computation import Computation
from .indices import Index, shown
from .places import MappingError, place_of_caller
from .tensors import Element, Expression

__all__ = ["Definition", "compute"]


HAVING_ONE = ("mul", "add", "min", "max", "and")
"""Operators (x) that leave a word alone with another one: a product may be of it alone."""


class Definition:
    """A result without its elements yet: ``[...]`` says what they are."""

    def __init__(
        self,
        name: str,
        number_format: str,
        result: tuple[str, ...],
        sum_over: tuple[str, ...],
        semiring: str,
    ) -> None:
        self._name, self._number_format = name, number_format
        self._result, self._sum_over, self._semiring = result, sum_over, semiring

    def __getitem__(self, expression: Expression) -> Computation:
        """The computation: sums of a product of elements of tensors."""
        place = place_of_caller()
        if not isinstance(expression, Expression):
            raise MappingError(
                f"{place}: {self._name}: must be a product of tensors' elements, not {expression!r}"
            )
        factors = expression.factors()
        self._check(place, factors)
        return Computation(
            self._name,
            self._number_format,
            self._result,
            self._sum_over,
            self._semiring,
            factors,
            place,
        )

    def _check(self, place: str, factors: tuple[Element, ...]) -> None:
        name, indices = self._name, (*self._result, *self._sum_over)
        tensors = [one.tensor.name for one in factors]
        for tensor in tensors:
            if tensor == name or tensors.count(tensor) > 1:
                raise MappingError(f"{place}: {name}: {tensor} must stand in it once, not twice")
        paddings = SEMIRINGS[self._semiring].padding
        for one, pad in zip(factors, (paddings[0], *paddings[1:] * len(factors)), strict=False):
            one.check_shape(place, name, self._number_format, indices)
            if padded_before(one.functions, pad) is None:
                raise MappingError(
                    f"{place}: {name}: no word of {one.tensor.name} is padding: "
                    f"{', '.join(one.functions)} makes none {pad}, of which a sum on "
                    f"{self._semiring} is not changed"
                )
        used = {v for one in factors for subscript in one.subscripts for v in subscript.variables}
        for index in indices:
            if index not in used:
                raise MappingError(f"{place}: {name}: no tensor has index `{index}`")
        least = 2 if SEMIRINGS[self._semiring].times not in HAVING_ONE else 1
        if len(factors) < least or (len(factors) > 2 and self._semiring != "mma"):
            raise MappingError(
                f"{place}: {name}: must be a product of {'1 or ' * (least == 1)}2 tensors on "
                f"{self._semiring}, not {len(factors)}"
            )


def compute(
    name: str,
    number_format: str,
    *result: Index,
    sum_over: Index | tuple[Index, ...] = (),
    semiring: str = "mma",
) -> Definition:
    """A result, as ``compute("C", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]]``.

    Parameters
    ----------
    result: its indices, 1 to 5
    sum_over: indices that are summed over
    semiring: of the sums and products

    Picture::

                       +-----+
        A[i, k] -----> |     |
                       | (x) | --> sum over k --> C[i, j]
        B[k, j] -----> |     |
                       +-----+

    Legal are sums of products of elements of different tensors, all of one format, whose indices
    are the result's and those summed over, all of them. The format holds what the semiring's sums
    start from. Only ``mma`` multiplies more than two tensors; ``addnorm`` takes two.

    Refused::

        compute("E E", "fp32", i)
        -> compute: its name must be an identifier, not 'E E'
        compute("E", "fp32", i, i)
        -> E: index `i` must stand once, not twice
        compute("E", "fp32")
        -> E: must have an index; of a sum of all, one whose bound is 1
        compute("E", "fp32", i, semiring="mul")
        -> E: semiring must be one of SEMIRINGS, not 'mul'
        compute("E", "fp8e4m3", i, semiring="minplus")
        -> E: format of minplus must hold +inf, which fp8e4m3 does not
        compute("E", "fp32", i, sum_over=k)[A[i, j]]
        -> E: index must be one of i, k, not 'j'
        compute("E", "fp32", i, j, sum_over=k)[A[i, k]]
        -> E: no tensor has index `j`
        compute("E", "fp32", i, sum_over=k)[A[i, k] * A[i, k]]
        -> E: A must stand in it once, not twice
        compute("E", "fp16", i, sum_over=k)[A[i, k]]
        -> E: format of A must be fp16, not fp32
        compute("E", "fp32", i, j + k)
        -> E: must be given indices, not `j + k`
        compute("E", "fp32", i, sum_over=k)[A[i, k] * 2]
        -> must be a product of tensors' elements, not of 2
        compute("E", "fp32", i, sum_over=k, semiring="addnorm")[A[i, k]]
        -> E: must be a product of 2 tensors on addnorm, not 1
        compute("E", "fp32", i, sum_over=k)[3]
        -> E: must be a product of tensors' elements, not 3
    """
    place = place_of_caller()
    summed = sum_over if isinstance(sum_over, tuple) else (sum_over,)
    if not name.isidentifier():
        raise MappingError(f"{place}: compute: its name must be an identifier, not {name!r}")
    if number_format not in FORMATS:
        known = ", ".join(FORMATS)
        raise MappingError(f"{place}: {name}: format must be one of {known}, not {number_format!r}")
    if semiring not in SEMIRINGS:
        known = ", ".join(SEMIRINGS)
        raise MappingError(f"{place}: {name}: semiring must be one of {known}, not {semiring!r}")
    if SEMIRINGS[semiring].identity_in(FORMATS[number_format]) is None:
        raise MappingError(
            f"{place}: {name}: format of {semiring} must hold {SEMIRINGS[semiring].identity}, "
            f"which {number_format} does not"
        )
    for given in (*result, *summed):
        if not isinstance(given, Index):
            raise MappingError(f"{place}: {name}: must be given indices, not {shown(given)}")
    names = [one.name for one in (*result, *summed)]
    for one in names:
        if names.count(one) > 1:
            raise MappingError(f"{place}: {name}: index `{one}` must stand once, not twice")
    if not result:
        raise MappingError(
            f"{place}: {name}: must have an index; of a sum of all, one whose bound is 1"
        )
    return Definition(
        name,
        number_format,
        tuple(one.name for one in result),
        tuple(one.name for one in summed),
        semiring,
    )
