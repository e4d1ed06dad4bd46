"""Figures of a design: depths of queues, predicted cycles, counters of its functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UserError
from .mapping_given import MappingOptions
from .queues import hardware_config

if TYPE_CHECKING:
    from ...hw.spec.t2s.parts import ElementPart
    from ...hw.spec.t2s.program import Program
    from ...hw.t2s.language import Computation

__all__ = ["counter_rows", "counters_of", "depths_found", "element_of", "predicted",
           "predicted_rows"]  # fmt: skip


_MOST = 4_000_000
"""Iterations of an element: more would take minutes."""


def predicted(
    file: Path, options: MappingOptions, bounds: Mapping[str, int], iterations: int
) -> dict[str, Any]:
    """The counters of a job, of an array with the unit's parameters before a memory that answers
    after 20 cycles; or, as ``not_known``, why they are not known.

    ``iterations``: of an element
    """
    from ...sim.t2s.cycles.machine import counts_of

    if iterations > _MOST:
        return {"not_known": f"{iterations:,} iterations are more than {_MOST:,}"}
    try:
        config = hardware_config(file, options)
        return asdict(counts_of(config, bounds))
    except ValueError as error:
        return {"not_known": str(error)}


def predicted_rows(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the prediction as rows of a report."""
    if "not_known" in found:
        return [("cycles", f"not known: {found['not_known']}")]
    share = found["busy_cycles"] / found["cycles"]
    return [
        ("cycles", f"{found['cycles']:,}, in {found['busy_cycles']:,} of them elements begin "
                   f"products: {share:.1%}"),
        ("bytes", f"{found['bytes_read']:,} read, {found['bytes_written']:,} written"),
    ]  # fmt: skip


def element_of(computation: Computation, program: Program) -> ElementPart | None:
    """Returns the hardware element, in the formats and the pipeline of the mapping. None if there
    is no hardware for it yet, or if it waits for entries of sparse tensors."""
    from ...hw.t2s.lowering.arithmetic import arithmetic_of
    from ...hw.t2s.lowering.elements import element_part

    if program.sparse:
        return None
    try:
        return element_part(program, arithmetic_of(program, computation))
    except ValueError:
        return None


def counters_of(program: Program) -> dict[str, list[dict[str, Any]]]:
    """Lists the loop counters of each function that only moves words or computes. A counter without
    bits is a loop whose trip count a register has."""
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
