"""What an algorithm asks of the unit, by its formula."""

from __future__ import annotations

from inspect import signature

from ...hw.spec.unit import named_object
from ...sim.tcu import Cost, UnitWork
from .algorithms import ALGORITHMS
from .options import TcuChoice

__all__ = ["work_of"]


def work_of(algorithm: str, choice: TcuChoice, **sizes: int) -> UnitWork:
    """Calls and rows of an algorithm of the list on the unit that is asked for."""
    formula = named_object(ALGORITHMS[algorithm].formula)
    weak = {"weak": choice.weak} if "weak" in signature(formula).parameters else {}
    cost = formula(**sizes, s=choice.side, **weak)
    assert isinstance(cost, Cost)
    return cost.work
