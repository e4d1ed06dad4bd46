"""Limits the sizes of matrices, graphs and computations."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ...errors import UserError

__all__ = ["LARGEST", "MOST_OPERATIONS", "VERTICES", "check_operations", "check_size", "counted",
           "other_backend"]  # fmt: skip


def counted(count: int, one: str, more: str | None = None) -> str:
    """Writes a count: ``1 job``, ``2,000 jobs``; ``more``: the plural, where an s is not enough."""
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"


LARGEST = 1 << 26
"""Elements of the largest matrix: 512 MiB as float64."""

VERTICES = {"rtl": 1024, "cycles": 16_384, "model": 2048}
"""Vertices of the largest graph, by backend: its matrices are dense, and an iteration takes as
many products as there are triples of vertices. With cycles there are no matrices, but iterations
are foreseen from every vertex."""

MOST_OPERATIONS = 200_000_000
"""Operations of the longest run: some hours of simulation."""


def check_size(what: object, *shape: int, instead: str = "") -> None:
    """Refuse a shape that is empty or larger than fits the memory comfortably.

    ``instead``: what takes larger ones, if anything does
    """
    text = " x ".join(map(str, shape))
    if not shape or 0 in shape:
        raise UserError(f"{what}: must have at least one element, not {text or 'no dimension'}")
    if prod(int(n) for n in shape) > LARGEST:
        raise UserError(
            f"{what}: {text} elements are too many; at most {LARGEST} are allowed"
            f"{instead and f'; {instead}'}"
        )


def check_operations(what: object, operations: int, instead: str) -> None:
    """Refuse a run of more operations of a matrix unit than anybody waits for.

    ``instead``: what would make them fewer.
    """
    if operations > MOST_OPERATIONS:
        raise UserError(
            f"{what}: {operations:,} operations are too many; at most {MOST_OPERATIONS:,} are "
            f"allowed: {instead}"
        )


def other_backend(most: Mapping[str, int], backend: str, count: int) -> str:
    """The option of the first other backend that takes so many, for the end of a refusal; empty if
    none does. ``most``: what each takes."""
    for name in ("cycles", "model"):
        if name != backend and most.get(name, 0) >= count:
            return f"; --backend {name} takes up to {most[name]:,}"
    return ""
