"""T2S-Tensor: a language of spatial mappings, and the arrays that they describe."""

from ..hw.spec.t2s.config import T2S
from ..registry import Entry, System, Work

SYSTEM = System(
    name="t2s",
    entries=(
        Entry(
            unit=T2S,
            simulate={"verilator": "tilewright.verif.t2s.simulate:run"},
            golden="tilewright.sim.t2s.golden:golden",
            exercise="tilewright.verif.t2s.exercise:exercise",
            soak="tilewright.verif.t2s.exercise:soak",
            limits="tilewright.verif.conformance.tables.t2s:LIMITS",
            models={
                "model": "tilewright.sim.t2s.model:T2sModel",
                "cycles": "tilewright.sim.t2s.cycles.machine:T2sCycles",
            },
            driver="tilewright.sim.t2s.driver:Driver",
            bench_job="tilewright.skeleton.jobs.t2s:job",
            small={"largest": 2, "format": "int8", "outstanding": 2},
            variants=(
                {"design": "mttkrp", "format": "fp16"},
                {"design": "ttv", "data_bits": 64},
                {"design": "apsp", "managers": 3},
                {"design": "ttm", "format": "fp8e5m2"},
                {"design": "sparse/spmm"},
            ),
        ),
    ),
    tables={
        "t2s-designs": Work(
            "tilewright.tables.t2s.designs:t2s_designs",
            "Lines, elements and multipliers of the designs in the mapping language.",
        ),
        "t2s-resources": Work(
            "tilewright.tables.t2s.resources:t2s_resources",
            "Area and memory of the designs in the mapping language, beside the thesis' device.",
        ),
        "t2s-periods": Work(
            "tilewright.tables.t2s.resources:t2s_periods",
            "Clock periods of the designs in the mapping language, with two elements along each "
            "axis.",
        ),
        "t2s-fpga": Work(
            "tilewright.tables.t2s.designs:t2s_fpga",
            "Mapped matrix products on FPGAs: --target ecp5 or ice40.",
        ),
        "t2s-compile": Work(
            "tilewright.tables.t2s.resources:t2s_compile",
            "Compilation of mappings to Verilog: seconds, modules, lines.",
        ),
        "t2s-steps": Work(
            "tilewright.tables.t2s.designs:t2s_steps",
            "A matrix product's mapping from three lines to a complete one: cycles and bytes of "
            "each step.",
        ),
        "t2s-rate": Work(
            "tilewright.tables.t2s.rate:t2s_rate",
            "Utilisation of the multipliers of mapped arrays, up to 10 x 8 elements of 16 lanes.",
        ),
        "t2s-ablation": Work(
            "tilewright.tables.t2s.ablation:t2s_ablation",
            "A mapped matrix product without each of its directives in turn: cycles, bytes, area.",
        ),
        "t2s-engine": Work(
            "tilewright.tables.t2s.engine:t2s_engine",
            "A mapped matrix product beside the tile engine: area, period, cycles.",
        ),
        "t2s-sparse": Work(
            "tilewright.tables.t2s.sparse:t2s_sparse",
            "Mapped products of sparse tensors beside Tensaurus: cycles, bytes, area.",
        ),
        "t2s-merge": Work(
            "tilewright.tables.t2s.merge:t2s_merge",
            "Merging of two sparse matrices as they arrive: cycles per entry.",
        ),
    },
    commands={
        "einsum": Work(
            "tilewright.apps.t2s.commands.einsum:einsum",
            "Compute sums of products of tensors on an array that a mapping describes, against "
            "NumPy.",
            "mapping",
        ),
    },
    groups={
        "t2s": {
            "show": Work(
                "tilewright.apps.t2s.commands.show:show",
                "Show the loop nests, buffers, channels and queues that a mapping becomes.",
            ),
            "check": Work(
                "tilewright.apps.t2s.commands.check:check",
                "Run the program after every compiler pass on random integers and compare with "
                "NumPy.",
            ),
        },
    },
    paper="T2S-Tensor",
    pages=(
        "t2s.md",
        "t2s-job.md",
        "t2s-directives.md",
        "t2s-designs.md",
        "t2s-sparse.md",
        "t2s-compiler.md",
        "t2s-results.md",
    ),
    place=10,
)
