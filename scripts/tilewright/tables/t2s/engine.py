"""The table of a mapped matrix product beside the tile engine, which was written by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import UserError
from ...synth.tables import Row, Table

__all__ = ["t2s_engine"]

SIZES = (64, 128, 256)
"""Rows and columns of the matrices."""

ENGINE: dict[str, Any] = {
    "tile": 4, "ops": ("mma",), "format": "fp16", "data_bits": 128, "managers": 1,
    "outstanding": 8, "block_rows": 8, "block_cols": 8, "block_depth": 4,
}  # fmt: skip
MAPPED: dict[str, Any] = {
    "design": "steps/step7_gathered", "largest": 0, "format": "fp16", "data_bits": 128,
    "managers": 1, "outstanding": 8,
}  # fmt: skip
"""Mapping with as many multipliers of the same formats, the same window of sums, blocks and
memory."""

BARS = {"area": 1.10, "cycles": 1.02, "period": 1.05}

_LARGE = 1000

_LATENCY = 20
"""Latency of the memory, in cycles."""


def t2s_engine(target: str, progress: Callable[[str], None] = lambda said: None) -> Table:
    """Area, memory, period and cycles of both, the one over the other, and what that may be at
    most.

    Raises UserError for targets that are placed and routed.
    """
    from ...hw.spec.engine import ENGINE_SIMD2
    from ...hw.spec.t2s.config import T2S
    from ...synth.flow import synthesize

    if target in ("ecp5", "ice40"):
        raise UserError(
            f"t2s-engine is mapped to cells: --target cmos or liberty:FILE, not {target}"
        )
    reports = {}
    for unit, parameters in ((T2S, MAPPED), (ENGINE_SIMD2, ENGINE)):
        progress(unit.name)
        reports[unit.name] = synthesize(unit, unit.config(**parameters), target=target).to_json()
    mapped, engine = reports["t2s"], reports["engine_simd2"]
    rows = [
        _row("area", mapped["area"], engine["area"], BARS["area"]),
        _row("memory bits", mapped["memory_bits"], engine["memory_bits"], None),
        _row("period, FO4", mapped["path"]["fo4"], engine["path"]["fo4"], BARS["period"]),
    ]
    for size in SIZES:
        progress(f"cycles of {size}")
        rows.append(_row(f"cycles, {size}", *_cycles(size), BARS["cycles"]))
    return Table("t2s-engine", target, ["t2s", "engine", "ratio", "at most"], rows)


def _row(label: str, mapped: float, engine: float, bar: float | None) -> Row:
    places = 0 if isinstance(mapped, int) or mapped > _LARGE else 1
    figures = (mapped, engine, mapped / engine, bar)
    return Row(label, (None,) * 4, figures, (places, places, 3, 2))


def _cycles(size: int) -> tuple[int, int]:
    """Counts the cycles of a matrix product on the Verilog of both, and checks the result."""
    import numpy as np

    from ...apps.common.session import rtl_device
    from ...hw.spec.engine import ENGINE_SIMD2
    from ...hw.spec.t2s.config import T2S
    from ...sim.engine.driver import Driver as EngineDriver
    from ...sim.t2s.driver import Driver

    rng = np.random.default_rng(size)
    # Products and sums of these are exact.
    a, b = (rng.integers(-16, 17, (size, size)).astype(np.float64) for _ in range(2))
    cycles = []
    for unit, parameters in ((T2S, MAPPED), (ENGINE_SIMD2, ENGINE)):
        with rtl_device(unit, unit.config(**parameters), 16 * size * size + 65536) as device:
            driver: Any = Driver(device) if unit is T2S else EngineDriver(device)
            found = driver.compute(A=a, B=b) if unit is T2S else driver.compute("mma", a, b)
            if not np.array_equal(found, a @ b):
                raise UserError(f"t2s-engine: the product of {unit.name} is not NumPy's")
            cycles.append(driver.counts.cycles)
    return cycles[0], cycles[1]
