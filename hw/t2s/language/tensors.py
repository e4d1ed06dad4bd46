"""Tensors, their elements, products of them, and sums of products."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...spec.formats import FORMATS
from ...spec.t2s.loops import Affine
from .indices import Index, Subscript, affine, shown
from .places import MappingError, place_of_caller

MOST_DIMENSIONS = 5

STYLES = ("csr", "ciss")
"""Assignments of a sparse tensor's rows to elements: by the loops, or distributed."""


class Expression:
    """Expression of a definition: an element of a tensor, a product, or a sum of products."""

    def __mul__(self, other: Expression) -> Product:
        if not isinstance(other, Expression):
            raise MappingError(
                f"{place_of_caller()}: must be a product of tensors' elements, not of {other!r}"
            )
        if len(self.products()) > 1 or len(other.products()) > 1:
            raise MappingError(
                f"{place_of_caller()}: a sum of products must not be multiplied: each product is "
                "written out"
            )
        return Product(self.products()[0] + other.products()[0])

    __rmul__ = __mul__

    def __add__(self, other: Expression) -> Total:
        if not isinstance(other, Expression):
            raise MappingError(
                f"{place_of_caller()}: must be a sum of products of tensors' elements, not of "
                f"{other!r}"
            )
        return Total(self.products() + other.products())

    __radd__ = __add__

    def products(self) -> Products:
        """The products that are added, of each the elements that are multiplied, left to right."""
        raise NotImplementedError


@dataclass(frozen=True)
class Element(Expression):
    """An element of a tensor, which loop variables choose.

    Parameters
    ----------
    functions: names of those that its word goes through, the first one first
    """

    tensor: Tensor
    subscripts: tuple[Affine, ...]
    functions: tuple[str, ...] = ()

    def check_shape(
        self, place: str, directive: str, number_format: str, indices: tuple[str, ...]
    ) -> None:
        """Refuse another format, other indices, and dimensions that others than theirs walk."""
        name = self.tensor.name
        if self.tensor.number_format != number_format:
            raise MappingError(
                f"{place}: {directive}: format of {name} must be {number_format}, "
                f"not {self.tensor.number_format}"
            )
        for index in sorted({v for one in self.subscripts for v in one.variables} - set(indices)):
            raise MappingError(
                f"{place}: {directive}: index must be one of {', '.join(indices)}, not {index!r}"
            )
        for dimension, subscript in zip(self.tensor.dimensions, self.subscripts, strict=True):
            walked = subscript.variables
            if dimension in indices and walked and dimension not in walked:
                raise MappingError(
                    f"{place}: {directive}: dimension `{dimension}` of {name} must be walked by "
                    f"`{dimension}`, not by `{subscript}`: shapes contradict each other"
                )

    def products(self) -> Products:
        return ((self,),)


Products = tuple[tuple[Element, ...], ...]


@dataclass(frozen=True)
class Product(Expression):
    """Elements that the semiring's (x) joins, left to right."""

    elements: tuple[Element, ...]

    def products(self) -> Products:
        return (self.elements,)


@dataclass(frozen=True)
class Total(Expression):
    """Products that the semiring's (+) joins, left to right."""

    terms: Products

    def products(self) -> Products:
        return self.terms


@dataclass(frozen=True)
class Tensor:
    """An operand: its name, its format, and the names of its dimensions.

    Parameters
    ----------
    sparse: how its rows lie on elements, one of ``STYLES``, if entries alone are stored; else empty
    """

    name: str
    number_format: str
    dimensions: tuple[str, ...]
    sparse: str = ""

    @property
    def order(self) -> int:
        """Number of dimensions."""
        return len(self.dimensions)

    def __getitem__(self, subscripts: Subscript | tuple[Subscript, ...]) -> Element:
        given = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        if len(given) != self.order:
            raise MappingError(
                f"{place_of_caller()}: {self.name} must have {self.order} indices, not {len(given)}"
            )
        subscripts = tuple(affine(one) for one in given)
        for one in subscripts:
            if one.constant < 0 or any(by < 0 for _, by in one.terms):
                raise MappingError(
                    f"{place_of_caller()}: {self.name}: an index must not go below 0: `{one}`"
                )
        return Element(self, subscripts)


