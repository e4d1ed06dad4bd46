"""The matrix unit that dense products run on, alone or in a tile engine: options, and checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

import typer

from ....choices import a_matrix_unit
from ....errors import UserError
from ....hw.spec.engine import UNITS, EngineConfig
from ....hw.spec.host.words import not_one_of
from ....hw.spec.matrix_unit import MatrixUnitConfig
from ....hw.spec.unit import Unit
from ....registry import entries
from ....settings import read_config
from ....wave_file import check_wave_file
from ..options import PANEL, Choice, DeviceOptions, check_report_and_tools

if TYPE_CHECKING:
    from .matrix_unit_numbers import Numbers

__all__ = ["EngineChoice", "EngineOptions", "MatrixUnitOptions", "SemiringOptions", "UnitChoice",
           "choose_engine", "choose_product_unit", "choose_semiring_unit", "choose_unit",
           "refuse_values"]  # fmt: skip

EngineChoice = Choice[EngineConfig]
"""A tile engine, checked; ``memory`` is behind each manager."""

_PREFIX = "engine_"


@dataclass(frozen=True, kw_only=True)
class MatrixUnitOptions(DeviceOptions):
    """The matrix unit a computation runs on, how, and where the report goes."""

    shown: ClassVar[tuple[str, ...]] = (
        "unit", "config_file", "settings", "backend", "port", "baud", "waves", "json_file",
    )  # fmt: skip

    unit: Annotated[
        str,
        typer.Option(
            "--unit",
            help="Matrix unit; see `tilewright list`.",
            rich_help_panel=PANEL,
            autocompletion=a_matrix_unit,
        ),
    ] = "m3xu"
    backend: Annotated[
        str,
        typer.Option(
            "--backend",
            help="rtl: simulate the Verilog and check it against the model; model: the model "
            "alone; board: an engine on a board, with --on engine and --port.",
            rich_help_panel=PANEL,
        ),
    ] = "rtl"
    waves: Annotated[
        Path | None,
        typer.Option(
            "--waves", help="Write the waves of a short run, .vcd or .fst.", rich_help_panel=PANEL
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class EngineOptions(MatrixUnitOptions):
    """Options like `MatrixUnitOptions`, for the matrix unit alone or the engine around it."""

    shown: ClassVar[tuple[str, ...]] = (*MatrixUnitOptions.shown, "on", "memory", "gigahertz")

    on: Annotated[
        str,
        typer.Option(
            help="unit: the matrix unit alone; engine: the tile engine around it, with memory; "
            "then --set and --config apply to the engine, and --backend may be cycles: times "
            "without values, at any size.",
            rich_help_panel=PANEL,
        ),
    ] = "unit"


@dataclass(frozen=True, kw_only=True)
class SemiringOptions(EngineOptions):
    """Options like `EngineOptions`, for the semiring unit."""

    unit: Annotated[
        str, typer.Option("--unit", help="Matrix unit with semirings.", rich_help_panel=PANEL)
    ] = "simd2"


@dataclass(frozen=True, kw_only=True)
class UnitChoice(Choice[MatrixUnitConfig]):
    """The unit an application runs on and the operation it uses, checked.

    ``unit`` is the matrix unit, or the engine around it, which is chosen then, too; ``config`` is
    that of the matrix unit.
    """

    mode: str
    waves: Path | None
    engine: EngineChoice | None = None

    @property
    def numbers(self) -> Numbers:
        """Number formats of the operation's operands and results."""
        from .matrix_unit_numbers import numbers_of

        return numbers_of(self.config, self.mode)

    def operations(self, batch: int, shape: tuple[int, int, int]) -> int:
        """Operations of a batch of products of shape (rows of a, depth, columns of b)."""
        from .matrix_unit_products import operation_count

        return operation_count(self.config, self.mode, batch, shape)


def _engine_asked_for(options: MatrixUnitOptions) -> Unit | None:
    """The engine around the unit that options name; None: the matrix unit alone.

    Raises UserError for a unit that no engine is built around.
    """
    on = options.on if isinstance(options, EngineOptions) else "unit"
    if on not in ("unit", "engine"):
        raise UserError(f"--on must be unit or engine, not {on!r}")
    if on == "unit":
        return None
    engines = {engine.name.removeprefix(_PREFIX): engine for engine in UNITS}
    if options.unit not in engines:
        raise UserError(not_one_of("unit", engines, options.unit, " with --on engine"))
    return engines[options.unit]


def choose_engine(options: MatrixUnitOptions) -> EngineChoice | None:
    """The engine that options ask for; None: the matrix unit alone.

    Raises UserError for what cannot be.
    """
    unit = _engine_asked_for(options)
    if unit is None or not isinstance(options, EngineOptions):
        _check_alone(options)
        return None
    device = options.checked()
    if options.waves:
        raise UserError(f"{options.waves}: waves are not written with --on engine")
    config: Any = read_config(unit, options.config_file, options.settings or ())
    return EngineChoice(unit=unit, config=config, **device)


