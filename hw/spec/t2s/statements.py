"""Statements: what a function does in its loops."""

from __future__ import annotations

from dataclasses import dataclass

from .affine import Affine
from .expressions import Value
from .loops import Loop

__all__ = [
    "Body",
    "BufferWrite",
    "Equal",
    "For",
    "If",
    "Receive",
    "Send",
    "Statement",
    "Store",
]


@dataclass(frozen=True)
class For:
    """A loop over statements, from ``first`` to ``last``.

    Where the loop is one of its function's instances it does not repeat anything: it says where
    the loop was before it was unrolled.

    Parameters
    ----------
    first, last: None for all iterations of the loop
    """

    loop: Loop
    body: Body
    first: Affine | None = None
    last: Affine | None = None


@dataclass(frozen=True)
class Equal:
    """A condition: two sums are equal."""

    left: Affine
    right: Affine


@dataclass(frozen=True)
class If:
    """Statements under a condition, and others."""

    condition: Equal
    then: Body
    otherwise: Body = ()


@dataclass(frozen=True)
class Receive:
    """Wait for a value of a channel, and name it."""

    name: str
    channel: str
    at: tuple[Affine, ...] = ()


@dataclass(frozen=True)
class Send:
    """Put a value into a channel."""

    channel: str
    at: tuple[Affine, ...]
    value: Value


@dataclass(frozen=True)
class Store:
    """Write an element of a tensor; nothing, outside.

    Parameters
    ----------
    lanes: of a vector, the loop whose iterations are its elements
    """

    tensor: str
    indices: tuple[Affine, ...]
    value: Value
    lanes: Loop | None = None


@dataclass(frozen=True)
class BufferWrite:
    """Write an element of a buffer."""

    buffer: str
    indices: tuple[Affine, ...]
    value: Value


Statement = For | If | Receive | Send | Store | BufferWrite
Body = tuple[Statement, ...]
