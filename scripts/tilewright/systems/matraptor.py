"""MatRaptor: products of sparse matrices, and applications of them."""

from ..hw.spec.matraptor import MATRAPTOR
from ..registry import Entry, System

SYSTEM = System(
    name="matraptor",
    entries=(
        Entry(
            unit=MATRAPTOR,
            simulate={"verilator": "tilewright.verif.matraptor.simulate:run"},
            golden="tilewright.sim.matraptor.golden:golden",
            exercise="tilewright.verif.matraptor.exercise:exercise",
            small={"lanes": 2, "channels": 2, "queues": 3, "queue_depth": 8, "outstanding": 4},
            variants=(
                {"lanes": 1, "channels": 1},
                {"lanes": 1, "channels": 4},
                {"lanes": 3, "channels": 1},
                {"lanes": 4, "channels": 2},
                {"queues": 16, "queue_depth": 100},
                {"outer_product": True, "lanes": 1, "channels": 1},
                {"outer_product": True, "value": "int32", "index_bits": 16},
                {"outer_product": True, "queues": 10, "queue_depth": 1024},
            ),
        ),
    ),
    tables={
        "matraptor-area": "tilewright.synth.tables.matraptor:matraptor_area",
        "c2sr-bandwidth": "tilewright.tables.c2sr_bandwidth:c2sr_bandwidth",
        "matraptor-rates": "tilewright.tables.matraptor_rates:matraptor_rates",
        "matraptor-modes": "tilewright.tables.matraptor_modes:matraptor_modes",
        "matraptor-breakdown": "tilewright.tables.matraptor_breakdown:matraptor_breakdown",
    },
    commands={
        "spgemm": "tilewright.apps.sparse.spgemm:spgemm",
        "triangles": "tilewright.apps.graphs.triangles:triangles",
        "mcl": "tilewright.apps.graphs.mcl:mcl",
    },
    pages=("matraptor.md", "c2sr.md"),
    place=4,
)
