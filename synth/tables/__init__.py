"""The papers' tables, ours beside theirs, measured on request."""

from __future__ import annotations

from .m3xu import m3xu_area
from .matraptor import matraptor_area
from .sida import sida_area
from .simd2 import simd2_area
from .table import Drawing, Row, Table, Tables, csv_of
from .tensaurus import tensaurus_area

__all__ = [
    "Drawing",
    "Row",
    "Table",
    "Tables",
    "csv_of",
    "m3xu_area",
    "matraptor_area",
    "sida_area",
    "simd2_area",
    "tensaurus_area",
]
