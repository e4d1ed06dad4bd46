"""GTA: one array of 8-bit multipliers for every number format."""

from ..hw.spec.gta import GTA
from ..registry import Entry, System, Work

SYSTEM = System(
    name="gta",
    entries=(
        Entry(
            unit=GTA,
            simulate={"verilator": "tilewright.verif.gta.simulate:run"},
            exercise="tilewright.verif.gta.exercise:exercise",
            soak="tilewright.verif.gta.exercise:soak",
            limits="tilewright.verif.conformance.tables.gta:LIMITS",
            models={
                "model": "tilewright.sim.gta.model:GtaModel",
                "cycles": "tilewright.sim.gta.timed:TimedGta",
            },
            driver="tilewright.sim.gta.driver:GtaDriver",
            bench_job="tilewright.skeleton.jobs.gta:job",
            small={
                "lanes": 2,
                "formats": ("int16", "fp16"),
                "vector_bytes": 2048,
                "mask_bits": 1,
                "data_bits": 64,
                "outstanding": 2,
            },
            variants=(
                {"lanes": 1, "formats": ("int32",), "managers": 1},
                {"lanes": 1, "formats": ("fp64",), "float_adders": 64},
                {"data_bits": 256, "addr_bits": 64, "partial_bits": 20},
            ),
        ),
    ),
    tables={
        "gta-workloads": Work(
            "tilewright.tables.gta.workloads:gta_workloads",
            "GTA's best schedules of nine workloads beside a vector unit and fixed arrays, by "
            "models.",
        ),
        "gta-simd": Work(
            "tilewright.tables.gta.simd:gta_simd",
            "Vector multiplications and multiply-adds on GTA's lanes in RTL simulation, beside "
            "separate units.",
        ),
        "gta-verdict": Work(
            "tilewright.tables.gta.verdict:gta_verdict",
            "GTA's gains over separate units by format and by workload: as many lanes, and as much "
            "area.",
        ),
        "gta-workloads-rtl": Work(
            "tilewright.tables.gta.workloads_rtl:gta_workloads_rtl",
            "The nine workloads at reduced size on GTA's RTL, memory to memory: cycles, measured "
            "and predicted.",
        ),
        "gta-schedules": Work(
            "tilewright.tables.gta.schedules:gta_schedules",
            "All schedules of a layer of AlexNet on GTA in three precisions, by the model.",
        ),
    },
    also={"gemm": "tilewright.apps.gta.commands.gemm:gemm_on_gta"},
    commands={
        "bignum": Work(
            "tilewright.apps.gta.commands.bignum:bignum",
            "Multiply two long integers on GTA, as p-GEMMs of their pieces in int64.",
            "dense",
        ),
        "color": Work(
            "tilewright.apps.gta.commands.color:color",
            "Convert a picture from sRGB to XYZ on GTA.",
            "dense",
        ),
        "fir": Work(
            "tilewright.apps.gta.commands.fir:fir",
            "Filter a signal of int16 by finite impulse responses on GTA.",
            "dense",
        ),
        "lu": Work(
            "tilewright.apps.gta.commands.lu:lu",
            "Decompose a matrix into L and U on GTA, in blocks, with row exchanges.",
            "solvers",
        ),
        "pca": Work(
            "tilewright.apps.gta.commands.pca:pca",
            "Find the principal components of data, their covariance on GTA in fp64.",
            "dense",
        ),
        "mlp": Work(
            "tilewright.apps.gta.commands.mlp:mlp",
            "Pass samples through a network of full layers on GTA.",
            "dense",
        ),
        "pair": Work(
            "tilewright.apps.gta.commands.pair:pair",
            "Multiply two pairs of matrices on GTA at the same time, each on its own lanes.",
            "dense",
        ),
        "vector": Work(
            "tilewright.apps.gta.commands.vector:vector",
            "Compute with vectors on GTA, element by element, or reduce them.",
            "dense",
        ),
    },
    paper="GTA",
    pages=("gta.md", "gta-job.md", "gta-vectors.md", "gta-schedules.md", "gta-applications.md"),
    place=7,
)
