"""How large buffers may be."""

from __future__ import annotations

from math import prod

from ...spec.formats import FORMATS
from ...spec.t2s.program import Buffer, Program
from ..language import Computation, MappingError
from ..language.isolated import MOST_BITS

__all__ = ["check_capacity"]


def check_capacity(program: Program, computation: Computation) -> None:
    """Refuse buffers that have more bits than the mapping allows, in a copy of their function."""
    for chain in computation.chains.values():
        for isolated in chain:
            for buffer in program.function(isolated.name).buffers:
                bits = _bits(program, computation, buffer, isolated.tensor)
                if isolated.buffered and bits > isolated.max_bits:
                    level, _, place = isolated.buffered
                    raise MappingError(
                        f"{place}: {isolated.name}.buffer: at loop `{level}` it has {bits:,} bits, "
                        f"more than `max_bits`, {isolated.max_bits:,}"
                    )
    for buffer in program.function(computation.name).buffers:
        bits = _bits(program, computation, buffer, computation.name)
        if bits > MOST_BITS:
            loop = buffer.dimensions[0].name
            raise MappingError(
                f"{computation.place}: {computation.name}: loops from `{loop}` inwards keep "
                f"{bits:,} bits of sums in an element, more than {MOST_BITS:,}"
            )


def _bits(program: Program, computation: Computation, buffer: Buffer, tensor: str) -> int:
    word = FORMATS[program.number_format].container_bits
    if computation.vectorised:
        loop = computation.loop(computation.vectorised[0])
        word *= loop.extent or 1 if loop.name in computation.loops_of(tensor) else 1
    return (1 + buffer.double) * word * prod(one.extent or 1 for one in buffer.dimensions)
