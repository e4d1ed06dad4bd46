"""Depths of channels: for any bounds, or else for given ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import UserError

if TYPE_CHECKING:
    from ...hw.spec.t2s.program import Program
    from ...hw.t2s.language import Computation

__all__ = ["depths_found"]


def depths_found(
    computation: Computation, program: Program, sizes: Mapping[str, int]
) -> dict[str, Any]:
    """Depths, and why they hold for these bounds only, if they do.

    Of sparse tensors they depend on the entries. Raises UserError if the mapping makes a channel
    too short.
    """
    if program.sparse:
        return {"depths": {}, "depths_depend_on_bounds": "they depend on where entries are"}
    from ...sim.t2s.any_bounds import DependsOnBounds, WaitForEver, depths_for_any_bounds

    try:
        return {"depths": depths_for_any_bounds(program), "depths_depend_on_bounds": None}
    except DependsOnBounds as error:
        return {
            "depths": _for_bounds(computation, program, sizes),
            "depths_depend_on_bounds": str(error),
        }
    except WaitForEver as error:
        name = next(one for one in error.channels if one in computation.depths)
        depth, place = computation.depths[name]
        raise UserError(
            f"{place}: {name}.fifo: with a depth of {depth} the design stops: {error}"
        ) from error


def _for_bounds(
    computation: Computation, program: Program, sizes: Mapping[str, int]
) -> dict[str, int]:
    from ...sim.t2s.depths import needed_depths
    from ...sim.t2s.interpreter import Deadlock

    try:
        return needed_depths(program, sizes)
    except Deadlock:
        channels = tuple(replace(one, depth=None) for one in program.channels)
        enough = needed_depths(replace(program, channels=channels), sizes)
        for name, (depth, place) in computation.depths.items():
            if enough[name] > depth:
                raise UserError(
                    f"{place}: {name}.fifo: with a depth of {depth} the design stops, for these "
                    f"bounds; without the directive it is {enough[name]}"
                ) from None
        raise
