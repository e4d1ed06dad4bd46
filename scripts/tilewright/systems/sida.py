"""SIDA: two products with a sparse matrix in one pass over it."""

from ..hw.spec.sida import SIDA
from ..registry import Entry, System, Work

SYSTEM = System(
    name="sida",
    entries=(
        Entry(
            unit=SIDA,
            simulate={"verilator": "tilewright.verif.sida.simulate:run"},
            exercise="tilewright.verif.sida.exercise:exercise",
            soak="tilewright.verif.sida.exercise:soak",
            limits="tilewright.verif.conformance.tables.sida:LIMITS",
            models={
                "model": "tilewright.sim.sida.model:SidaModel",
                "cycles": "tilewright.sim.sida.cycles.device:SidaCycles",
            },
            driver="tilewright.sim.sida.driver:SidaDriver",
            bench_job="tilewright.skeleton.jobs.sida:job",
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
            "Matrix elements resident between two products, for several vertex orders.",
        ),
        "sida-storage": Work(
            "tilewright.tables.sida.storage:sida_storage",
            "Size of a matrix in blocks, and bytes of it that a pass reads.",
        ),
        "sida-ceiling": Work(
            "tilewright.tables.sida.ceiling:sida_ceiling",
            "Largest possible gain of the OEI dataflow on generated graphs.",
        ),
        "sida-speedup": Work(
            "tilewright.tables.sida.speedup:sida_speedup",
            "Gain of a pass of each computation over accelerators without reuse between operators.",
        ),
        "sida-orders": Work(
            "tilewright.tables.sida.orders:sida_orders",
            "Speedup of a PageRank pass over an ideal accelerator, by vertex order and blocks.",
        ),
        "sida-bytes": Work(
            "tilewright.tables.sida.moved:sida_bytes",
            "Bytes that a pass of each computation moves, in memory and on chip.",
        ),
        "sida-rates": Work(
            "tilewright.tables.sida.rates:sida_rates",
            "Elements per cycle of a pass of two products in RTL simulation.",
        ),
        "sida-windows": Work(
            "tilewright.tables.sida.windows:sida_windows",
            "The passes of `sida-rates` with fewer and fewer vector elements on chip.",
        ),
        "sida-area": Work(
            "tilewright.synth.tables.sida:sida_area",
            "Area of SIDA by part.",
        ),
    },
    commands={
        "pagerank": Work(
            "tilewright.apps.iterations.commands.graphs:pagerank",
            "Compute the PageRank of every vertex of a weighted graph, to convergence.",
            "graphs",
        ),
        "bfs": Work(
            "tilewright.apps.iterations.commands.graphs:bfs",
            "Compute the distance of every vertex from a source, in edges (breadth-first "
            "search); -1 if unreachable.",
            "graphs",
        ),
        "sssp": Work(
            "tilewright.apps.iterations.commands.graphs:sssp",
            "Compute the lengths of shortest paths from a source (Bellman-Ford); infinite if "
            "unreachable.",
            "graphs",
        ),
        "kcore": Work(
            "tilewright.apps.iterations.commands.graphs:kcore",
            "Compute the core number of every vertex; directions, weights and loops are ignored.",
            "graphs",
        ),
        "khop": Work(
            "tilewright.apps.iterations.commands.graphs:khop",
            "Find the vertices within K edges of a source, with their distances: -1 elsewhere.",
            "graphs",
        ),
        "label": Work(
            "tilewright.apps.iterations.commands.label:label",
            "Spread two labels over a graph: a vertex takes the weighted mean of its neighbours, "
            "and has label 1 if that is above 1/2.",
            "graphs",
        ),
        "cg": Work(
            "tilewright.apps.iterations.commands.solvers:cg",
            "Solve a system of equations by conjugate gradients, in fp64 unless `value` is set.",
            "solvers",
        ),
        "bicgstab": Work(
            "tilewright.apps.iterations.commands.solvers:bicgstab",
            "Solve a system of equations by stabilised biconjugate gradients, in fp64 unless "
            "`value` is set.",
            "solvers",
        ),
        "gmres": Work(
            "tilewright.apps.iterations.commands.solvers:gmres",
            "Solve a system of equations by generalised minimal residuals, two products per "
            "pass, in fp64 unless `value` is set.",
            "solvers",
        ),
        "kmeanspp": Work(
            "tilewright.apps.iterations.commands.kmeanspp:kmeanspp",
            "Draw the seeds of k-means++: each point by its squared distance to the nearest seed "
            "before.",
            "dense",
        ),
        "passes": Work(
            "tilewright.apps.iterations.commands.passes:passes",
            "Run your own program, pass after pass: y = x L, E1 on y, w = E1's result times L "
            "(or its transpose), E2 on w, which gives the next x.",
            "sparse",
        ),
    },
    paper="SIDA and the OEI dataflow",
    pages=(
        "sida.md",
        "sida-job.md",
        "sida-applications.md",
        "sida-solvers.md",
        "sida-speedup.md",
        "sida-results.md",
        "oei.md",
    ),
    place=6,
)
