"""SIMD2: the semiring matrix unit, and graphs on it."""

from ..hw.spec.simd2 import SIMD2
from ..registry import Entry, System, Work

_PATHS = ("apsp", "aplp", "mcp", "maxrp", "minrp", "mst", "gtc")

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
            matrix_unit=True,
        ),
    ),
    tables={
        "simd2-area": Work(
            "tilewright.synth.tables.simd2:simd2_area",
            "What each operation adds to `mma`, alone and together; other formats and sizes.",
        )
    },
    commands={
        **{name: f"tilewright.apps.graphs.commands.paths:{name}" for name in _PATHS},
        "knn": "tilewright.apps.knn.commands.knn:knn",
    },
    pages=("simd2.md", "simd2-applications.md"),
    place=2,
)
