"""Loops, each a digit of an index of the computation."""

from __future__ import annotations

from dataclasses import dataclass

from .affine import Affine, variable

__all__ = ["Loop", "last_iteration"]


@dataclass(frozen=True)
class Loop:
    """One loop of a nest.

    Parameters
    ----------
    name: of its variable
    index: of the computation that it walks, as ``i`` of ``ii``
    extent: its trip count; None of an outermost one, which a register has
    step: by how much an iteration moves the index
    reduces: whether results are sums over it
    """

    name: str
    index: str
    extent: int | None
    step: int
    reduces: bool


def last_iteration(loop: Loop) -> Affine:
    """Returns a loop's variable in its last iteration: a number, or ``last_i`` for a loop ``i``
    without extent."""
    return variable(f"last_{loop.name}") if loop.extent is None else Affine((), loop.extent - 1)
