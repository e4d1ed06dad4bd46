"""MatRaptor: products of sparse matrices, and applications of them."""

from ..hw.spec.matraptor import MATRAPTOR
from ..registry import Entry, System, Work

SYSTEM = System(
    name="matraptor",
    entries=(
        Entry(
            unit=MATRAPTOR,
            simulate={"verilator": "tilewright.verif.matraptor.simulate:run"},
            golden="tilewright.sim.matraptor.model:golden",
            exercise="tilewright.verif.matraptor.simulate:exercise",
            soak="tilewright.verif.matraptor.simulate:soak",
            limits="tilewright.verif.conformance.tables.matraptor:LIMITS",
            models={
                "model": "tilewright.sim.matraptor.model:MatRaptorModel",
                "cycles": "tilewright.sim.matraptor.model:TimedMatRaptor",
            },
            driver="tilewright.sim.matraptor.driver:SparseDriver",
            bench_job="tilewright.skeleton.jobs.matraptor:job",
            small={"lanes": 2, "channels": 2, "queues": 3, "queue_depth": 8, "outstanding": 4},
            variants=(
                {"lanes": 1, "channels": 1},
                {"lanes": 1, "channels": 4},
                {"lanes": 3, "channels": 1},
                {"lanes": 4, "channels": 2, "a_outstanding": 2},
                {"queues": 16, "queue_depth": 100, "queue_sets": 3, "row_queue": 4},
                {"outer_product": True, "lanes": 1, "channels": 1},
                {"outer_product": True, "value": "int32", "index_bits": 16},
                {"outer_product": True, "queues": 10, "queue_depth": 1024},
                {"cache_bytes": 1024, "beat_queue": 2},
                {"csr": True},
            ),
        ),
    ),
    tables={
        "matraptor-area": Work(
            "tilewright.synth.tables.matraptor:matraptor_area",
            "Area of MatRaptor by part, all lanes together.",
        ),
        "c2sr-bandwidth": Work(
            "tilewright.tables.bandwidth:c2sr_bandwidth",
            "Memory bandwidth of lanes that read a matrix: C2SR beside CSR.",
        ),
        "matraptor-rates": Work(
            "tilewright.tables.matraptor:matraptor_rates",
            "Products and elements per cycle of MatRaptor in RTL simulation; deviation of the "
            "cycle model.",
        ),
        "matraptor-modes": Work(
            "tilewright.tables.matraptor:matraptor_modes",
            "Row-wise products beside outer products in RTL simulation: cycles, utilisation, "
            "bytes.",
        ),
        "matraptor-breakdown": Work(
            "tilewright.tables.matraptor:matraptor_breakdown",
            "Cycles by cause when MatRaptor squares generated matrices.",
        ),
        "matraptor-suite": Work(
            "tilewright.tables.matraptor_suite:matraptor_suite",
            "The 14 matrices of MatRaptor's paper at full size, squared, and products of their "
            "upper left parts.",
        ),
    },
    commands={
        "spgemm": Work(
            "tilewright.apps.sparse.commands.spgemm:spgemm",
            "Multiply two sparse matrices row by row or by outer products, in any of nine "
            "semirings.",
            "sparse",
        ),
        "triangles": Work(
            "tilewright.apps.graphs.commands.triangles:triangles",
            "Count the triangles of a graph: sparse plus-times, checked against NetworkX.",
            "graphs",
        ),
        "mcl": Work(
            "tilewright.apps.graphs.commands.mcl:mcl",
            "Find clusters of a graph by Markov clustering: sparse plus-times.",
            "graphs",
        ),
    },
    paper="MatRaptor",
    pages=("matraptor.md", "matraptor-job.md", "matraptor-results.md", "c2sr.md"),
    place=4,
)
