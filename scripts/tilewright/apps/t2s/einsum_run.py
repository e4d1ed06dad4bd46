"""Sums of products on an array that a mapping describes, beside NumPy's or SciPy's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from string import ascii_letters
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from ...clocks import clock_rows, reached_clocks, times
from ...errors import UserError, user_errors
from ...hw.spec.formats import IntFormat
from ...hw.spec.jobs.t2s import memory_parts
from ...hw.spec.t2s.config import T2S, T2sConfig
from ...hw.spec.t2s.design import Design
from ...hw.spec.t2s.program import Program
from ...reports import print_rows, write_json
from ...sim.numbers.container_words import from_container
from ...sim.t2s.driver import Counts, Driver
from ...sim.t2s.images import operand_names, placement
from ...sim.t2s.job import outermost
from ...sim.t2s.sizes import bounds_of_shapes, trip_count, walked_indices
from ...sim.t2s.sparse.image import most_bytes, tile_count
from ..common.limits import check_operations, counted
from ..common.matrix_files import write_array
from ..common.options import Choice
from ..common.report import Rows
from ..common.session import Session
from .einsum_agreement import wrong_elements
from .operand_files import Operand, read_operands


def expression_of(program: Program) -> str:
    """Returns "ik,kj->ij" in the program's own letters; of sums of products "ik,k+ik,k->i".

    Raises UserError if einsum has no name for it: other semirings, initial values, functions of
    words, and indices that are sums.
    """
    if program.semiring != "mma":
        raise UserError(f"{program.name} is not an einsum: its semiring is {program.semiring}")
    if program.start:
        raise UserError(f"{program.name} is not an einsum: its sums start from {program.start}")
    for tensor in program.tensors:
        for name in tensor.functions:
            raise UserError(
                f"{program.name} is not an einsum: {tensor.name} has a function, {name}"
            )
        for index in tensor.dimensions:
            if len(index.terms) != 1 or index.terms[0][1] != 1 or index.constant:
                raise UserError(
                    f"{program.name} is not an einsum: {tensor.name} has an index {index}"
                )
    letters = dict(zip(program.indices, ascii_letters, strict=False))
    if all(len(name) == 1 for name in program.indices):
        letters = {name: name for name in program.indices}
    texts = {
        tensor.name: "".join(letters[index.variables[0]] for index in tensor.dimensions)
        for tensor in program.tensors
        if not tensor.image
    }
    products = (",".join(texts[name] for name in names) for names in program.products)
    return f"{'+'.join(products)}->{texts[program.result]}"


def same_expression(given: str, meant: str) -> bool:
    """Tells whether two expressions differ in their letters only."""
    return _plain(given.replace(" ", "")) == _plain(meant)


def _plain(text: str) -> str:
    names: dict[str, str] = {}
    found = []
    for letter in text:
        if letter.isalpha():
            found.append(names.setdefault(letter, ascii_letters[len(names) % len(ascii_letters)]))
        else:
            found.append(letter)
    return "".join(found)


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
        """Number of elements of the array."""
        program = self.config.plan.program
        return prod(one.extent or 1 for one in program.function(program.name).instances)

    @property
    def all_operations(self) -> int:
        """Operations of all elements together. Entries of one tensor count as often as they are
        read; those of two tensors go to one element."""
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
        """Returns the JSON report."""
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
                "times": times("t2s", self.config.resolved(), self.counts.cycles),
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
            rows += [("cycles", self._of_cycles()), *self._times(), ("memory", self._of_memory())]
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

    def _times(self) -> Rows:
        assert self.counts is not None
        config = self.config.resolved()
        if not reached_clocks("t2s", config):
            return []
        return clock_rows("t2s", config, self.counts.cycles, 1.0, "flat")

    def _of_memory(self) -> str:
        assert self.counts is not None
        return f"{self.counts.bytes_read:,} bytes read, {self.counts.bytes_written:,} written"


def run_einsum(
    expression: str,
    files: Sequence[Path],
    config: T2sConfig,
    backend: str,
    output: Path | None,
    json_file: Path | None,
    *,
    zero_based: bool = False,
) -> None:
    """Compute, check, write and report. Raises UserError for what does not fit."""
    design = config.plan
    meant = expression_of(design.program)
    if not same_expression(expression, meant):
        raise UserError(f"expression must be {meant} for {config.design}, not {expression!r}")
    names = operand_names(design.program)
    if len(files) != len(names):
        asked = f"{len(names)} for {meant}"
        if len(design.program.products) > 1:
            asked = f"{len(names)} for {meant}, {', '.join(names)}"
        raise UserError(f"operands must be {asked}, not {len(files)}")
    if design.sparse and backend == "cycles":
        raise UserError(
            f"backend must be rtl or model for {config.design}, not 'cycles': cycles of sparse "
            "operands are not foreseen"
        )
    operands = read_operands(design, files, meant, zero_based=zero_based)
    with user_errors(ValueError):
        bounds = bounds_of_shapes(
            design.program, {name: one.shape for name, one in operands.items()}, None
        )
    work = sparse_work(design, bounds, operands) if design.sparse else prod(bounds.values())
    check_operations(" and ".join(map(str, files)), work, "use smaller tensors")
    memory = _memory_bytes(config, bounds, operands)
    words = {name: one.words for name, one in operands.items()}
    choice = Choice(unit=T2S, config=config, backend=backend, gigahertz=1.0)

    def computed(driver: Driver) -> NDArray[Any]:
        return driver.run_words(bounds, **words)

    model = Session(choice, Driver, backend="model" if backend == "rtl" else backend)
    model.reserve(memory)
    found = wanted = model.run(computed)
    driver, mismatches = model.driver, 0
    counts, steps = driver.counts if backend == "cycles" else None, driver.steps
    if backend == "rtl":
        with Session(choice, Driver) as session:
            session.reserve(memory)
            found = session.run(computed)
            driver, counts = session.driver, session.driver.counts
        mismatches = int(np.count_nonzero(found != wanted))
    fmt = design.word_format(design.program.result)
    result = from_container(found, fmt)
    run = EinsumRun(
        config=config,
        meant=meant,
        bounds=bounds,
        operands=operands,
        backend=backend,
        steps=steps,
        operations=driver.counts.operations,
        counts=counts,
        mismatches=mismatches if backend == "rtl" else None,
        wrong=wrong_elements(design.program, meant, bounds, operands, result, fmt),
    )
    if output:
        write_array(output, result)
    if json_file:
        write_json(json_file, run.as_json())
    run.show(output)
    if run.mismatches or run.wrong:
        raise typer.Exit(1)


def _memory_bytes(
    config: T2sConfig, bounds: dict[str, int], operands: Mapping[str, Operand]
) -> int:
    plan, beat = config.plan.sparse, config.beat_bytes
    sizes = [placement(config.plan, one.tensor, bounds, beat).size for one in memory_parts(config)]
    if plan:
        sizes += [
            most_bytes(plan, part, bounds, len(operands[part.tensor].values), beat)
            for part in plan.entries
        ]
    return 4096 + sum(sizes)
