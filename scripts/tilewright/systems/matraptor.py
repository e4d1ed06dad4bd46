"""MatRaptor: products of sparse matrices, and applications of them."""

from ..hw.spec.matraptor import MATRAPTOR
from ..registry import Entry, System

SYSTEM = System(
    name="matraptor",
    entries=(
        Entry(
            unit=MATRAPTOR,
            simulate={"verilator": "tilewright.verif.matraptor.simulate:run"},
            small={"lanes": 2, "channels": 2, "queues": 3, "queue_depth": 8, "outstanding": 4},
        ),
    ),
    tables={
        "matraptor-area": "tilewright.synth.tables.matraptor:matraptor_area",
        "c2sr-bandwidth": "tilewright.tables.c2sr_bandwidth:c2sr_bandwidth",
        "matraptor-rates": "tilewright.tables.matraptor_rates:matraptor_rates",
        "matraptor-modes": "tilewright.tables.matraptor_modes:matraptor_modes",
    },
    commands={
        "spgemm": "tilewright.apps.sparse.spgemm:spgemm",
        "triangles": "tilewright.apps.graphs.triangles:triangles",
        "mcl": "tilewright.apps.graphs.mcl:mcl",
    },
    pages=("matraptor.md", "c2sr.md"),
    place=4,
)
