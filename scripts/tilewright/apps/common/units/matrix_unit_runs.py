"""Runs on a matrix unit, alone or in the tile engine: progress, errors, the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....errors import UserError
from ....hw.spec.host.activity import activity
from ..limits import counted
from ..report import Report, Rows, accelerator_figures, checks
from ..session import building
from .matrix_unit import EngineChoice, UnitChoice
from .matrix_unit_products import EngineTally, MatrixTally, TiledProduct

__all__ = ["Errors", "Multiply", "matrix_unit_report", "measure", "product_unit",
           "time_product"]  # fmt: skip

Words = NDArray[np.uint64]
Multiply = Callable[..., Words]
LONGEST_WAVES = 2_000
"""Operations of the longest run that may be traced: a wave file grows by tens of kB for each."""


@contextmanager
def product_unit(choice: UnitChoice, operations: int) -> Iterator[tuple[Multiply, MatrixTally]]:
    """A function that multiplies on the chosen unit, and the tally it keeps.

    Takes at most as many operations as are announced; shows their progress on a terminal.
    """
    if choice.waves and operations > LONGEST_WAVES:
        raise UserError(
            f"{choice.waves}: waves are for runs of at most {LONGEST_WAVES} operations, "
            f"not {operations}"
        )
    with activity(f"building {choice.unit.name}"):
        product = _product(choice)
    with activity(f"operations of {choice.unit.name}", total=operations) as shown:

        def multiply(a: Words, b: Words, c: Words | None = None) -> Words:
            return product.multiply(a, b, c, progress=shown.step)

        try:
            yield multiply, product.tally
        finally:
            product.close()


def _product(choice: UnitChoice) -> Any:
    """Returns the multiplier: the matrix unit, or the engine around it."""
    if choice.engine:
        from .engine_products import EngineProduct

        return EngineProduct(choice.engine, choice.mode)
    try:
        with building(choice.unit):
            return TiledProduct(
                choice.unit, choice.config, choice.mode,
                backend=choice.backend, waves=choice.waves,
            )  # fmt: skip
    except ValueError as error:
        raise UserError(f"{choice.unit.name}: {error}") from None


@dataclass(frozen=True)
class Errors:
    """Distance of a result from the float64 reference, over the elements finite in both.

    Parameters
    ----------
    largest, mean: absolute error
    relative: Euclidean norm of the errors over that of the reference
    left_out: elements that are not finite in one of them
    """

    largest: float
    mean: float
    relative: float
    left_out: int

    def to_json(self) -> dict[str, Any]:
        return {
            "max": self.largest, "mean": self.mean, "relative": self.relative,
            "left_out": self.left_out,
        }  # fmt: skip

    def in_words(self) -> str:
        """Describes the errors for the printed report."""
        left_out = f" ({self.left_out:,} not finite, left out)" if self.left_out else ""
        return (f"max {self.largest:.2e}, mean {self.mean:.2e}, relative norm "
                f"{self.relative:.2e}{left_out}")  # fmt: skip


def measure(result: NDArray[Any], reference: NDArray[Any]) -> Errors:
    """The errors of a result against a float64 or complex128 reference of the same shape."""
    usable = np.isfinite(result) & np.isfinite(reference)
    left_out = int(usable.size - np.count_nonzero(usable))
    if not usable.any():
        return Errors(0.0, 0.0, 0.0, left_out)
    wide = np.complex128 if np.iscomplexobj(reference) else np.float64
    distance = np.abs(result[usable].astype(wide) - reference[usable])
    scale = float(np.linalg.norm(reference[usable]))
    relative = float(np.linalg.norm(distance)) / scale if scale else 0.0
    return Errors(float(distance.max()), float(distance.mean()), relative, left_out)


def matrix_unit_report(
    app: str,
    title: str,
    rows: list[tuple[str, str]],
    choice: UnitChoice,
    tally: MatrixTally,
    errors: dict[str, Errors],
    details: dict[str, Any],
    *,
    wrong: bool = False,
) -> Report:
    """The report of a run.

    Parameters
    ----------
    app, title: what ran, and on what
    rows: labels and texts, above those that every application has
    errors: by what was measured, "unit" first
    details: what the application adds to the JSON
    wrong: whether the application found its result wrong
    """
    engine, rtl = choice.engine, choice.backend == "rtl"
    shape = f"{choice.config.rows} x {choice.config.cols} x {choice.config.depth}"
    rows = [
        *rows, ("unit", f"{choice.unit.name} {shape}, {_words(choice)}, {choice.ran_on}")
    ]  # fmt: skip
    timing: dict[str, Any] = {}
    compared = "results"
    if engine:
        assert isinstance(tally, EngineTally)
        timing = _engine_figures(engine, tally)
        rows += _engine_rows(engine, tally)
        compared += f" and {tally.counters:,} counters"
    else:
        rows.append(("operations", f"{tally.operations:,}"))
        if rtl:
            rows.append(("cycles", f"{tally.cycles:,}"))
            share = f"{tally.busy_cycles:,} of {tally.cycles:,} cycles"
            rows.append(("utilisation", f"{tally.utilisation:.2%} ({share})"))
    rate = tally.operations / tally.seconds if tally.seconds else 0.0
    return Report(
        app=app,
        title=title,
        json_file=choice.json_file,
        figures={
            **accelerator_figures(engine or choice, details, mode=choice.mode),
            "operations": tally.operations, "cycles": tally.cycles or None,
            "utilisation": tally.utilisation or None, **timing, "seconds": tally.seconds,
            "operations_per_second": rate, **checks(tally),
            "errors": {name: each.to_json() for name, each in errors.items()},
        },
        rows=rows,
        tally=tally,
        compared=compared if rtl else "",
        rate=f", {rate:,.0f} operations/s",
        after=[
            *((f"error of {name}", each.in_words()) for name, each in errors.items()),
            *([("waves", str(choice.waves))] if choice.waves else []),
        ],
        wrong=wrong,
    )  # fmt: skip


def time_product(
    app: str, title: str, choice: UnitChoice, shape: tuple[int, int, int], *, use_c: bool
) -> None:
    """Report what one product takes on a choice's engine. Raises as `timed_products`."""
    from .engine_products import timed_products

    assert choice.engine
    tally = timed_products(choice.engine, choice.mode, shape, use_c=use_c)
    rows = [
        ("shape", " x ".join(f"{size:,}" for size in shape)),
        ("values", "not computed: time does not depend on them"),
    ]
    matrix_unit_report(app, title, rows, choice, tally, {}, {"shape": list(shape)}).finish()


