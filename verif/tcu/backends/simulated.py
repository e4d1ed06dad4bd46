"""Matrix units of side 4 under simulation, built once for all tests."""

from __future__ import annotations

from functools import cache

from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.m3xu import M3XU
from tilewright.hw.spec.matrix_unit import MatrixUnitConfig
from tilewright.hw.spec.simd2 import SIMD2
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.streams import NativeSimulation
from tilewright.sim.tcu.hardware.held import KINDS
from tilewright.sim.tcu.hardware.matrix_unit import MatrixUnitBackend

__all__ = ["modelled", "simulated"]

_UNITS: dict[str, Unit] = {"simd2": SIMD2, "m3xu": M3XU}


@cache
def _simulation(name: str, config: MatrixUnitConfig) -> NativeSimulation:
    return NativeSimulation(emit(_UNITS[name], config))


def simulated(name: str) -> MatrixUnitBackend:
    """A unit's Verilog."""
    return MatrixUnitBackend(KINDS[name], 4, simulate=lambda config: _simulation(name, config))


def modelled(name: str, side: int = 4) -> MatrixUnitBackend:
    """A unit's model."""
    return MatrixUnitBackend(KINDS[name], side)
