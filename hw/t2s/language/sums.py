"""What is computed: sums of products, what they start from, and what is done with them."""

from __future__ import annotations

from typing import Self

from .functions import function_name
from .places import MappingError, place_of_caller
from .tensors import Element, Products

__all__ = ["Sums"]


class Sums:
    """Sums of products.

    Parameters
    ----------
    name: of the result
    number_format: of all numbers
    result, sum_over: indices of the result, and those that are summed over
    products: elements of tensors that are multiplied, of each product that is added

    Members
    -------
    factors: elements of all products, those of sparse tensors first
    started: what the sums start from, if that is said
    applied: names of functions that make results of sums, the first one first
    """

    def __init__(
        self,
        name: str,
        number_format: str,
        result: tuple[str, ...],
        sum_over: tuple[str, ...],
        products: Products,
    ) -> None:
        self.name, self.number_format = name, number_format
        self.result, self.sum_over, self.products = result, sum_over, products
        self.started: Element | None = None
        self.applied: tuple[str, ...] = ()

    @property
    def factors(self) -> tuple[Element, ...]:
        elements = dict.fromkeys(one for product in self.products for one in product)
        return tuple(sorted(elements, key=lambda one: not one.tensor.sparse))

    @property
    def sparse(self) -> tuple[Element, ...]:
        """Elements of tensors whose entries alone are stored."""
        return tuple(one for one in self.factors if one.tensor.sparse)

    @property
    def operands(self) -> tuple[Element, ...]:
        """All that is read: factors, and what sums start from."""
        return (*self.factors, *([self.started] if self.started else []))

    def start(self, element: Element) -> Self:
        """Sums start from words of a tensor, not from the identity of (+).

        Picture::

            T[i, j] ----+
                        v
            products --(+)--> C[i, j]          C.start(T[i, j])

        Legal once, before the tensor has producers, for an element of a tensor that is not
        multiplied, of the same format, whose indices are some of the result's; where no tensor is
        sparse.

        Refused::

            C.start(A[i, j])
            -> C.start: A is multiplied
            D.start(T[i, j]).start(T[i, j])
            -> D.start: sums start from T already
            D.start(T[i, k])
            -> D.start: index must be one of i, j, not 'k'
            D.start(T[j, i])
            -> D.start: dimension `i` of T must be walked by `i`, not by `j`: shapes contradict
               each other
            D.start(tensor("T", "fp16", i, j)[i, j])
            -> D.start: format of T must be fp32, not fp16
            D.start(0)
            -> D.start: must be given an element of a tensor, not 0
            Y.start(X[i])
            -> Y.start: S is sparse: sums start from the identity
        """
        place, directive = place_of_caller(), f"{self.name}.start"
        if not isinstance(element, Element):
            raise MappingError(
                f"{place}: {directive}: must be given an element of a tensor, not {element!r}"
            )
        name = element.tensor.name
        self.refuse_if_sparse(place, directive, "sums start from the identity")
        if self.started:
            raise MappingError(
                f"{place}: {directive}: sums start from {self.started.tensor.name} already"
            )
        if name in [self.name, *(one.tensor.name for one in self.factors)]:
            raise MappingError(f"{place}: {directive}: {name} is multiplied")
        element.check_shape(place, directive, self.number_format, self.result)
        self.started = element
        return self

    def then(self, *functions: object) -> Self:
        """Results are functions of sums: `relu`, `negate`, `absolute`, the first one first.

        Words that are read go through functions where they are multiplied, as in
        ``relu(A[i, k]) * B[k, j]``.

        Picture::

            products --> sum over k --> [relu] --> C[i, j]         C.then(relu)

        Legal for functions of the language, where no tensor is sparse.

        Refused::

            D.then(abs)
            -> D.then: function must be one of absolute, negate, relu, not 'abs'
            Y.then(relu)
            -> Y.then: S is sparse: results are sums
            relu(3)
            -> relu: must be given an element of a tensor, not 3
            compute("E", "fp32", i, sum_over=k, semiring="maxplus")[relu(A[i, k])]
            -> E: no word of A is padding: relu makes none -inf, of which a sum on maxplus is not
               changed
        """
        place, directive = place_of_caller(), f"{self.name}.then"
        names = tuple(function_name(place, directive, one) for one in functions)
        self.refuse_if_sparse(place, directive, "results are sums")
        self.applied = (*self.applied, *names)
        return self

    def refuse_if_sparse(self, place: str, directive: str, why: str) -> None:
        """Refuse a directive where a tensor is sparse."""
        if self.sparse:
            name = self.sparse[0].tensor.name
            raise MappingError(f"{place}: {directive}: {name} is sparse: {why}")
