"""The passes, in the order in which they run; after each there is a whole program."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...spec.t2s.program import Program
from ..language import Computation
from .accumulation import accumulate
from .capacity import check_capacity
from .counting.flattening import flatten
from .counting.infinitising import infinitise
from .counting.perfection import perfect
from .counting.rotation import rotate
from .counting.signals import signal
from .definition import define, tile
from .distinct import check_names
from .factoring import factor
from .forwarding import forward
from .overlap import overlap
from .partition import partition
from .queues import fifo
from .removal import remove
from .scattering import gather, scatter
from .sparse.visiting import unless_sparse, visit
from .unrolling import unroll
from .vectorising import vectorise

__all__ = ["MAPPED", "PASSES", "compiled", "programs"]

MAPPED = "fifo"
"""The last pass that directives are about: all loops are there still. What follows takes out of
functions what they need not count."""

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
    "visit": visit,
    "overlap": unless_sparse(overlap),
    "fifo": fifo,
    "signal": unless_sparse(signal),
    "rotate": unless_sparse(rotate),
    "perfect": unless_sparse(perfect),
    "flatten": unless_sparse(flatten),
    "infinitise": unless_sparse(infinitise),
}
"""By name. Before the first there is the definition."""


def programs(computation: Computation) -> Iterator[tuple[str, Program]]:
    """The definition, and what each pass makes of it. Raises MappingError for a directive that
    cannot be followed."""
    program = define(computation)
    yield "define", program
    for name, run in PASSES.items():
        program = run(program, computation)
        check_names(program, computation)
        if name == MAPPED:
            check_capacity(program, computation)
        yield name, program


def compiled(computation: Computation, after: str = MAPPED) -> Program:
    """What the passes make, up to one of them."""
    return next(program for name, program in programs(computation) if name == after)
