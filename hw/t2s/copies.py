"""The component that a copy of a function is."""

from __future__ import annotations

from typing import Any

from ..spec.t2s.design import Design
from ..spec.t2s.network import Copy
from .feeder import Feeder
from .mover import Packer, mover
from .pe import Pe
from .route import Route

__all__ = ["component_of"]


def component_of(design: Design, copy: Copy, trip_bits: int) -> Any:
    """Between loaders and the unloader; None at the memory's side.

    Parameters
    ----------
    trip_bits: width of a trip count that a register has
    """
    if copy.function == design.element.name:
        return Pe(design.element)
    for feeder in design.feeders:
        if feeder.name == copy.function:
            return Feeder(feeder, trip_bits)
    for passing in design.movers:
        if passing.name == copy.function:
            if passing.packs:
                return Packer(passing, copy.ahead)
            return mover(passing, trip_bits)
    for route in design.routes:
        if route.name == copy.function:
            return Route(route, trip_bits)
    return None
