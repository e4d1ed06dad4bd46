"""SIDA: two products with a sparse matrix in one pass over it."""

from ..registry import System

SYSTEM = System(
    name="sida",
    entries=(),
    tables={"sida-reuse": "tilewright.tables.sida_reuse:sida_reuse"},
    pages=("oei.md",),
    place=6,
)
