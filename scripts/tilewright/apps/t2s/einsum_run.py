"""Sums of products on an array that a mapping describes, beside NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from ...errors import UserError, user_errors
from ...hw.spec.formats import FloatFormat, Format, IntFormat
from ...hw.spec.t2s.config import T2S, T2sConfig
from ...report_table import print_rows
from ...reports import write_json
from ...sim.numbers.container_words import from_container
from ...sim.t2s.bounds import bounds_of_shapes
from ...sim.t2s.counts import Counts
from ...sim.t2s.driver import Driver
from ...sim.t2s.images import operand_names, placement
from ...sim.t2s.model import T2sModel
from ...sim.timing.memories import FLAT
from ..common.limits import check_operations, check_size
from ..common.matrix_files import read_array, write_array
from ..common.native import native
from ..common.rounding import round_to, warn_rounding
from .expression import expression_of, same_expression

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
) -> None:
    """Compute, check, write and report. Raises UserError for what does not fit."""
    design = config.plan
    names = operand_names(design.program)
    meant = expression_of(design.program)
    if not same_expression(expression, meant):
        raise UserError(f"expression must be {meant} for {config.design}, not {expression!r}")
    if len(files) != len(names):
        raise UserError(f"operands must be {len(names)} for {meant}, not {len(files)}")
    words, values = {}, []
    for name, file in zip(names, files, strict=True):
        fmt = design.word_format(name)
        given = read_array(file)
        check_size(file, *given.shape)
        rounded = round_to(given, fmt)
        warn_rounding(file, rounded, fmt)
        words[name], shape = rounded.words, given.shape
        if len(shape) != len(design.program.tensor(name).dimensions):
            order = len(design.program.tensor(name).dimensions)
            raise UserError(f"{file}: must have {order} dimensions for {meant}, not {len(shape)}")
        values.append(np.asarray(rounded.values, np.float64))
    shapes = {name: one.shape for name, one in words.items()}
    with user_errors(ValueError):
        bounds = bounds_of_shapes(design.program, shapes, None)
    check_operations(" and ".join(map(str, files)), prod(bounds.values()), "use smaller tensors")
    memory = _memory_bytes(config, bounds)
    driver = Driver(_model(config, memory, backend))
    with user_errors(ValueError):
        wanted = driver.run_words(bounds, **words)
    found, mismatches = wanted, 0
    counts = driver.counts if backend == "cycles" else None
    if backend == "rtl":
        with native(T2S, config, _LATENCY)(memory) as device:
            driver = Driver(device)
            found, counts = driver.run_words(bounds, **words), driver.counts
        mismatches = int(np.count_nonzero(found != wanted))
    fmt = design.word_format(design.program.result)
    result = from_container(found, fmt)
    kept = {name for one in design.program.tensor(design.program.result).dimensions
            for name in one.variables}  # fmt: skip
    products = prod(bound for name, bound in bounds.items() if name not in kept)
    beyond = _beyond(meant, result, values, fmt, products)
    if output:
        write_array(output, result)
    if json_file:
        write_json(json_file, _as_json(config, meant, bounds, backend, counts, mismatches, beyond))
    checked = mismatches if backend == "rtl" else None
    _print(config, meant, bounds, counts, checked, beyond, output)
    if mismatches or beyond:
        raise typer.Exit(1)


def _model(config: T2sConfig, memory_bytes: int, backend: str) -> T2sModel:
    """What knows the result, and with the backend "cycles" when it is there."""
    if backend != "cycles":
        return T2sModel(config, memory_bytes)
    from ...sim.t2s.cycles.device import T2sCycles

    return T2sCycles(config, memory_bytes, memory=replace(FLAT, latency=_LATENCY))


def _memory_bytes(config: T2sConfig, bounds: dict[str, int]) -> int:
    parts = (*config.plan.loaders, config.plan.unloader)
    sizes = (placement(config.plan, one.tensor, bounds, config.beat_bytes).size for one in parts)
    return 4096 + sum(sizes)


def _beyond(
    meant: str, result: NDArray[Any], values: list[NDArray[np.float64]], fmt: Format, products: int
) -> int:
    """How many elements are not NumPy's: of integers, modulo 2^bits; of floats, up to what the
    roundings of sums of so many products may make of it."""
    if isinstance(fmt, IntFormat):
        exact = np.einsum(meant, *(one.astype(np.int64) for one in values))
        return int(np.count_nonzero(exact.astype(f"int{fmt.bits}") != result))
    assert isinstance(fmt, FloatFormat)
    exact = np.einsum(meant, *values)
    size = np.einsum(meant, *(np.abs(one) for one in values))
    roundings = 3 + 2 * products
    least = 2.0 ** (fmt.emin - fmt.fraction_bits)
    allowed = min(roundings * 2.0**-fmt.significand_bits, 0.5) * size + roundings * least
    usable = np.isfinite(result) & np.isfinite(exact) & np.isfinite(size)
    with np.errstate(invalid="ignore"):
        wrong = np.abs(result - exact) > allowed
    return int(np.count_nonzero(wrong & usable))


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _elements(config: T2sConfig) -> int:
    program = config.plan.program
    return prod(one.extent or 1 for one in program.function(program.name).instances)


def _figures(config: T2sConfig, counts: Counts | None) -> dict[str, Any]:
    """What the counters say; of the model alone nothing."""
    if counts is None:
        return {}
    return {
        "cycles": counts.cycles,
        "busy_cycles": counts.busy_cycles,
        "stalls": counts.stalls,
        "utilisation": counts.busy_cycles / counts.cycles,
        "bytes_read": counts.bytes_read,
        "bytes_written": counts.bytes_written,
    }


def _as_json(
    config: T2sConfig,
    meant: str,
    bounds: dict[str, int],
    backend: str,
    counts: Counts | None,
    mismatches: int,
    beyond: int,
) -> dict[str, Any]:
    return {
        "application": "einsum",
        "unit": "t2s",
        "config": config.resolved(),
        "backend": backend,
        "expression": meant,
        "bounds": bounds,
        "elements": _elements(config),
        "lanes": config.plan.element.lanes,
        **_figures(config, counts),
        "mismatches": mismatches if backend == "rtl" else None,
        "wrong": beyond,
    }


def _print(
    config: T2sConfig,
    meant: str,
    bounds: dict[str, int],
    counts: Counts | None,
    mismatches: int | None,
    beyond: int,
    output: Path | None,
) -> None:
    element = config.plan.element
    formats = f"{element.arithmetic.element.name}, sums in {element.arithmetic.result.name}"
    rows = [
        ("bounds", ", ".join(f"{name} = {bound:,}" for name, bound in bounds.items())),
        (
            "array",
            _counted(_elements(config), "element") + " of " + _counted(element.lanes, "lane"),
        ),
        ("formats", formats),
    ]
    if counts is not None:
        share = counts.busy_cycles / counts.cycles
        rows += [
            ("cycles", f"{counts.cycles:,}, in {counts.busy_cycles:,} of them elements begin "
                       f"products: {share:.1%}"),
            ("memory", f"{counts.bytes_read:,} bytes read, {counts.bytes_written:,} written"),
        ]  # fmt: skip
    if mismatches is not None:
        rows.append(("Verilog", "bit for bit the model's" if not mismatches
                     else f"{mismatches:,} elements are not the model's"))  # fmt: skip
    agreed = "NumPy's" if isinstance(element.arithmetic.result, IntFormat) else (
        "NumPy's up to rounding"
    )  # fmt: skip
    rows.append(("result", f"{beyond:,} elements are not {agreed}" if beyond else agreed))
    if output:
        rows.append(("written", str(output)))
    print_rows(f"einsum {meant} on {config.design}", rows)
