"""Programs of the mapping language: loop nests that are joined by channels."""

from .config import UNITS

__all__ = ["UNITS"]
