"""The matrix unit that a computation runs on, as the command line has it, checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from ...errors import UserError
from ...hw.spec.host.words import not_one_of
from ...hw.spec.matrix_unit import MatrixUnitConfig
from ...hw.spec.unit import Unit
from ...registry import entries
from ...settings import read_config
from ...wave_file import check_wave_file
from ..common.options import RunOptions, check_report_and_tools
from ..engine.options import EngineSetting, choose_engine, engine_asked_for

if TYPE_CHECKING:
    from .operands import Numbers

__all__ = [
    "Backend",
    "UnitChoice",
    "choose_product_unit",
    "choose_semiring_unit",
    "choose_unit",
]

Backend = Literal["rtl", "cycles", "model"]


@dataclass(frozen=True, kw_only=True)
class UnitChoice:
    """The unit an application runs on and the operation it uses, checked.

    ``chosen`` is the matrix unit, or the engine around it, which has a setting then; ``config`` is
    that of the matrix unit.
    """

    chosen: Unit
    config: MatrixUnitConfig
    mode: str
    backend: Backend
    waves: Path | None
    json_file: Path | None
    engine: EngineSetting | None = None

    @property
    def unit(self) -> str:
        """The unit's name."""
        return self.chosen.name

    @property
    def numbers(self) -> Numbers:
        """What the operation takes and gives."""
        from .operands import numbers_of

        return numbers_of(self.config, self.mode)

    def operations(self, batch: int, shape: tuple[int, int, int]) -> int:
        """Operations of a batch of products of shape (rows of a, depth, columns of b)."""
        from .tiles import operation_count

        return operation_count(self.config, self.mode, batch, shape)


def _matrix_units() -> dict[str, Unit]:
    return {name: entry.unit for name, entry in entries().items() if entry.matrix_unit}


def _family(unit: Unit) -> type[MatrixUnitConfig]:
    """What all configurations of a matrix unit have in common."""
    return cast("type[MatrixUnitConfig]", unit.config)


def choose_unit(
    options: RunOptions, mode: str | None, *, others: tuple[str, ...] = ()
) -> UnitChoice:
    """Check what the command line says about the unit; UserError if it cannot be run.

    ``mode`` is the operation, one of m3xu's modes or a semiring; None: products in fp32, or in
    the one format that the unit has. ``others`` are units that the command takes besides.
    """
    unit, backend = options.unit, options.backend
    engine_asked_for(options)  # which knows fewer units
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
    check_report_and_tools(options.json_file, backend)
    return UnitChoice(
        chosen=engine.unit if engine else known[unit],
        config=config,
        mode=mode,
        backend=cast("Backend", backend),
        waves=options.waves,
        json_file=options.json_file,
        engine=engine,
    )


def _configured(options: RunOptions) -> tuple[Any, EngineSetting | None]:
    """The configuration of the matrix unit, and the engine around it, if one is asked for."""
    engine = choose_engine(options)
    if engine:
        return engine.config.unit, engine
    if options.backend not in ("rtl", "model"):
        raise UserError(not_one_of("backend", ("rtl", "model"), options.backend))
    unit = _matrix_units()[options.unit]
    return read_config(unit, options.config_file, options.settings or ()), None


def choose_product_unit(
    options: RunOptions, mode: str | None, *, others: tuple[str, ...] = ()
) -> UnitChoice:
    """As `choose_unit`, for sums of products only."""
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
    """How to get a number format that was given as a mode, where it is a parameter of a unit."""
    for unit in _matrix_units().values():
        for one in unit.config.parameters():
            if one.name == "format" and word in getattr(one.metadata["allowed"], "words", ()):
                choice = "" if unit is chosen else f"--unit {unit.name} "
                return f"; {choice}--set format={word} has that format"
    return ""


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
