"""From a configuration to all that its hardware is made of."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from ...spec.host.words import unknown
from ...spec.t2s.config import T2sConfig
from ...spec.t2s.design import Design
from ...spec.t2s.settings import parsed_sizes
from .. import designs
from ..compiler.passes import compiled
from ..language import Computation
from ..language.mapping_file import load_mapping
from .arithmetic import arithmetic_of, sums_side_by_side
from .completion import complete
from .connections import all_copies, links
from .depths import with_depths
from .elements import element_part, summed_loops, word_bits
from .memory import check_managers, memory_part, stored_lanes
from .moving import feeder_part, mover_part
from .refusal_places import with_places
from .routing import routes_of
from .sparse.design import sparse_design
from .stalls import check_stalls

__all__ = ["DESIGNS", "design_of", "lowered"]

_FOLDER = Path(designs.__file__).parent

DESIGNS = (
    *sorted(one.stem for one in _FOLDER.glob("[a-z]*.py")),
    *(
        f"{folder}/{one.stem}"
        for folder in ("cgra", "sparse")
        for one in sorted(_FOLDER.glob(f"{folder}/[a-z]*.py"))
    ),
)
"""Names of the designs that ship."""


def design_of(config: T2sConfig) -> Design:
    """What the hardware of a configuration is made of.

    Raises ValueError for a design that there is not, a file that does not define one, a mapping
    that cannot be followed or has no hardware, and formats that do not fit it.
    """
    file = Path(config.design)
    if not config.design.endswith(".py"):
        file = _FOLDER / f"{config.design}.py"
        if not file.is_file():
            raise ValueError(
                unknown("design", config.design, DESIGNS, "tilewright table t2s-designs")
            )
    try:
        return _design(config, file, file.read_bytes())
    except OSError as error:
        raise ValueError(
            f"`design` must be a file that can be read, not {config.design!r}: {error.strerror}"
        ) from error


@lru_cache(maxsize=64)
def _design(config: T2sConfig, file: Path, content: bytes) -> Design:
    """Of a file, which has to have this content."""
    computation = load_mapping(file, parsed_sizes(config.sizes), config.largest_factor or None)
    return lowered(computation, config)


@with_places
def lowered(computation: Computation, config: T2sConfig) -> Design:
    """What the hardware of a mapping is made of. Raises ValueError, see :func:`design_of`."""
    return (sparse_design if computation.sparse else _dense)(computation, config)


def _dense(computation: Computation, config: T2sConfig) -> Design:
    program = compiled(complete(computation))
    arithmetic = arithmetic_of(
        program, computation, config.format, config.accumulator, config.pipeline
    )
    element = element_part(program, arithmetic, sums_side_by_side(computation))
    summed = [one.name for one in summed_loops(program.function(program.name))]
    feeders, movers, loaders = [], [], []
    for operand in computation.operands:
        name = operand.tensor.name
        bits = word_bits(element, name)
        feeder, loader = (program.function(f"{name}_{role}") for role in ("feeder", "loader"))
        for loop in feeder.instances:
            if loop.reduces:
                raise ValueError(
                    f"{feeder.name} has no hardware yet: loop `{loop.name}`, which is summed over, "
                    "is unrolled in it"
                )
        flagged = name == element.operands[0].name
        if feeder.buffers:
            feeders.append(feeder_part(feeder, bits, summed, flagged=flagged))
        else:
            movers.append(mover_part(feeder, "feeder", bits, summed, flagged=flagged))
        fmt = element.word_format(element.operand(name))
        loaders.append(memory_part(program, loader, name, bits, fmt))
    bits = word_bits(element, program.name)
    for isolated in computation.chain(program.name):
        if isolated.role in ("drainer", "collector"):
            function = program.function(isolated.name)
            movers.append(mover_part(function, isolated.role, bits, (), flagged=False))
    check_managers(program, len(loaders), config.managers)
    unloader = program.function(f"{program.name}_unloader")
    stored = stored_lanes(unloader) * arithmetic.result.container_bits
    routes = routes_of(program, element)
    found = Design(
        program=program,
        element=element,
        feeders=tuple(feeders),
        movers=tuple(movers),
        loaders=tuple(loaders),
        unloader=memory_part(program, unloader, program.name, stored, arithmetic.result),
        routes=routes,
        copies=all_copies(program, routes),
        links=links(program, routes),
    )
    check_stalls(computation, element, cut=config.largest_factor > 0)
    return with_depths(found, computation.depths)
