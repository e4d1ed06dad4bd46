"""What the model predicts of the calls that a unit has made, by their words."""

from __future__ import annotations

from typing import NamedTuple

from ....sim.tcu import Backend, TensorUnit, UnitWork
from ....sim.tcu.calibration import Calibration
from ....sim.tcu.split.split_unit import SplitUnit
from ....sim.tcu.words import Words
from .opened import calibration_of

__all__ = ["Calls", "calls_by_words", "predicted_cycles", "what_multiplies"]


class Calls(NamedTuple):
    """Calls on words of one kind.

    Parameters
    ----------
    words: narrow ones, where words are cut into limbs
    latency: that the unit was charged
    work: calls and rows
    calibration: of the backend on these words; None where nothing measures cycles
    """

    words: Words
    latency: float
    work: UnitWork
    calibration: Calibration | None


def what_multiplies(unit: TensorUnit) -> Backend:
    """The backend, that of narrow words where words are cut into limbs."""
    return _narrow(unit).backend


def calls_by_words(unit: TensorUnit) -> list[Calls]:
    """The unit's calls, and those on other words beside it, as a calibration on each has them."""
    found = []
    for one in map(_narrow, unit.units):
        calibrated = calibration_of(one.backend, one.words)
        found.append(Calls(one.words, one.latency, one.own, calibrated))
    return found


def predicted_cycles(calls: list[Calls]) -> float | None:
    """By the calibrations; None without."""
    cycles = [one.calibration.cycles(one.work) for one in calls if one.calibration]
    return sum(cycles) if cycles else None


def _narrow(unit: TensorUnit) -> TensorUnit:
    return unit.narrow if isinstance(unit, SplitUnit) else unit
