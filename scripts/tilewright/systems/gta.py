"""GTA: one array of 8-bit multipliers for every number format."""

from ..registry import System, Work

SYSTEM = System(
    name="gta",
    entries=(),
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
    place=7,
)
