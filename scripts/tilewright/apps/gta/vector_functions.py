"""Operations on vectors by the names that the command line has for them."""

from __future__ import annotations

from ...errors import UserError
from ...hw.spec.host.words import not_one_of
from ...hw.spec.jobs.gta_vector import functions_of, operand_memories
from ..common.limits import counted

__all__ = ["COMPARISONS", "REDUCTIONS", "SLIDES", "check_function", "functions"]

SLIDES = ("slide_up", "slide_down")
REDUCTIONS = {f"reduce_{name}": name for name in ("sum", "min", "max")}
COMPARISONS = ("eq", "ne", "lt", "le")
_INNER = ("dot", "slide", "sum")
"""Operations of which slides and reductions are built."""


def functions(format: str) -> tuple[str, ...]:
    """Lists the functions that exist on a format."""
    return (*(x for x in functions_of(format) if x not in _INNER), *SLIDES, *REDUCTIONS)


def check_function(function: str, format: str, files: int) -> None:
    """Raise UserError for a function that there is not on the format, or that takes another number
    of operands."""
    allowed = functions(format)
    if function not in allowed:
        raise UserError(not_one_of(f"FUNCTION in {format}", allowed, function))
    single = function in SLIDES or function in REDUCTIONS
    count = 1 if single else len(operand_memories(function, format))
    if files != count:
        names = ("A", "A and B", "A, B and C")[count - 1]
        raise UserError(f"{function} takes {names}, not {counted(files, 'operand')}")