def _words(choice: UnitChoice) -> str:
    """The operation, and its formats if it is not named after them."""
    numbers = choice.numbers
    if numbers.pairs or choice.mode == numbers.element.name:
        return f"mode {choice.mode}"
    return f"{choice.mode}, {numbers.element.name} to {numbers.result.name}"


def _engine_figures(choice: EngineChoice, tally: EngineTally) -> dict[str, Any]:
    """Returns the engine's fields of the JSON report; times are None where nothing counts cycles.

    Of a product of elements and its sum, two operations count in the figures per second.
    """
    figures: dict[str, Any] = {
        "memory": choice.memory.name,
        "gigahertz": choice.gigahertz,
        **choice.clock_figures(tally.cycles),
        "jobs": tally.jobs,
        "bytes_read": tally.bytes_read,
        "bytes_written": tally.bytes_written,
        "bytes_once": None,
        "stalls": None,
        "microseconds": None,
        "gop_s": None,
        "bound_cycles": None,
        "bound_by": None,
        "ratio_to_bound": None,
        "compute_cycles": None,
        "memory_cycles": None,
        "bound_gop_s": None,
        "operations_per_byte": None,
        "memory_bytes": None,
        "memory_gb_s": None,
        "peak_gb_s": None,
        "bandwidth_utilisation": None,
    }
    if not tally.cycles or not tally.bound_cycles:
        return figures
    done = 2 * tally.operations * tally.products
    rate = choice.gigahertz / tally.cycles
    return figures | {
        "bytes_once": tally.bytes_once,
        "stalls": tally.stalls,
        "microseconds": tally.cycles / choice.gigahertz / 1000,
        "gop_s": done * rate,
        "bound_cycles": tally.bound_cycles,
        "bound_by": "memory" if tally.memory_cycles > tally.compute_cycles else "operations",
        "ratio_to_bound": tally.cycles / tally.bound_cycles,
        "compute_cycles": tally.compute_cycles,
        "memory_cycles": tally.memory_cycles,
        "bound_gop_s": done * choice.gigahertz / tally.bound_cycles,
        "operations_per_byte": done / tally.memory_bytes,
        "memory_bytes": tally.memory_bytes,
        "memory_gb_s": tally.memory_bytes * rate,
        "peak_gb_s": tally.peak * choice.gigahertz,
        "bandwidth_utilisation": tally.memory_bytes / (tally.peak * tally.cycles),
    }


def _engine_rows(choice: EngineChoice, tally: EngineTally) -> Rows:
    """Returns the engine's rows of the printed report."""
    config, figures = choice.config, _engine_figures(choice, tally)
    block = " x ".join(map(str, config.block))
    managers = f"{counted(config.managers, 'manager')} of {config.data_bits} bits"
    timed = figures["microseconds"] is not None
    memory = f", memory {choice.memory.name}" if timed else ""
    rows = [
        ("engine", f"blocks of {block} tiles, {managers}{memory}"),
        ("jobs", f"{tally.jobs:,} of {tally.operations:,} operations in all"),
    ]
    if timed:
        rows += _engine_timed(choice, tally, figures)
    rows.append(("bytes", f"{tally.bytes_read:,} read, {tally.bytes_written:,} written"))
    if timed:
        rows += _engine_bounds(tally, figures)
    return rows


def _engine_timed(choice: EngineChoice, tally: EngineTally, figures: dict[str, Any]) -> Rows:
    return [
        ("cycles", f"{tally.cycles:,}; {tally.stalls:,} without an operation between the first "
                   f"and the last of a job"),
        *choice.clock_rows(tally.cycles),
        ("utilisation", f"{tally.utilisation:.2%} ({tally.busy_cycles:,} of {tally.cycles:,} "
                        f"cycles)"),
    ]  # fmt: skip


def _engine_bounds(tally: EngineTally, figures: dict[str, Any]) -> Rows:
    ratio = figures["ratio_to_bound"]
    return [
        ("memory", f"{figures['memory_bytes']:,} bytes moved, {tally.bytes_once:,} were each "
                   f"operand of a job moved once; {figures['memory_gb_s']:.1f} of "
                   f"{figures['peak_gb_s']:.1f} GB/s"),
        ("bound", f"{figures['bound_cycles']:,.0f} cycles, by {figures['bound_by']}: the ratio to "
                  f"it is {ratio:.3f} (operations {tally.compute_cycles:,.0f}, memory "
                  f"{tally.memory_cycles:,.0f})"),
        ("roofline", f"{figures['gop_s']:.2f} of {figures['bound_gop_s']:.2f} GOP/s, the bound's: "
                     f"{1 / ratio:.1%}; {figures['operations_per_byte']:.2f} operations a byte"),
    ]  # fmt: skip
