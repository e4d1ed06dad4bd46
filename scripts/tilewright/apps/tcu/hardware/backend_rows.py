"""The backends, a row each. Plain names: what they name is imported when it is used."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["BACKENDS", "BackendRow"]


class BackendRow(NamedTuple):
    """A row.

    Parameters
    ----------
    open: ``module:function`` from a choice, checked, to a backend
    sides: of blocks that it has; empty if any
    unit: ``module:UNIT`` whose parameters may be set; empty of no hardware
    fixed: those of them that words and ``--m`` decide
    memory: whether it has one
    """

    open: str
    sides: tuple[int, ...] = ()
    unit: str = ""
    fixed: tuple[str, ...] = ()
    memory: bool = False


_UNITS = "tilewright.apps.tcu.backends.matrix_units"
_ENGINES = "tilewright.apps.tcu.backends.engine"

BACKENDS = {
    "numpy": BackendRow("tilewright.apps.tcu.backends.reference:numpy_backend"),
    "simd2": BackendRow(
        f"{_UNITS}:unit_backend",
        sides=(4, 8, 16),
        unit="tilewright.hw.spec.simd2:SIMD2",
        fixed=("tile", "format", "accumulator", "ops", "sparsity"),
    ),
    "m3xu": BackendRow(
        f"{_UNITS}:unit_backend",
        sides=(4, 8, 16),
        unit="tilewright.hw.spec.m3xu:M3XU",
        fixed=("rows", "cols", "depth", "modes"),
    ),
    "engine": BackendRow(
        f"{_ENGINES}:engine_backend",
        sides=(4, 8, 16, 32, 64),
        unit="tilewright.hw.spec.engine:ENGINE_SIMD2",
        fixed=("tile", "format", "accumulator", "ops"),
        memory=True,
    ),
    "engine_m3xu": BackendRow(
        f"{_ENGINES}:engine_backend",
        sides=(4, 8, 16, 32, 64),
        unit="tilewright.hw.spec.engine:ENGINE_M3XU",
        fixed=("rows", "cols", "depth", "modes"),
        memory=True,
    ),
    "gta": BackendRow(
        "tilewright.apps.tcu.backends.gta:gta_backend",
        sides=(4, 8, 16, 32, 64),
        unit="tilewright.hw.spec.gta:GTA",
        fixed=("formats",),
        memory=True,
    ),
}
"""By name."""
