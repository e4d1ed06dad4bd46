"""SIDA: two products with a sparse matrix in one pass over it."""

from ..hw.spec.sida import SIDA
from ..registry import Entry, System, Work

_GRAPHS = ("pagerank", "bfs", "sssp", "kcore", "khop")

SYSTEM = System(
    name="sida",
    entries=(
        Entry(
            unit=SIDA,
            simulate={"verilator": "tilewright.verif.sida.simulate:run"},
            exercise="tilewright.verif.sida.exercise:exercise",
            models={
                "model": "tilewright.sim.sida.model:SidaModel",
                "cycles": "tilewright.sim.sida.cycles.device:SidaCycles",
            },
            driver="tilewright.sim.sida.driver:SidaDriver",
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
        "sida-reuse": Work(
            "tilewright.tables.sida.reuse:sida_reuse",
            "Elements of a matrix that wait between two products, in several orders of vertices.",
        ),
        "sida-storage": Work(
            "tilewright.tables.sida.storage:sida_storage",
            "Memory of a matrix in blocks, and what a pass reads of it.",
        ),
        "sida-ceiling": Work(
            "tilewright.tables.sida.ceiling:sida_ceiling",
            "What the OEI dataflow could gain at most, on generated graphs.",
        ),
        "sida-speedup": Work(
            "tilewright.tables.sida.speedup:sida_speedup",
            "Gain of a pass of each computation over accelerators without reuse between operators.",
        ),
        "sida-orders": Work(
            "tilewright.tables.sida.orders:sida_orders",
            "What orders of vertices, and blocks, gain in PageRank.",
        ),
        "sida-bytes": Work(
            "tilewright.tables.sida.moved:sida_bytes",
            "Bytes that a pass of each computation moves, in memory and on chip.",
        ),
        "sida-rates": Work(
            "tilewright.tables.sida.rates:sida_rates",
            "What a pass of two products reaches a cycle on the RTL.",
        ),
        "sida-windows": Work(
            "tilewright.tables.sida.windows:sida_windows",
            "The passes of `sida-rates`, with less and less of the vectors on chip.",
        ),
        "sida-area": Work("tilewright.synth.tables.sida:sida_area", "Where the area of SIDA goes."),
    },
    commands={
        **{name: f"tilewright.apps.iterations.commands.graphs:{name}" for name in _GRAPHS},
        "label": "tilewright.apps.iterations.commands.label:label",
        "cg": "tilewright.apps.iterations.commands.solvers:cg",
        "bicgstab": "tilewright.apps.iterations.commands.solvers:bicgstab",
        "gmres": "tilewright.apps.iterations.commands.solvers:gmres",
        "kmeanspp": "tilewright.apps.iterations.commands.kmeanspp:kmeanspp",
        "passes": "tilewright.apps.iterations.commands.passes:passes",
    },
    pages=("sida.md", "oei.md", "sida-applications.md"),
    place=6,
)
