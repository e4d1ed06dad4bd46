"""SIDA: two products with a sparse matrix in one pass over it."""

from ..hw.spec.sida import SIDA
from ..registry import Entry, System

_GRAPHS = ("pagerank", "bfs", "sssp", "kcore", "khop")

SYSTEM = System(
    name="sida",
    entries=(
        Entry(
            unit=SIDA,
            simulate={"verilator": "tilewright.verif.sida.simulate:run"},
            exercise="tilewright.verif.sida.exercise:exercise",
            small={
                "pes": 4,
                "subtensor": 4,
                "buffer_words": 64,
                "vector_words": 64,
                "window": 4,
                "program_words": 32,
                "channels": 2,
                "data_bits": 64,
                "outstanding": 4,
                "semirings": ("mma", "minplus"),
            },
            variants=(
                {"value": "int32", "channels": 1, "subtensor": 16, "rows_limit": 128},
                {"value": "fp16", "semirings": ("mma", "aril-add", "orand")},
            ),
        ),
    ),
    tables={
        "sida-reuse": "tilewright.tables.sida.reuse:sida_reuse",
        "sida-storage": "tilewright.tables.sida.storage:sida_storage",
        "sida-ceiling": "tilewright.tables.sida.ceiling:sida_ceiling",
        "sida-speedup": "tilewright.tables.sida.speedup:sida_speedup",
        "sida-orders": "tilewright.tables.sida.orders:sida_orders",
        "sida-bytes": "tilewright.tables.sida.moved:sida_bytes",
        "sida-rates": "tilewright.tables.sida.rates:sida_rates",
        "sida-windows": "tilewright.tables.sida.windows:sida_windows",
        "sida-area": "tilewright.synth.tables.sida:sida_area",
    },
    commands={
        **{name: f"tilewright.apps.iterations.commands:{name}" for name in _GRAPHS},
        "label": "tilewright.apps.iterations.labels:label",
        "cg": "tilewright.apps.iterations.solvers:cg",
        "bicgstab": "tilewright.apps.iterations.solvers:bicgstab",
        "gmres": "tilewright.apps.iterations.solvers:gmres",
        "kmeanspp": "tilewright.apps.iterations.kmeanspp:kmeanspp",
        "passes": "tilewright.apps.iterations.own_program:passes",
    },
    pages=("sida.md", "oei.md", "sida-applications.md"),
    place=6,
)
