"""The engine's RTL in a simulator, as a device that any program can drive."""

from __future__ import annotations

from typing import Any

from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.engine import UNITS, EngineConfig
from tilewright.verif.bench.device import AxiDevice, DeviceTimeout

__all__ = ["EngineAxiDevice", "EngineTimeout", "unit_of"]

EngineTimeout = DeviceTimeout


def unit_of(config: EngineConfig) -> str:
    """The catalogue's name of the engine with a configuration."""
    return next(unit.name for unit in UNITS if unit.config is type(config))


class EngineAxiDevice(AxiDevice[EngineConfig]):
    """An engine; parameters are those of :class:`AxiDevice`."""

    def __init__(self, config: EngineConfig, **settings: Any) -> None:
        emitted = emit(unit_of(config), config)
        super().__init__(emitted, config, outstanding=config.outstanding, **settings)

    def watch(self) -> None:
        """Note the matrix unit's input and what goes over the managers from now on."""
        self._ask("watch")

    def seen(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The cycles in which the unit had an operation at its input, and whether it took it;
        the bytes that were read and written over each manager."""
        found: tuple[list[tuple[int, int]], list[tuple[int, int]]] = self._ask("seen")
        return found
