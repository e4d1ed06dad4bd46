"""The papers' tables, ours beside theirs, measured when they are asked for."""

from __future__ import annotations

from collections.abc import Callable

from .m3xu import m3xu_area
from .matraptor import matraptor_area
from .simd2 import simd2_area
from .table import Row, Table

__all__ = ["TABLES", "Row", "Table", "m3xu_area", "matraptor_area", "simd2_area"]

TABLES: dict[str, Callable[..., Table]] = {
    "m3xu-area": m3xu_area,
    "simd2-area": simd2_area,
    "matraptor-area": matraptor_area,
}
"""By name: ``TABLES[name](target, progress=...)`` measures."""
