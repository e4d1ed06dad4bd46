"""Indices: of tensors, and of the loops that they are cut into."""

from __future__ import annotations

from dataclasses import dataclass

from ...spec.t2s.loops import Affine, variable
from .places import MappingError, place_of_caller

__all__ = ["Index", "Subscript", "affine", "indices", "shown"]


@dataclass(frozen=True)
class Index:
    """A loop variable. Sums of them, and multiples, are indices of tensors: ``2 * i + r``."""

    name: str

    def __add__(self, other: Index | Affine | int) -> Affine:
        return variable(self.name) + affine(other)

    __radd__ = __add__

    def __sub__(self, other: Index | Affine | int) -> Affine:
        return variable(self.name) - affine(other)

    def __rsub__(self, other: Affine | int) -> Affine:
        return affine(other) - variable(self.name)

    def __neg__(self) -> Affine:
        return variable(self.name).times(-1)

    def __mul__(self, factor: int) -> Affine:
        if isinstance(factor, bool) or not isinstance(factor, int):
            given: object = factor
            told = str(given) if isinstance(given, Affine) else getattr(given, "name", given)
            raise MappingError(
                f"{place_of_caller()}: index `{self.name}` must be multiplied by an integer, not "
                f"{told!r}: indices are affine"
            )
        return variable(self.name).times(factor)

    __rmul__ = __mul__

    def _divide(self, _: object) -> Affine:
        raise MappingError(
            f"{place_of_caller()}: index `{self.name}` must be in a sum of multiples, as "
            "2 * i + r, without division: indices are affine"
        )

    __floordiv__ = __truediv__ = __mod__ = _divide


Subscript = Index | Affine | int


def indices(names: str) -> tuple[Index, ...]:
    """Indices of names that blanks stand between: ``i, j = indices("i j")``.

    Raises MappingError for what is no name, or stands twice.
    """
    found = names.split()
    for name in found:
        if not name.isidentifier() or found.count(name) > 1:
            raise MappingError(
                f"{place_of_caller()}: indices: must be different names, not {name!r}"
                + (" twice" if name.isidentifier() else "")
            )
    return tuple(Index(name) for name in found)


def affine(subscript: Subscript) -> Affine:
    """Converts a subscript of a tensor to a sum of indices and a constant."""
    if isinstance(subscript, Index):
        return variable(subscript.name)
    if isinstance(subscript, Affine):
        return subscript
    if isinstance(subscript, int) and not isinstance(subscript, bool):
        return Affine((), subscript)
    raise MappingError(
        f"{place_of_caller()}: an index must be a sum of indices and integers, not {subscript!r}"
    )


def shown(given: object) -> str:
    """Formats an object given as an index, for a message."""
    return f"`{given}`" if isinstance(given, Affine) else repr(given)
