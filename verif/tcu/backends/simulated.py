"""Hardware of side 4 under simulation, built once for all tests."""

from __future__ import annotations

from functools import cache

from tilewright.apps.tcu.backends.gta import GtaBackend
from tilewright.apps.tcu.hardware.options import HardwareChoice
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.m3xu import M3XU
from tilewright.hw.spec.matrix_unit import MatrixUnitConfig
from tilewright.hw.spec.simd2 import SIMD2
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.streams import NativeSimulation
from tilewright.sim.tcu.hardware.held_words import KINDS, HardwareBackend, HardwareTally
from tilewright.sim.tcu.hardware.matrix_unit import MatrixUnitBackend
from tilewright.sim.timing.memories import FLAT

_UNITS: dict[str, Unit] = {"simd2": SIMD2, "m3xu": M3XU}


@cache
def _simulation(name: str, config: MatrixUnitConfig) -> NativeSimulation:
    return NativeSimulation(emit(_UNITS[name], config))


@cache
def _simulated_gta() -> GtaBackend:
    return gta(4, "lanes=1", rtl=True)


def gta(side: int, *settings: str, rtl: bool = False) -> GtaBackend:
    """GTA's array, as the command line opens it."""
    choice = HardwareChoice(
        backend="gta", side=side, rtl=rtl, memory=FLAT, gigahertz=1.0, config_file=None,
        settings=settings, json_file=None,
    )  # fmt: skip
    return GtaBackend(choice)


def simulated_unit(name: str) -> MatrixUnitBackend:
    """A matrix unit's Verilog."""
    return MatrixUnitBackend(KINDS[name], 4, simulate=lambda config: _simulation(name, config))


def modelled_unit(name: str, side: int = 4) -> MatrixUnitBackend:
    """A matrix unit's model."""
    return MatrixUnitBackend(KINDS[name], side)


def simulated(name: str) -> HardwareBackend:
    """The Verilog of any of them, nothing counted yet."""
    if name != "gta":
        return simulated_unit(name)
    found = _simulated_gta()
    found.tally = HardwareTally()
    return found


def modelled(name: str) -> HardwareBackend:
    """The model of any of them."""
    return gta(4, "lanes=1") if name == "gta" else modelled_unit(name)
