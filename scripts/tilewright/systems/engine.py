"""The tile engine around either matrix unit."""

from ..hw.spec.engine import ENGINE_M3XU, ENGINE_SIMD2
from ..registry import Entry, System, Work

_JOBS = {"verilator": "tilewright.verif.engine.simulate:run"}
_MODELS = {
    "model": "tilewright.sim.engine.model:EngineModel",
    "cycles": "tilewright.sim.engine.timed:TimedEngine",
}
_BLOCK = {"block_rows": 2, "block_cols": 2, "block_depth": 2, "outstanding": 2}
_AUTOMATIC = {"block_rows": 0, "block_cols": 0, "block_depth": 0}

SYSTEM = System(
    name="engine",
    entries=(
        Entry(
            unit=ENGINE_SIMD2,
            simulate=_JOBS,
            golden="tilewright.sim.engine.job:golden",
            exercise="tilewright.verif.engine.exercise:exercise",
            soak="tilewright.verif.engine.exercise:soak",
            limits="tilewright.verif.conformance.tables.engine:SIMD2",
            models=_MODELS,
            driver="tilewright.sim.engine.driver:Driver",
            bench_job="tilewright.skeleton.jobs.engine:job",
            small={"tile": 2, "ops": ("mma", "minplus"), **_BLOCK},
            variants=(
                {"outstanding": 1},
                _AUTOMATIC,
                {"format": "int8", **_AUTOMATIC},
                {"format": "fp8e4m3", **_AUTOMATIC},
                {"format": "fp32", "multiplier_bits": 12},
                {"managers": 3},
            ),
        ),
        Entry(
            unit=ENGINE_M3XU,
            simulate=_JOBS,
            golden="tilewright.sim.engine.job:golden",
            exercise="tilewright.verif.engine.exercise:exercise",
            soak="tilewright.verif.engine.exercise:soak",
            limits="tilewright.verif.conformance.tables.engine:M3XU",
            models=_MODELS,
            driver="tilewright.sim.engine.driver:Driver",
            bench_job="tilewright.skeleton.jobs.engine:job",
            small={"rows": 2, "cols": 2, "depth": 2, "modes": ("fp16", "fp32"), **_BLOCK},
            variants=({"outstanding": 1}, {"addr_bits": 64}, {"depth": 4}, _AUTOMATIC),
        ),
    ),
    tables={
        "simd2-applications": Work(
            "tilewright.tables.simd2.applications:simd2_applications",
            "The papers' eight applications on the tile engine with memory: iterations and cycles.",
        ),
    },
    paper="SIMD2",
    pages=("engine.md", "engine-job.md"),
    place=3,
)
