"""Tensaurus: tensors times matrices, sparse and dense."""

from ..hw.spec.tensaurus import TENSAURUS
from ..registry import Entry, System, Work

SYSTEM = System(
    name="tensaurus",
    entries=(
        Entry(
            unit=TENSAURUS,
            simulate={"verilator": "tilewright.verif.tensaurus.simulate:run"},
            golden="tilewright.sim.tensaurus.golden:golden",
            exercise="tilewright.verif.tensaurus.exercise:exercise",
            soak="tilewright.verif.tensaurus.exercise:soak",
            limits="tilewright.verif.conformance.tables.tensaurus:LIMITS",
            models={
                "model": "tilewright.sim.tensaurus.model:TensaurusModel",
                "cycles": "tilewright.sim.tensaurus.cycles.device:TensaurusCycles",
            },
            driver="tilewright.sim.tensaurus.driver:TensorDriver",
            bench_job="tilewright.skeleton.jobs.tensaurus:job",
            small={
                "rows": 2,
                "cols": 2,
                "vlen": 2,
                "spm_bytes": 256,
                "banks": 2,
                "out_bytes": 512,
                "tlen": 2,
                "olen": 2,
                "row_queue": 4,
                "window": 4,
                "channels": 2,
                "data_bits": 64,
                "outstanding": 4,
            },
            variants=(
                {"order": 2, "rows": 1, "cols": 1, "vlen": 1, "channels": 1},
                {"order": 4, "marker": "bit", "index_bits": 16},
                {"semiring": "minplus", "marker": "bit", "value": "int32"},
            ),
        ),
    ),
    tables={
        "tensaurus-area": Work(
            "tilewright.synth.tables.tensaurus:tensaurus_area",
            "Area of Tensaurus by part.",
        ),
        "ciss-bandwidth": Work(
            "tilewright.tables.bandwidth:ciss_bandwidth",
            "Memory bandwidth of elements that read a tensor: CISS beside extended CSR.",
        ),
        "tensaurus-dense": Work(
            "tilewright.tables.tensaurus_dense:tensaurus_dense",
            "Utilisation of the array by dense kernels in RTL simulation.",
        ),
        "tensaurus-roofline": Work(
            "tilewright.tables.tensaurus_roofline:tensaurus_roofline",
            "Kernels on the papers' inputs under the roofline, by the cycle model.",
        ),
    },
    also={"gemm": "tilewright.apps.tensors.commands.matrices:gemm_on_tensaurus"},
    commands={
        "spmttkrp": Work(
            "tilewright.apps.tensors.commands.products:spmttkrp",
            "Multiply a sparse tensor with the Khatri-Rao product of matrices (MTTKRP), along "
            "any mode.",
            "tensors",
        ),
        "spttmc": Work(
            "tilewright.apps.tensors.commands.products:spttmc",
            "Multiply a sparse tensor with a matrix in each mode but one (TTMc).",
            "tensors",
        ),
        "spmm": Work(
            "tilewright.apps.tensors.commands.matrices:spmm",
            "Multiply a sparse matrix with a dense one (SpMM), in any of nine semirings.",
            "sparse",
        ),
        "spmv": Work(
            "tilewright.apps.tensors.commands.matrices:spmv",
            "Multiply a sparse matrix with a vector (SpMV), in any of nine semirings; see spmm.",
            "sparse",
        ),
        "gemv": Work(
            "tilewright.apps.tensors.commands.matrices:gemv",
            "Multiply a dense matrix with a vector (GEMV), in any of nine semirings; see spmv.",
            "dense",
        ),
        "cpd": Work(
            "tilewright.apps.tensors.commands.cpd:cpd",
            "Factorise a tensor into a sum of outer products (CP-ALS): MTTKRP on the unit, small "
            "solves on the host in float64.",
            "tensors",
        ),
        "tucker": Work(
            "tilewright.apps.tensors.commands.tucker:tucker",
            "Factorise a tensor into a core and a matrix in each mode (Tucker, by HOOI): TTMc on "
            "the unit, singular vectors on the host in float64.",
            "tensors",
        ),
        "gcn": Work(
            "tilewright.apps.networks.commands.gcn:gcn",
            "Run a graph convolutional network: A relu(A X V) W, of two layers with random "
            "weights.",
            "graphs",
        ),
    },
    paper="Tensaurus",
    pages=(
        "tensaurus.md",
        "tensaurus-job.md",
        "tensaurus-applications.md",
        "tensaurus-roofline.md",
        "tensaurus-roofline-products.md",
        "tensaurus-results.md",
        "ciss.md",
    ),
    place=5,
)
