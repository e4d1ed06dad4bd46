"""What copies of functions count, and what an element is in hardware."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...hw.spec.t2s.parts import ElementPart
    from ...hw.spec.t2s.program import Program
    from ...hw.t2s.language import Computation

__all__ = ["counter_rows", "counters_of", "element_of"]


def element_of(computation: Computation, program: Program) -> ElementPart | None:
    """In hardware, in the formats and the pipeline of the mapping; None if there is none yet, or
    if it waits for entries of sparse tensors."""
    from ...hw.t2s.lowering.arithmetic import arithmetic_of
    from ...hw.t2s.lowering.elements import element_part

    if program.sparse:
        return None
    try:
        return element_part(program, arithmetic_of(program, computation))
    except ValueError:
        return None


def counters_of(program: Program) -> dict[str, list[dict[str, Any]]]:
    """What a copy of each function counts that only moves words or computes; without bits, a loop
    whose trip count a register has."""
    from ...hw.t2s.compiler.counting.counters import counters
    from ...hw.t2s.compiler.counting.flattening import uses_memory

    return {
        function.name: [one._asdict() for one in counters(function)]
        for function in program.functions
        if not uses_memory(function)
    }


def counter_rows(program: Program) -> list[tuple[str, str]]:
    """Rows of a report: functions that count the same, and what that is."""
    found: dict[str, list[str]] = {}
    for name, its in counters_of(program).items():
        widths = ("a trip count" if one["bits"] is None else str(one["bits"]) for one in its)
        told = ", ".join(f"{one['name']} {bits}" for one, bits in zip(its, widths, strict=True))
        found.setdefault(told or "none", []).append(name)
    return [(", ".join(names), told) for told, names in found.items()]
