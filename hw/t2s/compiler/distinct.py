"""Names that the compiler makes of those of tensors and loops."""

from __future__ import annotations

from ...spec.t2s.program import Program
from ..language import Computation, MappingError

__all__ = ["check_names"]


def check_names(program: Program, computation: Computation) -> None:
    """Refuse two functions, channels or tensors of the same name."""
    kinds = {
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
