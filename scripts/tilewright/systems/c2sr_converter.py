"""The converter between CSR and C2SR."""

from ..hw.spec.c2sr_converter import C2SR_CONVERTER
from ..registry import Entry, System

SYSTEM = System(
    name="c2sr_converter",
    entries=(
        Entry(
            unit=C2SR_CONVERTER,
            simulate={"verilator": "tilewright.verif.c2sr.exercise:run"},
            golden="tilewright.sim.c2sr_converter.driver:golden",
            exercise="tilewright.verif.c2sr.exercise:exercise",
            soak="tilewright.verif.c2sr.exercise:soak",
            limits="tilewright.verif.conformance.tables.c2sr_converter:LIMITS",
            models={"model": "tilewright.sim.c2sr_converter.model:ConverterModel"},
            driver="tilewright.sim.c2sr_converter.driver:ConverterDriver",
            bench_job="tilewright.skeleton.jobs.c2sr_converter:job",
            small={"channels": 2, "outstanding": 2, "value": "fp16", "index_bits": 16},
            variants=(
                {"channels": 1},
                {"channels": 3},
                {"channels": 4, "lanes": 2},
                {"addr_bits": 64},
            ),
        ),
    ),
    pages=("c2sr.md",),
    place=5,
)
