"""Depths of channels that the mapping gives."""

from __future__ import annotations

from dataclasses import replace

from ...spec.t2s.program import Program
from ..language import Computation, MappingError

__all__ = ["fifo"]


def fifo(program: Program, computation: Computation) -> Program:
    """Follow every ``fifo``."""
    depths = computation.depths
    there = {one.name for one in program.channels}
    for name, (_, place) in depths.items():
        if name not in there:
            raise MappingError(f"{place}: {name}.fifo: it writes to memory, into no queue")
    channels = (
        replace(one, depth=depths[one.name][0]) if one.name in depths else one
        for one in program.channels
    )
    return replace(program, channels=tuple(channels))
