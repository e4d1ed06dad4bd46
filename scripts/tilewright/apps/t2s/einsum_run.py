"""Sums of products on an array that a mapping describes, beside NumPy's or SciPy's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import typer

from ...errors import UserError, user_errors
from ...hw.spec.jobs.t2s import memory_parts
from ...hw.spec.t2s.config import T2S, T2sConfig
from ...reports import write_json
from ...sim.numbers.container_words import from_container
from ...sim.t2s.bounds import bounds_of_shapes
from ...sim.t2s.driver import Driver
from ...sim.t2s.images import operand_names, placement
from ...sim.t2s.model import T2sModel
from ...sim.t2s.sparse.image import most_bytes
from ...sim.timing.memories import FLAT
from ..common.limits import check_operations
from ..common.matrix_files import write_array
from ..common.native import native
from .einsum_agreement import wrong_elements
from .einsum_report import EinsumRun, sparse_work
from .expression import expression_of, same_expression
from .operand_files import Operand, read_operands

__all__ = ["run_einsum"]

_LATENCY = 20
"""Of the memory, in cycles."""


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
    driver = Driver(_model(config, memory, backend))
    with user_errors(ValueError):
        wanted = driver.run_words(bounds, **words)
    found, mismatches = wanted, 0
    counts = driver.counts if backend == "cycles" else None
    steps = driver.steps
    if backend == "rtl":
        with native(T2S, config, _LATENCY)(memory) as device:
            driver = Driver(device)
            found, counts = driver.run_words(bounds, **words), driver.counts
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


def _model(config: T2sConfig, memory_bytes: int, backend: str) -> T2sModel:
    """What knows the result, and with the backend "cycles" when it is there."""
    if backend != "cycles":
        return T2sModel(config, memory_bytes)
    from ...sim.t2s.cycles.machine import T2sCycles

    return T2sCycles(config, memory_bytes, memory=replace(FLAT, latency=_LATENCY))


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
