"""The table of a matrix product's mapping, from three lines to a whole one, a directive a step."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from pathlib import Path

from ...errors import UserError
from ...synth.tables import Row, Table

__all__ = ["SIZE", "t2s_steps"]

SIZE = 64
"""Rows and columns of the matrices: two blocks of results each way, four blocks that are summed
over."""

_LATENCY = 20
"""Latency of the memory, in cycles."""


def t2s_steps(target: str, progress: Callable[[str], None] = lambda said: None) -> Table:
    """Lines, elements, cycles, cycles in which an element begins products, and bytes that are read,
    of each step: the Verilog, on a product of matrices of int8 that is checked.

    Raises UserError for a target other than "cmos", the default: nothing is synthesised.
    """
    import numpy as np

    from ...apps.common.session import rtl_device
    from ...hw.spec.t2s.config import T2S, T2sConfig
    from ...hw.t2s import designs
    from ...sim.t2s.driver import Driver

    if target != "cmos":
        raise UserError(f"t2s-steps is counted by simulation: no --target, not {target!r}")
    folder = Path(designs.__file__).parent / "steps"
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-128, 128, (SIZE, SIZE)) for _ in range(2))
    rows = []
    for file in sorted(folder.glob("step*.py")):
        progress(file.stem)
        config = T2sConfig(design=f"steps/{file.stem}", format="int8", largest=0)
        with rtl_device(T2S, config, 1 << 24) as device:
            driver = Driver(device)
            if not np.array_equal(driver.compute(A=a, B=b), a @ b):
                raise UserError(f"t2s-steps: the product of {file.stem} is not NumPy's")
        program = config.plan.program
        lines = sum(1 for line in file.read_text().splitlines()[1:] if line.strip())
        elements = prod(one.extent or 1 for one in program.function(program.name).instances)
        counts = driver.counts
        busy = 100 * counts.busy_cycles / counts.cycles
        ours = (lines, elements, counts.cycles, busy, counts.bytes_read)
        rows.append(Row(file.stem, (None,) * 5, ours, (0, 0, 0, 1, 0)))
    columns = ["lines", "elements", "cycles", "busy %", "bytes read"]
    return Table("t2s-steps", "verilator", columns, rows)