def tensor(name: str, number_format: str, *dimensions: Index, sparse: str = "") -> Tensor:
    """Defines an operand, in a format of ``tilewright.hw.spec.formats.FORMATS``.

    ``dimensions`` name the sizes. A computation's index of the same name must be that of the
    dimension, alone or as in ``y + r``. Other names have no meaning.

    A sparse tensor stores only entries, by rows, its first dimension. ``"csr"`` assigns rows to
    elements in loop order; ``"ciss"`` distributes them, the longest first. Products with missing
    entries do not exist: infinity times such an entry is not NaN.

    Picture::

                   k ->                 A = tensor("A", "fp32", i, k)
             i  +--+--+--+--+
             |  |  |  |  |  |           A[i, k] is one of its elements
             v  +--+--+--+--+
                |  |  |  |  |
                +--+--+--+--+

             i  +--+--+--+--+           S = tensor("S", "fp32", i, k, sparse="csr")
             |  |s0|        |
             v  |     |s1|s2|           row 0: s0 at k = 0; row 1: s1 at k = 2, s2 at k = 3
                +--+--+--+--+

    Legal with 1 to 5 dimensions and an existing format; a sparse tensor has at least 2. An
    element's indices are sums of multiples of indices that are never below 0.

    Refused::

        tensor("T", "fp12", i)
        -> T: format must be one of FORMATS, not 'fp12'
        tensor("T", "fp32")
        -> T: must have 1 to 5 dimensions, not 0
        tensor("T", "fp32", i, k, sparse="coo")
        -> T: sparse must be one of csr, ciss, not 'coo'
        tensor("T", "fp32", i, sparse="csr")
        -> T: must have 2 to 5 dimensions if it is sparse, not 1
        tensor("T", "fp32", i, j + k)
        -> T: a dimension must be an index, not `j + k`: of `y + r`, one of its own
        tensor("a b", "fp32", i)
        -> tensor: its name must be an identifier, not 'a b'
        A[i]
        -> A must have 2 indices, not 1
        A[i, j * k]
        -> index `j` must be multiplied by an integer, not 'k': indices are affine
        A[i, -1 * k]
        -> A: an index must not go below 0: `-1 k`
        compute("E", "fp32", i, sum_over=k)[A[k, i]]
        -> E: dimension `i` of A must be walked by `i`, not by `k`: shapes contradict each other
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
    if sparse and sparse not in STYLES:
        raise MappingError(
            f"{place}: {name}: sparse must be one of {', '.join(STYLES)}, not {sparse!r}"
        )
    if sparse and len(dimensions) < 2:
        raise MappingError(
            f"{place}: {name}: must have 2 to {MOST_DIMENSIONS} dimensions if it is sparse, not "
            f"{len(dimensions)}"
        )
    for one in dimensions:
        if not isinstance(one, Index):
            raise MappingError(
                f"{place}: {name}: a dimension must be an index, not {shown(one)}: of `y + r`, one "
                "of its own"
            )
    return Tensor(name, number_format, tuple(one.name for one in dimensions), sparse)


def absolute(element: Element) -> Element:
    """A word without its sign."""
    return _applied("absolute", element)


def negate(element: Element) -> Element:
    """A word with the other sign."""
    return _applied("negate", element)


def relu(element: Element) -> Element:
    """A word, or 0 if it is below."""
    return _applied("relu", element)


_KNOWN = {one.__name__: one for one in (absolute, negate, relu)}


def _applied(name: str, element: Element) -> Element:
    if not isinstance(element, Element):
        raise MappingError(
            f"{place_of_caller()}: {name}: must be given an element of a tensor, not {element!r}"
        )
    return replace(element, functions=(*element.functions, name))


def function_name(place: str, directive: str, given: object) -> str:
    """Returns the name of a function of the language. Raises MappingError for any other object."""
    for name, one in _KNOWN.items():
        if one is given:
            return name
    raise MappingError(
        f"{place}: {directive}: function must be one of {', '.join(_KNOWN)}, not "
        f"{getattr(given, '__name__', given)!r}"
    )
