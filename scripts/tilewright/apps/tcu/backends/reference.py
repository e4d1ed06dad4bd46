"""The reference, NumPy."""

from __future__ import annotations

from ....sim.tcu import NumpyBackend
from ..options import TcuChoice

__all__ = ["numpy_backend"]


def numpy_backend(choice: TcuChoice) -> NumpyBackend:
    """A unit of the side that is asked for."""
    return NumpyBackend(choice.side)
