"""SIDA: two products with a sparse matrix in one pass over it."""

from ..registry import System

SYSTEM = System(
    name="sida",
    entries=(),
    tables={
        "sida-reuse": "tilewright.tables.sida_reuse:sida_reuse",
        "sida-ceiling": "tilewright.tables.sida_ceiling:sida_ceiling",
    },
    commands={
        name: f"tilewright.apps.iterations.commands:{name}"
        for name in ("pagerank", "bfs", "sssp", "kcore", "khop")
    },
    pages=("oei.md",),
    place=6,
)
