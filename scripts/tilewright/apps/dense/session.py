"""What every application does around its products: choose the unit, simulate, show progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ...errors import UserError, user_errors
from ...hw.spec.matrix_unit import MatrixUnitConfig
from ...hw.spec.unit import Unit
from ...registry import entries
from ...settings import read_config
from ...sim.rtl.build import BuildError
from ...sim.rtl.toolchain import ToolMissing, require_tools
from ..common.files import check_output
from ..common.options import RunOptions
from .operands import Numbers, numbers_of
from .tiled_product import Backend, Tally, TiledProduct
from .tiles import operation_count

__all__ = [
    "Multiply",
    "UnitChoice",
    "choose_product_unit",
    "choose_semiring_unit",
    "choose_unit",
    "product_unit",
]

Words = NDArray[np.uint64]
Multiply = Callable[..., Words]
LONGEST_WAVES = 2_000
"""Operations of the longest run that may be traced: a wave file grows by tens of kB for each."""


@dataclass(frozen=True, kw_only=True)
class UnitChoice:
    """The unit an application runs on and the operation it uses, checked."""

    chosen: Unit
    config: MatrixUnitConfig
    mode: str
    backend: Backend
    waves: Path | None
    json_file: Path | None

    @property
    def unit(self) -> str:
        """The unit's name."""
        return self.chosen.name

    @property
    def numbers(self) -> Numbers:
        """What the operation takes and gives."""
        return numbers_of(self.config, self.mode)

    def operations(self, batch: int, shape: tuple[int, int, int]) -> int:
        """Operations of a batch of products of shape (rows of a, depth, columns of b)."""
        return operation_count(self.config, self.mode, batch, shape)


def _matrix_units() -> dict[str, Unit]:
    return {name: entry.unit for name, entry in entries().items() if entry.matrix_unit}


def _family(unit: Unit) -> type[MatrixUnitConfig]:
    """What all configurations of a matrix unit have in common."""
    return cast("type[MatrixUnitConfig]", unit.config)


def choose_unit(options: RunOptions, mode: str | None) -> UnitChoice:
    """Check what the command line says about the unit; UserError if it cannot be run.

    ``mode`` is the operation, one of m3xu's modes or a semiring; None: products in fp32, or in
    the one format that the unit has.
    """
    unit, backend = options.unit, options.backend
    known = _matrix_units()
    if unit not in known:
        raise UserError(f"unit must be one of {', '.join(known)}, not {unit!r}")
    family = _family(known[unit])
    mode = mode or family.default_product
    if not any(mode in _family(other).known_operations for other in known.values()):
        raise UserError(f"mode must be one of {', '.join(family.products)}, not {mode!r}")
    if backend not in ("rtl", "model"):
        raise UserError(f"backend must be rtl or model, not {backend!r}")
    config: Any = read_config(known[unit], options.config_file, options.settings or ())
    if mode not in config.operations:
        built_with = ", ".join(config.operations)
        raise UserError(f"mode must be one that {unit} is built with ({built_with}), not {mode!r}")
    if getattr(config, "sparsity", "none") != "none":
        raise UserError(f"`sparsity` must be none to run matrices, not {config.sparsity!r}")
    if options.waves:
        check_output(options.waves, (".vcd",))
        if backend != "rtl":
            raise UserError(
                f"{options.waves}: waves come from the rtl backend only, not from {backend}"
            )
    if options.json_file:
        check_output(options.json_file, (".json",))
    if backend == "rtl":
        with user_errors(ToolMissing):
            require_tools()
    return UnitChoice(
        chosen=known[unit],
        config=config,
        mode=mode,
        backend="rtl" if backend == "rtl" else "model",
        waves=options.waves,
        json_file=options.json_file,
    )


def choose_product_unit(options: RunOptions, mode: str | None) -> UnitChoice:
    """As `choose_unit`, for sums of products only."""
    unit = _matrix_units().get(options.unit)
    if unit is not None and mode is not None:
        config: Any = read_config(unit, options.config_file, options.settings or ())
        products = [name for name in config.products if name in config.operations]
        if products and mode not in products:
            allowed = ("one of " if len(products) > 1 else "") + ", ".join(products)
            raise UserError(f"mode must be {allowed} for products on {unit.name}, not {mode!r}")
    return choose_unit(options, mode)


def choose_semiring_unit(options: RunOptions, app: str, operation: str) -> UnitChoice:
    """As `choose_unit`, for an application that needs a semiring, and its padding."""
    units = {
        name: unit
        for name, unit in _matrix_units().items()
        if operation in _family(unit).known_operations
    }
    if options.unit not in units:
        raise UserError(
            f"unit must be one that computes {operation} for {app} ({', '.join(units)}), "
            f"not {options.unit!r}"
        )
    config: Any = read_config(units[options.unit], options.config_file, options.settings or ())
    if operation not in config.operations:
        built_with = ",".join(config.operations)
        raise UserError(f"`ops` must include {operation} for {app}, not {built_with!r}")
    if config.operations[operation].padding is None:
        raise UserError(
            f"`format` must be one with infinities for {app}, which pads with them, "
            f"not {config.format!r}"
        )
    return choose_unit(options, operation)


@contextmanager
def product_unit(choice: UnitChoice, operations: int) -> Iterator[tuple[Multiply, Tally]]:
    """A function that multiplies on the chosen unit, and the tally it keeps.

    Takes at most as many operations as are announced; shows their progress on a terminal.
    """
    if choice.waves and operations > LONGEST_WAVES:
        raise UserError(
            f"{choice.waves}: waves are for runs of at most {LONGEST_WAVES} operations, "
            f"not {operations}"
        )
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeRemainingColumn(), console=console, transient=True,
        disable=not console.is_terminal,
    ) as bar:  # fmt: skip
        task = bar.add_task(f"building {choice.unit}", total=None)
        product = _product(choice)
        bar.update(task, description="operations", total=operations)

        def multiply(a: Words, b: Words, c: Words | None = None) -> Words:
            return product.multiply(a, b, c, progress=lambda done: bar.advance(task, done))

        try:
            yield multiply, product.tally
        finally:
            product.close()


def _product(choice: UnitChoice) -> TiledProduct:
    try:
        return TiledProduct(
            choice.chosen, choice.config, choice.mode, backend=choice.backend, waves=choice.waves
        )
    except ToolMissing as error:
        raise UserError(str(error)) from None
    except BuildError as error:
        said = " ".join(line.strip() for line in str(error).splitlines()[:3])
        raise UserError(f"{choice.unit} could not be built for simulation: {said}") from None
    except ValueError as error:
        raise UserError(f"{choice.unit}: {error}") from None
