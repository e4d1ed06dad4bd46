"""What multiplies, opened, and as the model has it."""

from __future__ import annotations

from ....hw.spec.unit import named_object
from ....sim.tcu import Backend
from ....sim.tcu.calibration import Calibration, calibrate
from ....sim.tcu.hardware.tally import HardwareBackend
from ....sim.tcu.words import Words
from .backend_rows import BACKENDS
from .options import HardwareChoice

__all__ = ["calibration_of", "open_backend"]


def open_backend(choice: HardwareChoice) -> Backend:
    """What multiplies."""
    found: Backend = named_object(BACKENDS[choice.backend].open)(choice)
    return found


def calibration_of(backend: Backend, words: Words) -> Calibration | None:
    """A backend of hardware as the model has it, from its cycles by the model; None of others."""
    if not isinstance(backend, HardwareBackend):
        return None
    return calibrate(backend.name, backend.side, lambda rows: backend.call_cycles(rows, words))
