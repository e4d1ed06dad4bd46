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
            models={"model": "tilewright.sim.gta.model:GtaModel"},
            driver="tilewright.sim.gta.driver:GtaDriver",
            small={
                "lanes": 2,
                "formats": ("int8", "int16"),
                "vector_bytes": 2048,
                "mask_bits": 1,
                "data_bits": 64,
                "outstanding": 2,
            },
            variants=(
                {"lanes": 1, "formats": ("int32",), "managers": 1},
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
        "gta-schedules": Work(
            "tilewright.tables.gta.schedules:gta_schedules",
            "All schedules of a layer of AlexNet on GTA in three precisions, by the model.",
        ),
    },
    pages=("gta.md", "gta-schedules.md"),
    place=7,
)
