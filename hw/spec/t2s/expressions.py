"""Values that statements compute. A value is a word, or a vector of words."""

from __future__ import annotations

from dataclasses import dataclass

from .affine import Affine
from .loops import Loop

__all__ = [
    "Apply",
    "BufferRead",
    "Flagged",
    "Fold",
    "Load",
    "Name",
    "Neutral",
    "Pack",
    "Together",
    "Value",
]


@dataclass(frozen=True)
class Neutral:
    """Identity of (+), from which sums start."""


@dataclass(frozen=True)
class Name:
    """A value that was received."""

    name: str


@dataclass(frozen=True)
class Load:
    """Element of a tensor; outside of it, the pad word.

    Parameters
    ----------
    tensor, indices: which element
    lanes: of a vector, the loop whose iterations are its elements
    """

    tensor: str
    indices: tuple[Affine, ...]
    lanes: Loop | None = None


@dataclass(frozen=True)
class BufferRead:
    """An element of a buffer."""

    buffer: str
    indices: tuple[Affine, ...]


@dataclass(frozen=True)
class Apply:
    """An operator, of words or lane by lane.

    Parameters
    ----------
    operator: ``plus`` or ``times`` of the semiring, or the name of a function of one word
    """

    operator: str
    arguments: tuple[Value, ...]


@dataclass(frozen=True)
class Fold:
    """``start (+) lane 0 (+) lane 1 ...``: a word of a vector; or of products that are added at
    once, a word or a vector as they are."""

    start: Value
    vector: Value


@dataclass(frozen=True)
class Together:
    """Products that are added to a sum at once, as if each were in a lane of its own."""

    terms: tuple[Value, ...]


@dataclass(frozen=True)
class Pack:
    """Vector of words, or of vectors, one after the other."""

    parts: tuple[Value, ...]


@dataclass(frozen=True)
class Flagged:
    """A value with two flags, which go with it wherever it is passed on.

    Parameters
    ----------
    first, last: variables and what they are in iterations in which the flag is set, all of them
    """

    value: Value
    first: tuple[tuple[str, Affine], ...]
    last: tuple[tuple[str, Affine], ...]


Value = Neutral | Name | Load | BufferRead | Apply | Fold | Together | Pack | Flagged
