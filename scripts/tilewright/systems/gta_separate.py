"""The lane that GTA is compared with: separate units for each number format."""

from ..hw.spec.gta_lane.separate import GTA_SEPARATE
from ..registry import Entry, System, Work

SYSTEM = System(
    name="gta_separate",
    entries=(
        Entry(
            unit=GTA_SEPARATE,
            simulate={
                "verilator": "tilewright.verif.gta.separate.simulate:run",
                "icarus": "tilewright.verif.gta.separate.simulate:run_icarus",
            },
            golden="tilewright.sim.gta.separate:golden",
            limits="tilewright.verif.conformance.tables.matrix_units:GTA_SEPARATE",
            small={"formats": ("int8", "int64", "fp16"), "pipeline": 1},
            variants=({"formats": ("bf16",), "pipeline": 3},),
        ),
    ),
    tables={
        "gta-area": Work(
            "tilewright.tables.gta.simd:area",
            "Area and clock of GTA's lane by part, beside a lane with separate units.",
        )
    },
    paper="GTA",
    pages=("gta-separate.md",),
    place=8,
)
