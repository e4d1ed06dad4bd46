"""Names that the compiler makes of those of tensors and loops."""

from __future__ import annotations

from ...spec.t2s.program import Program
from ..language import Computation, MappingError

__all__ = ["check_names"]


def _made_of(loop: str) -> tuple[str, str]:
    """Names of a loop in which turns are counted, and of its last iteration."""
    return f"{loop}_t", f"last_{loop}"


def check_names(program: Program, computation: Computation) -> None:
    """Refuse two functions, channels, tensors or loop variables of the same name."""
    loops = computation.loop_names
    kinds = {
        "loops": [*loops, *(one for name in loops for one in _made_of(name))],
        "functions": [one.name for one in program.functions],
        "channels": [one.name for one in program.channels],
        "tensors": [one.name for one in program.tensors],
    }
    for kind, names in kinds.items():
        for name in names:
            if names.count(name) > 1:
                raise MappingError(
                    f"{computation.place}: {computation.name}: two {kind} would be called {name}: "
                    "give tensors and loops other names"
                )
