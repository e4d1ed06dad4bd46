"""What is told of a sum of products on an array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from ...hw.spec.formats import IntFormat
from ...hw.spec.t2s.config import T2sConfig
from ...hw.spec.t2s.design import Design
from ...report_table import print_rows
from ...sim.t2s.counts import Counts
from ...sim.t2s.job import outermost
from ...sim.t2s.sizes import trip_count, walked_indices
from ...sim.t2s.sparse.image import tile_count
from ..common.words import counted
from .operand_files import Operand

__all__ = ["EinsumRun", "sparse_work"]


def sparse_work(design: Design, bounds: Mapping[str, int], operands: Mapping[str, Operand]) -> int:
    """About how many operations and words a job with sparse operands takes: of each entry those
    for a row of the result, of each tile those that bring the dense operands' words."""
    plan, program = design.sparse, design.program
    assert plan is not None
    result = walked_indices(program.tensor(program.result).dimensions)
    width = prod(bounds[name] for name in result if name != plan.rows.index)
    entries = sum(len(operands[part.tensor].values) for part in plan.entries)
    filled = sum(one.extent for one in plan.entries[0].layout.coordinates)
    return (entries + tile_count(plan, bounds) * filled) * width


@dataclass(frozen=True, kw_only=True)
class EinsumRun:
    """A run and what came of it.

    Parameters
    ----------
    meant: the expression
    steps: vectors of tokens of sparse operands
    operations: of the last element
    counts: of a job whose cycles are known
    mismatches: elements that are not the model's, of the Verilog
    wrong: elements that are not NumPy's, or SciPy's
    """

    config: T2sConfig
    meant: str
    bounds: dict[str, int]
    operands: Mapping[str, Operand]
    backend: str
    steps: Mapping[str, int]
    operations: int
    counts: Counts | None
    mismatches: int | None
    wrong: int

    @property
    def elements(self) -> int:
        """Of the array."""
        program = self.config.plan.program
        return prod(one.extent or 1 for one in program.function(program.name).instances)

    @property
    def all_operations(self) -> int:
        """Of all elements together: of the entries of one tensor as often as it is read; those of
        two tensors go to one element."""
        plan = self.config.plan.sparse
        if plan is None or len(plan.entries) > 1:
            return self.operations * self.elements
        (part,), loops = plan.entries, outermost(self.config.plan.program)
        again = prod(one.extent or trip_count(loops[one.name], self.bounds) for one in part.again)
        return len(self.operands[part.tensor].values) * plan.element.ring_words * again

    @property
    def utilisation(self) -> float:
        """Share of cycles in which elements begin operations: of the last one, or, of sparse
        operands, whose elements have not the same to do, of all."""
        assert self.counts is not None
        if self.config.plan.sparse is None:
            return self.counts.busy_cycles / self.counts.cycles
        return self.all_operations / (self.elements * self.counts.cycles)

    def as_json(self) -> dict[str, Any]:
        """Of the report."""
        found = {
            "application": "einsum",
            "unit": "t2s",
            "config": self.config.resolved(),
            "backend": self.backend,
            "expression": self.meant,
            "bounds": self.bounds,
            "elements": self.elements,
            "lanes": self.config.plan.element.lanes,
        }
        if self.steps:
            found["entries"] = {name: len(self.operands[name].values) for name in self.steps}
            found["steps"] = dict(self.steps)
        if self.counts is not None:
            found |= {
                "cycles": self.counts.cycles,
                "busy_cycles": self.counts.busy_cycles,
                "stalls": self.counts.stalls,
                "utilisation": self.utilisation,
                "bytes_read": self.counts.bytes_read,
                "bytes_written": self.counts.bytes_written,
            }
        return found | {"mismatches": self.mismatches, "wrong": self.wrong}

    def show(self, output: Path | None) -> None:
        """Print it. ``output``: where the result was written."""
        element = self.config.plan.element
        formats = f"{element.arithmetic.element.name}, sums in {element.arithmetic.result.name}"
        rows = [
            ("bounds", ", ".join(f"{name} = {bound:,}" for name, bound in self.bounds.items())),
            ("array", f"{counted(self.elements, 'element')} of {counted(element.lanes, 'lane')}"),
            ("formats", formats),
        ]
        rows += [(name, self._of_steps(name)) for name in self.steps]
        if self.counts is not None:
            rows += [("cycles", self._of_cycles()), ("memory", self._of_memory())]
        if self.mismatches is not None:
            told = f"{self.mismatches:,} elements are not the model's"
            rows.append(("Verilog", told if self.mismatches else "bit for bit the model's"))
        agreed = "SciPy's" if self.steps else "NumPy's"
        if not isinstance(element.arithmetic.result, IntFormat):
            agreed += " up to rounding"
        rows.append(
            ("result", f"{self.wrong:,} elements are not {agreed}" if self.wrong else agreed)
        )
        if output:
            rows.append(("written", str(output)))
        print_rows(f"einsum {self.meant} on {self.config.design}", rows)

    def _of_steps(self, name: str) -> str:
        """A sparse operand's entries, and how full its vectors are."""
        entries = len(self.operands[name].values)
        share = entries / (self.elements * self.steps[name])
        steps = counted(self.steps[name], "step")
        return f"{counted(entries, 'entry', 'entries')} in {steps}, {share:.1%} of what these hold"

    def _of_cycles(self) -> str:
        assert self.counts is not None
        if self.config.plan.sparse:
            return f"{self.counts.cycles:,}; elements begin operations in {self.utilisation:.1%}"
        return (
            f"{self.counts.cycles:,}, in {self.counts.busy_cycles:,} of them elements begin "
            f"products: {self.utilisation:.1%}"
        )

    def _of_memory(self) -> str:
        assert self.counts is not None
        return f"{self.counts.bytes_read:,} bytes read, {self.counts.bytes_written:,} written"
