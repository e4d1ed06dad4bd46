"""Tensors, their elements, and products of them."""

from __future__ import annotations

from dataclasses import dataclass

from ...spec.formats import FORMATS
from ...spec.t2s.affine import Affine
from .indices import Index, Subscript, affine
from .places import MappingError, place_of_caller

__all__ = ["Element", "Expression", "Product", "Tensor", "tensor"]

MOST_DIMENSIONS = 5


class Expression:
    """What may stand in a definition: an element of a tensor, or a product."""

    def __mul__(self, other: Expression) -> Product:
        return Product(self.factors() + other.factors())

    def factors(self) -> tuple[Element, ...]:
        """The elements that are multiplied, left to right."""
        raise NotImplementedError


@dataclass(frozen=True)
class Element(Expression):
    """An element of a tensor, which loop variables choose."""

    tensor: Tensor
    subscripts: tuple[Affine, ...]

    def factors(self) -> tuple[Element, ...]:
        return (self,)


@dataclass(frozen=True)
class Product(Expression):
    """Elements that the semiring's (x) joins, left to right."""

    elements: tuple[Element, ...]

    def factors(self) -> tuple[Element, ...]:
        return self.elements


@dataclass(frozen=True)
class Tensor:
    """An operand: its name, its format, and how many dimensions it has."""

    name: str
    number_format: str
    order: int

    def __getitem__(self, subscripts: Subscript | tuple[Subscript, ...]) -> Element:
        given = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        if len(given) != self.order:
            raise MappingError(
                f"{place_of_caller()}: {self.name} must have {self.order} indices, not {len(given)}"
            )
        return Element(self, tuple(affine(one) for one in given))


def tensor(name: str, number_format: str, *dimensions: Index) -> Tensor:
    """An operand of 1 to 5 dimensions, of a format of `tilewright.hw.spec.formats.FORMATS`.

    ``dimensions`` name what its indices usually are; an element may have others.
    """
    place = place_of_caller()
    if not name.isidentifier():
        raise MappingError(f"{place}: tensor: its name must be an identifier, not {name!r}")
    if number_format not in FORMATS:
        known = ", ".join(FORMATS)
        raise MappingError(f"{place}: {name}: format must be one of {known}, not {number_format!r}")
    if not 1 <= len(dimensions) <= MOST_DIMENSIONS:
        raise MappingError(
            f"{place}: {name}: must have 1 to {MOST_DIMENSIONS} dimensions, not {len(dimensions)}"
        )
    return Tensor(name, number_format, len(dimensions))
