"""SIMD2: the semiring matrix unit, and graphs on it."""

from ..hw.spec.simd2 import SIMD2
from ..registry import Entry, System, Work

SYSTEM = System(
    name="simd2",
    entries=(
        Entry(
            unit=SIMD2,
            simulate={
                "verilator": "tilewright.verif.matrix_units.simulate:run",
                "icarus": "tilewright.verif.matrix_units.simulate:run_icarus",
            },
            golden="tilewright.sim.units.any_unit:golden",
            small={"tile": 2},
            variants=(
                {"tile": 3},
                {"format": "int8"},
                {"format": "fp8e4m3"},
                {"format": "fp32", "multiplier_bits": 12},
                {"sparsity": "2:4"},
            ),
            limits="tilewright.verif.conformance.tables.matrix_units:SIMD2",
            matrix_unit=True,
        ),
    ),
    tables={
        "simd2-area": Work(
            "tilewright.synth.tables.simd2:simd2_area",
            "Area that each operation adds to `mma`, alone and together; other formats and sizes.",
        )
    },
    commands={
        "apsp": Work(
            "tilewright.apps.graphs.commands.paths:apsp",
            "Compute shortest paths, of all pairs of vertices: iterated minplus.",
            "graphs",
        ),
        "aplp": Work(
            "tilewright.apps.graphs.commands.paths:aplp",
            "Compute longest (critical) paths of a graph without cycles, of all pairs of "
            "vertices: iterated maxplus.",
            "graphs",
        ),
        "mcp": Work(
            "tilewright.apps.graphs.commands.paths:mcp",
            "Compute paths of maximum capacity, of all pairs of vertices: iterated maxmin.",
            "graphs",
        ),
        "maxrp": Work(
            "tilewright.apps.graphs.commands.paths:maxrp",
            "Compute paths of maximum reliability, of all pairs of vertices: iterated maxmul.",
            "graphs",
        ),
        "minrp": Work(
            "tilewright.apps.graphs.commands.paths:minrp",
            "Compute paths of minimum reliability in a graph without cycles, of all pairs of "
            "vertices: iterated minmul.",
            "graphs",
        ),
        "mst": Work(
            "tilewright.apps.graphs.commands.paths:mst",
            "Compute minimax paths and the minimum spanning forest, of all pairs of vertices: "
            "iterated minmax.",
            "graphs",
        ),
        "gtc": Work(
            "tilewright.apps.graphs.commands.paths:gtc",
            "Compute the transitive and reflexive closure, of all pairs of vertices: iterated "
            "orand.",
            "graphs",
        ),
        "knn": Work(
            "tilewright.apps.knn.commands.knn:knn",
            "Find the nearest neighbours of queries among points, and classify them: addnorm.",
            "dense",
        ),
    },
    paper="SIMD2",
    pages=("simd2.md", "simd2-applications.md"),
    place=2,
)