def refuse_values(asked: Mapping[str, object]) -> None:
    """Refuse options, by name, that need the values of a result, which cycles alone have not."""
    for name, given in asked.items():
        if given is not None:
            raise UserError(
                f"{name} must come with a backend that computes values, rtl or model, not with "
                f"cycles"
            )


def _check_alone(options: MatrixUnitOptions) -> None:
    """Refuse what only counts on the engine."""
    for name in ("memory", "gigahertz"):
        given = getattr(options, name, None)
        if given is not None:
            raise UserError(
                f"--{name} is of a cycle model: it must come with --on engine, not alone, "
                f"as {given!r}"
            )
    if options.wire is not None:
        raise UserError("--backend board needs an accelerator: --on engine")
    if options.backend == "cycles" and isinstance(options, EngineOptions):
        raise UserError("backend must be rtl or model without --on engine, not 'cycles'")


def _matrix_units() -> dict[str, Unit]:
    return {name: entry.unit for name, entry in entries().items() if entry.matrix_unit}


def _family(unit: Unit) -> type[MatrixUnitConfig]:
    """Returns the class of all configurations of a matrix unit."""
    return cast("type[MatrixUnitConfig]", unit.config)


def choose_unit(
    options: MatrixUnitOptions, mode: str | None, *, others: tuple[str, ...] = ()
) -> UnitChoice:
    """Check what the command line says about the unit; UserError if it cannot be run.

    ``mode`` is the operation, one of m3xu's modes or a semiring; None: products in fp32, or in
    the one format that the unit has. ``others`` are units that the command takes besides.
    """
    unit, backend = options.unit, options.backend
    _engine_asked_for(options)  # which knows fewer units
    known = _matrix_units()
    if unit not in known:
        raise UserError(not_one_of("unit", (*known, *others), unit))
    family = _family(known[unit])
    mode = mode or family.default_product
    if not any(mode in _family(other).known_operations for other in known.values()):
        raise UserError(not_one_of("mode", family.products, mode))
    config, engine = _configured(options)
    if mode not in config.operations:
        built_with = ", ".join(config.operations)
        raise UserError(f"mode must be one that {unit} is built with ({built_with}), not {mode!r}")
    if getattr(config, "sparsity", "none") != "none":
        raise UserError(f"`sparsity` must be none to run matrices, not {config.sparsity!r}")
    if options.waves:
        check_wave_file(options.waves)
        if backend != "rtl":
            raise UserError(
                f"{options.waves}: waves come from the rtl backend only, not from {backend}"
            )
    check_report_and_tools(options.json_file, backend, options.wire)
    return UnitChoice(
        unit=engine.unit if engine else known[unit],
        config=config,
        backend=backend,
        json_file=options.json_file,
        wire=options.wire,
        mode=mode,
        waves=options.waves,
        engine=engine,
    )


def _configured(options: MatrixUnitOptions) -> tuple[Any, EngineChoice | None]:
    """The configuration of the matrix unit, and the engine around it, if one is asked for."""
    engine = choose_engine(options)
    if engine:
        return engine.config.unit, engine
    if options.backend not in ("rtl", "model"):
        raise UserError(not_one_of("backend", ("rtl", "model"), options.backend))
    unit = _matrix_units()[options.unit]
    return read_config(unit, options.config_file, options.settings or ()), None


def choose_product_unit(
    options: MatrixUnitOptions, mode: str | None, *, others: tuple[str, ...] = ()
) -> UnitChoice:
    """Chooses as `choose_unit` does, for sums of products only."""
    unit = _matrix_units().get(options.unit)
    if unit is not None and mode is not None:
        config, _ = _configured(options)
        products = [name for name in config.products if name in config.operations]
        if products and mode not in products:
            refusal = not_one_of("mode", products, mode, f" for products on {unit.name}")
            known = _family(unit).known_operations
            raise UserError(refusal + ("" if mode in known else _format_hint(mode, unit)))
    return choose_unit(options, mode, others=others)


def _format_hint(word: str, chosen: Unit) -> str:
    """Returns a hint for a number format that was given as a mode: the unit with that parameter."""
    for unit in _matrix_units().values():
        for one in unit.config.parameters():
            if one.name == "format" and word in getattr(one.metadata["allowed"], "words", ()):
                choice = "" if unit is chosen else f"--unit {unit.name} "
                return f"; {choice}--set format={word} has that format"
    return ""


def choose_semiring_unit(options: MatrixUnitOptions, app: str, operation: str) -> UnitChoice:
    """Chooses as `choose_unit` does, for an application that needs a semiring, and its padding."""
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
    config, _ = _configured(options)
    if operation not in config.operations:
        built_with = ",".join(config.operations)
        raise UserError(f"`ops` must include {operation} for {app}, not {built_with!r}")
    if config.operations[operation].padding is None:
        raise UserError(
            f"`format` must be one with infinities for {app}, which pads with them, "
            f"not {config.format!r}"
        )
    return choose_unit(options, operation)
