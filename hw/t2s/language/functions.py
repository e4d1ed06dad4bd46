"""Functions of one word, of operands before they are multiplied and of results."""

from __future__ import annotations

from dataclasses import replace

from .places import MappingError, place_of_caller
from .tensors import Element

__all__ = ["absolute", "function_name", "negate", "relu"]


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
