"""SIDA: two products with a sparse matrix in one pass over it."""

from ..registry import System

_GRAPHS = ("pagerank", "bfs", "sssp", "kcore", "khop")

SYSTEM = System(
    name="sida",
    entries=(),
    tables={
        "sida-reuse": "tilewright.tables.sida_reuse:sida_reuse",
        "sida-ceiling": "tilewright.tables.sida_ceiling:sida_ceiling",
    },
    commands={
        **{name: f"tilewright.apps.iterations.commands:{name}" for name in _GRAPHS},
        **{name: f"tilewright.apps.iterations.equations:{name}" for name in ("label", "cg")},
    },
    pages=("oei.md",),
    place=6,
)
