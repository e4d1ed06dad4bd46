"""What users may say about the tile engine around the matrix unit, and the checks on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from ...errors import UserError
from ...hw.spec.engine import UNITS, EngineConfig
from ...hw.spec.host.words import not_one_of
from ...hw.spec.unit import Unit
from ...settings import read_config
from ...sim.timing.memories import MemoryModel
from ..common.options import PANEL, RunOptions, check_backend
from ..sparse.options import GIGAHERTZ, choose_memory, gigahertz_option, memory_option

__all__ = [
    "EngineOptions",
    "EngineSetting",
    "choose_engine",
    "engine_asked_for",
    "refuse_values",
]

_PREFIX = "engine_"


@dataclass(frozen=True, kw_only=True)
class EngineOptions(RunOptions):
    """As `RunOptions`, on the matrix unit alone or on the engine around it."""

    on: Annotated[
        str,
        typer.Option(
            help="unit: the matrix unit alone; engine: the tile engine around it, with memory; "
            "then --set and --config are about the engine, and --backend may be cycles: times "
            "without values, at any size.",
            rich_help_panel=PANEL,
        ),
    ] = "unit"
    memory: Annotated[str | None, memory_option(PANEL)] = None
    gigahertz: Annotated[float | None, gigahertz_option(PANEL)] = None


@dataclass(frozen=True, kw_only=True)
class EngineSetting:
    """An engine, checked. ``memory``: behind each manager, to the cycle model, whose clock is of
    so many ``gigahertz``."""

    unit: Unit
    config: EngineConfig
    memory: MemoryModel
    gigahertz: float


def engine_asked_for(options: RunOptions) -> Unit | None:
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


def choose_engine(options: RunOptions) -> EngineSetting | None:
    """The engine that options ask for; None: the matrix unit alone.

    Raises UserError for what cannot be.
    """
    unit = engine_asked_for(options)
    if unit is None or not isinstance(options, EngineOptions):
        _check_alone(options)
        return None
    check_backend(options.backend)
    memory = choose_memory(options.memory, options.backend, options.gigahertz)
    if options.waves:
        raise UserError(f"{options.waves}: waves are not written with --on engine")
    config: Any = read_config(unit, options.config_file, options.settings or ())
    return EngineSetting(
        unit=unit,
        config=config,
        memory=memory,
        gigahertz=GIGAHERTZ if options.gigahertz is None else options.gigahertz,
    )


def refuse_values(asked: Mapping[str, object]) -> None:
    """Refuse options, by name, that need the values of a result, which cycles alone have not."""
    for name, given in asked.items():
        if given is not None:
            raise UserError(
                f"{name} must come with a backend that computes values, rtl or model, not with "
                f"cycles"
            )


def _check_alone(options: RunOptions) -> None:
    """Refuse what only counts on the engine."""
    for name in ("memory", "gigahertz"):
        given = getattr(options, name, None)
        if given is not None:
            raise UserError(
                f"--{name} is of a cycle model: it must come with --on engine, not alone, "
                f"as {given!r}"
            )
    if options.backend == "cycles" and isinstance(options, EngineOptions):
        raise UserError("backend must be rtl or model without --on engine, not 'cycles'")
