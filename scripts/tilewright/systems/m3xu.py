"""M3XU: the multi-mode matrix unit, the units it is compared with, and its sequencer."""

from ..hw.spec.m3xu import M3XU, M3XU_BASELINE, M3XU_WIDE
from ..hw.spec.sequencer import M3XU_SEQUENCER
from ..registry import Entry, System, Work

_OPERATIONS = {
    "verilator": "tilewright.verif.matrix_units.simulate:run",
    "icarus": "tilewright.verif.matrix_units.simulate:run_icarus",
}
_SMALL = {"rows": 2, "cols": 2, "depth": 4}
_VARIANTS = ({"rows": 1, "cols": 1}, {"depth": 8})

SYSTEM = System(
    name="m3xu",
    entries=(
        *(
            Entry(
                unit=unit,
                simulate=_OPERATIONS,
                golden="tilewright.sim.units.any_unit:golden",
                limits=f"tilewright.verif.conformance.tables.matrix_units:{table}",
                small=_SMALL,
                variants=_VARIANTS,
                matrix_unit=True,
            )
            for unit, table in ((M3XU, "M3XU"), (M3XU_BASELINE, "BASELINE"), (M3XU_WIDE, "WIDE"))
        ),
        Entry(
            unit=M3XU_SEQUENCER,
            simulate={"verilator": "tilewright.verif.matrix_units.m3xu.simulate_sequencer:run"},
            golden="tilewright.sim.units.m3xu_sequencer:golden",
            limits="tilewright.verif.conformance.tables.matrix_units:SEQUENCER",
            small={"rows": 4, "cols": 1, "depth": 4},
        ),
    ),
    tables={
        "m3xu-area": Work(
            "tilewright.synth.tables.m3xu:m3xu_area",
            "Area and cycle time of M3XU, the unit it extends and the brute-force alternative.",
        )
    },
    commands={
        "gemm": Work(
            "tilewright.apps.dense.commands.gemm:gemm",
            "Multiply matrices on a matrix unit or on gta: D = A B + C, every operation checked; "
            "or D = A B on tensaurus.",
            "dense",
        ),
        "dft": Work(
            "tilewright.apps.dense.commands.dft:dft",
            "Fourier-transform a signal on a matrix unit by complex products (mode fp32c).",
            "dense",
        ),
        "conv2d": Work(
            "tilewright.apps.dense.commands.conv2d:conv2d",
            "Filter a grey picture on a matrix unit, every operation checked.",
            "dense",
        ),
    },
    paper="M3XU",
    pages=("m3xu.md",),
    place=1,
)
