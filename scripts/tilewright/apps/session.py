"""What every application does around its products: choose the unit, simulate, show progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ..errors import UserError
from ..hw.catalogue import UNITS
from ..hw.spec.m3xu import MODES, BaselineConfig, M3xuConfig, MatrixUnitConfig, WideConfig
from ..settings import read_config
from ..verif.native import BuildError, ToolMissing
from .files import check_output
from .operands import Rounded
from .tiled_product import Backend, Tally, TiledProduct

__all__ = ["Multiply", "UnitChoice", "choose_unit", "need", "product_unit", "warn_rounding"]

Words = NDArray[np.uint64]
Multiply = Callable[..., Words]
_MATRIX_UNITS = (M3xuConfig, BaselineConfig, WideConfig)
LONGEST_WAVES = 2_000
"""Operations of the longest run that may be traced: a wave file grows by tens of kB for each."""


@dataclass(frozen=True, kw_only=True)
class UnitChoice:
    """The unit an application runs on, checked."""

    unit: str
    config: MatrixUnitConfig
    mode: str
    backend: Backend
    waves: Path | None


def choose_unit(
    unit: str,
    mode: str,
    *,
    config_file: Path | None = None,
    settings: Sequence[str] = (),
    backend: str = "rtl",
    waves: Path | None = None,
) -> UnitChoice:
    """Check what the command line says about the unit; UserError if it cannot be built."""
    names = [u.name for u in UNITS.values() if u.config in _MATRIX_UNITS]
    if unit not in names:
        raise UserError(f"unit must be one of {', '.join(names)}, not {unit!r}")
    if mode not in MODES:
        raise UserError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    if backend not in ("rtl", "model"):
        raise UserError(f"backend must be rtl or model, not {backend!r}")
    config = read_config(UNITS[unit], config_file, settings)
    assert isinstance(config, MatrixUnitConfig)
    modes: tuple[str, ...] = config.modes  # type: ignore[attr-defined]
    if mode not in modes:
        raise UserError(f"mode must be one that {unit} is built with ({', '.join(modes)}), "
                        f"not {mode!r}")  # fmt: skip
    if waves:
        check_output(waves, (".vcd",))
        if backend != "rtl":
            raise UserError(f"{waves}: waves come from the rtl backend only, not from {backend}")
    chosen: Backend = "rtl" if backend == "rtl" else "model"
    return UnitChoice(unit=unit, config=config, mode=mode, backend=chosen, waves=waves)


def need(module: str, package: str) -> Any:
    """A module that only some applications need; UserError that names the extra to install."""
    try:
        return import_module(module)
    except ImportError:
        raise UserError(
            f"{package} is not installed; it comes with the extra `apps`: "
            f"pip install 'tilewright[apps]'"
        ) from None


def warn_rounding(what: object, rounded: Rounded, mode: str) -> None:
    """Say on stderr what rounding to the format destroyed, if anything."""
    fmt, count = MODES[mode].element, rounded.values.size
    largest = np.ldexp(2.0 - 2.0**-fmt.fraction_bits, fmt.emax)
    if rounded.overflows:
        _warn(f"{what}: {rounded.overflows} of {count} values exceed the largest {fmt.name} value "
              f"{largest:.6g} and become infinite")  # fmt: skip
    if rounded.vanished:
        _warn(f"{what}: {rounded.vanished} of {count} values are too small for {fmt.name} and "
              f"become zero")  # fmt: skip
    special = int(np.count_nonzero(~np.isfinite(rounded.values))) - rounded.overflows
    if special > 0:
        _warn(f"{what}: {special} of {count} values are infinite or NaN")


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr)


@contextmanager
def product_unit(choice: UnitChoice, operations: int) -> Iterator[tuple[Multiply, Tally]]:
    """A function that multiplies on the chosen unit, and the tally it keeps.

    Takes as many operations as are announced; shows their progress on a terminal.
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
            choice.unit, choice.config, choice.mode, backend=choice.backend, waves=choice.waves
        )
    except ToolMissing as error:
        raise UserError(str(error)) from None
    except BuildError as error:
        said = " ".join(line.strip() for line in str(error).splitlines()[:3])
        raise UserError(f"{choice.unit} could not be built for simulation: {said}") from None
    except ValueError as error:
        raise UserError(f"{choice.unit}: {error}") from None
