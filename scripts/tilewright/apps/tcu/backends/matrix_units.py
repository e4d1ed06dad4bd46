"""The matrix units alone: their models, or their Verilog under simulation."""

from __future__ import annotations

from typing import Any, cast

from ....errors import UserError, user_errors
from ....hw.spec.host.activity import activity
from ....hw.spec.matrix_unit import MatrixUnitConfig
from ....hw.spec.unit import Unit, named_object
from ....settings import read_config
from ....sim.rtl.streams import BuildError, NativeSimulation, ToolMissing
from ....sim.tcu import NumpyBackend
from ....sim.tcu.hardware.held_words import KINDS, USUAL, Held
from ....sim.tcu.hardware.matrix_unit import MatrixUnitBackend
from ...common.options import named_parameters
from ..hardware.options import BACKENDS, HardwareChoice
from ..options import TcuChoice

__all__ = ["settings_of", "unit_backend"]


def numpy_backend(choice: TcuChoice) -> NumpyBackend:
    """A unit of the side that is asked for."""
    return NumpyBackend(choice.side)


def unit_backend(choice: HardwareChoice) -> MatrixUnitBackend:
    """A unit of the side that is asked for. Raises UserError later, if it cannot be built."""
    unit, kind = named_object(BACKENDS[choice.backend].unit), KINDS[choice.backend]

    def configure(held: Held) -> MatrixUnitConfig:
        named = named_parameters(choice.config_file, choice.settings)
        usual = {name: value for name, value in USUAL.items() if name not in named}
        decided = settings_of({**usual, **kind.settings(held, choice.side)})
        found = read_config(unit, choice.config_file, [*choice.settings, *decided])
        return cast("MatrixUnitConfig", found)

    return MatrixUnitBackend(
        kind,
        choice.side,
        configure=configure,
        simulate=(lambda config: _simulation(unit, config)) if choice.rtl else None,
    )


def settings_of(values: dict[str, Any]) -> list[str]:
    """Parameters as ``--set`` has them."""
    return [
        f"{name}={','.join(value) if isinstance(value, tuple) else value}"
        for name, value in values.items()
    ]


def _simulation(unit: Unit, config: MatrixUnitConfig) -> NativeSimulation:
    from ....hw.emit.unit import emit

    with activity(f"building {unit.name}"), user_errors(ToolMissing):
        try:
            return NativeSimulation(emit(unit, config))
        except BuildError as error:
            said = " ".join(line.strip() for line in str(error).splitlines()[:3])
            raise UserError(f"{unit.name} could not be built for simulation: {said}") from None
