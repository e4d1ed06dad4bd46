"""The passes, in the order in which they run; after each there is a whole program."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...spec.t2s.program import Program
from ..language import Computation
from .accumulation import accumulate
from .capacity import check_capacity
from .definition import define, tile
from .distinct import check_names
from .factoring import factor
from .forwarding import forward
from .overlap import overlap
from .partition import partition
from .queues import fifo
from .removal import remove
from .scattering import gather, scatter
from .unrolling import unroll
from .vectorising import vectorise

__all__ = ["PASSES", "compiled", "programs"]

PASSES: dict[str, Callable[[Program, Computation], Program]] = {
    "tile": tile,
    "accumulate": accumulate,
    "partition": partition,
    "unroll": unroll,
    "forward": forward,
    "remove": remove,
    "scatter": scatter,
    "gather": gather,
    "vectorise": vectorise,
    "factor": factor,
    "overlap": overlap,
    "fifo": fifo,
}
"""By name. Before the first there is the definition."""


def programs(computation: Computation) -> Iterator[tuple[str, Program]]:
    """The definition, and what each pass makes of it. Raises MappingError for a directive that
    cannot be followed."""
    program = define(computation)
    yield "define", program
    last = next(reversed(PASSES))
    for name, run in PASSES.items():
        program = run(program, computation)
        check_names(program, computation)
        if name == last:
            check_capacity(program, computation)
        yield name, program


def compiled(computation: Computation) -> Program:
    """What the last pass makes."""
    *_, (_, program) = programs(computation)
    return program
