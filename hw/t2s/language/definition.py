"""The temporal definition: a result, its indices, and what is summed (section 3.3.1)."""

from __future__ import annotations

from ...spec.formats import FORMATS
from ...spec.semirings import SEMIRINGS
from ...spec.t2s.arithmetic import padded_before
from .computation import Computation
from .indices import Index, shown
from .places import MappingError, place_of_caller
from .tensors import Element, Expression, Products

SPARSE_SEMIRINGS = ("mma", "minplus", "maxplus", "minmax", "maxmin", "orand")
"""Semirings in which a product with an entry that is not stored changes no sum."""


def check_merging(place: str, name: str, semiring: str, products: Products) -> None:
    """Refuse sums of products, and products with sparse tensors, that cannot be merged.

    A product needs entries of all its sparse tensors, a sum those of any of its products. Raises
    MappingError.
    """
    sparse = [one for product in products for one in product if one.tensor.sparse]
    if sparse and semiring not in SPARSE_SEMIRINGS:
        raise MappingError(
            f"{place}: {name}: semiring must be one of {', '.join(SPARSE_SEMIRINGS)}, as "
            f"{sparse[0].tensor.name} is sparse, not {semiring}"
        )
    for one in (one for product in products for one in product if sparse):
        if one.functions:
            raise MappingError(
                f"{place}: {name}: words of {one.tensor.name} must go through no function, as "
                f"{sparse[0].tensor.name} is sparse, not through {one.functions[0]}"
            )
    if len(products) == 1:
        return
    dense = [[one for one in product if not one.tensor.sparse] for product in products]
    for product, its in zip(products, dense, strict=True):
        told = " and ".join(one.tensor.name for one in product)
        if len(its) == len(product):
            raise MappingError(
                f"{place}: {name}: a product must have a sparse tensor if others are added to it, "
                f"unlike that of {told}"
            )
        if len(its) != len(dense[0]) or set(its) != set(dense[0]):
            first = " and ".join(one.tensor.name for one in products[0])
            raise MappingError(
                f"{place}: {name}: products that are added must have the same dense elements, "
                f"unlike that of {told} and that of {first}"
            )


HAVING_ONE = ("mul", "add", "min", "max", "and")
"""Operators (x) with a neutral word: a product may have a single factor."""


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
        """The computation: sums of products of elements of tensors."""
        place = place_of_caller()
        if not isinstance(expression, Expression):
            raise MappingError(
                f"{place}: {self._name}: must be a product of tensors' elements, not {expression!r}"
            )
        products = expression.products()
        self._check(place, products)
        return Computation(
            self._name,
            self._number_format,
            self._result,
            self._sum_over,
            self._semiring,
            tuple(_sparse_first(one) for one in products),
            place,
        )

    def _check(self, place: str, products: Products) -> None:
        name, indices = self._name, (*self._result, *self._sum_over)
        check_merging(place, name, self._semiring, products)
        # Dense elements are the same in all products that are added.
        sparse = [one for product in products[1:] for one in product if one.tensor.sparse]
        factors = (*products[0], *sparse)
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
        for product in products:
            if len(product) < least or (len(product) > 2 and self._semiring != "mma"):
                raise MappingError(
                    f"{place}: {name}: must be a product of {'1 or ' * (least == 1)}2 tensors on "
                    f"{self._semiring}, not {len(product)}"
                )


def _sparse_first(product: tuple[Element, ...]) -> tuple[Element, ...]:
    return tuple(sorted(product, key=lambda one: not one.tensor.sparse))


def compute(
    name: str,
    number_format: str,
    *result: Index,
    sum_over: Index | tuple[Index, ...] = (),
    semiring: str = "mma",
) -> Definition:
    """Defines a result, as in ``compute("C", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]]``.

    With sparse tensors only entries count: in a product, as ``[R[i, k] * S[i, k] * X[k]]``, those
    of all its sparse tensors; in a sum, as ``[R[i, k] * X[k] + S[i, k] * X[k]]``, those of any of
    them. The result is dense. Sparse tensors are multiplied before the others.

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

                 k = 0  1  2  3
        R[i, k]      r  .  r  .        R[i, k] * S[i, k]: k = 2
        S[i, k]      .  s  s  .        R[i, k] + S[i, k]: k = 0, 1, 2

    Legal are sums of products of elements of different tensors of one format. Their indices are
    those of the result and all summed ones. The format must hold the start value of the semiring's
    sums. Only ``mma`` multiplies more than two tensors; ``addnorm`` takes two.

    With sparse tensors, products with missing entries must not change a sum of the semiring, and
    words go through no functions. Each added product has one sparse tensor, and all have the same
    dense elements.

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
        compute("E", "fp32", i, sum_over=k)[A[i, k] + S[i, k]]
        -> E: a product must have a sparse tensor if others are added to it, unlike that of A
        compute("E", "fp32", i, sum_over=k)[R[i, k] * X[k] + S[i, k]]
        -> E: products that are added must have the same dense elements, unlike that of S and that
           of R and X
        compute("E", "fp32", i, sum_over=k)[(R[i, k] + S[i, k]) * X[k]]
        -> a sum of products must not be multiplied: each product is written out
        compute("E", "fp32", i, sum_over=k)[S[i, k] + 1]
        -> must be a sum of products of tensors' elements, not of 1
        compute("E", "fp32", i, sum_over=k, semiring="minmul")[S[i, k] * X[k]]
        -> E: semiring must be one of mma, minplus, maxplus, minmax, maxmin, orand, as S is sparse,
           not minmul
        compute("E", "fp32", i, sum_over=k)[S[i, k] * relu(X[k])]
        -> E: words of X must go through no function, as S is sparse, not through relu
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
