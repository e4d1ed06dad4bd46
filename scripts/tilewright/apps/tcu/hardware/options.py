"""Defines and checks the options of the multiplier, which all backends share."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ....errors import UserError, user_errors
from ....hw.spec.config import unknown_parameter
from ....hw.spec.host.words import not_one_of
from ....hw.spec.unit import named_object
from ....numbers_given import whole
from ....sim.rtl.toolchain import ToolMissing, require_tools
from ....sim.timing.memories import MEMORIES, MemoryModel
from ...common.files import check_output
from ...common.options import (
    GIGAHERTZ,
    PANEL,
    ConfigOption,
    JsonOption,
    SettingsOption,
    choose_memory,
    gigahertz_option,
    named_parameters,
)

__all__ = ["BACKENDS", "HardwareChoice", "HardwareOptions", "UnitSizeOption", "choose_hardware",
           "side_given"]  # fmt: skip


class BackendRow(NamedTuple):
    """A row.

    Parameters
    ----------
    open: ``module:function`` from a choice, checked, to a backend
    sides: of blocks that it has; empty if any
    unit: ``module:UNIT`` whose parameters may be set; empty of no hardware
    fixed: those of them that words and ``--m`` decide
    memory: whether it has one
    """

    open: str
    sides: tuple[int, ...] = ()
    unit: str = ""
    fixed: tuple[str, ...] = ()
    memory: bool = False


_UNITS = "tilewright.apps.tcu.backends.matrix_units"
_ENGINES = "tilewright.apps.tcu.backends.engine"

BACKENDS = {
    "numpy": BackendRow(f"{_UNITS}:numpy_backend"),
    "simd2": BackendRow(
        f"{_UNITS}:unit_backend",
        sides=(4, 8, 16),
        unit="tilewright.hw.spec.simd2:SIMD2",
        fixed=("tile", "format", "accumulator", "ops", "sparsity"),
    ),
    "m3xu": BackendRow(
        f"{_UNITS}:unit_backend",
        sides=(4, 8, 16),
        unit="tilewright.hw.spec.m3xu:M3XU",
        fixed=("rows", "cols", "depth", "modes"),
    ),
    "engine": BackendRow(
        f"{_ENGINES}:engine_backend",
        sides=(4, 8, 16, 32, 64),
        unit="tilewright.hw.spec.engine:ENGINE_SIMD2",
        fixed=("tile", "format", "accumulator", "ops"),
        memory=True,
    ),
    "engine_m3xu": BackendRow(
        f"{_ENGINES}:engine_backend",
        sides=(4, 8, 16, 32, 64),
        unit="tilewright.hw.spec.engine:ENGINE_M3XU",
        fixed=("rows", "cols", "depth", "modes"),
        memory=True,
    ),
    "gta": BackendRow(
        "tilewright.apps.tcu.backends.gta:gta_backend",
        sides=(4, 8, 16, 32, 64),
        unit="tilewright.hw.spec.gta:GTA",
        fixed=("formats",),
        memory=True,
    ),
}
"""Backends by name."""


LARGEST_M = 1 << 24
"""A block of as many words is the largest that a backend is asked for."""

UnitSizeOption = Annotated[
    int,
    typer.Option(
        "--m",
        parser=whole("--m", 1, LARGEST_M),
        metavar="M",
        help="Words of the square block that the unit holds: 256 for 16 x 16.",
        rich_help_panel=PANEL,
    ),
]


@dataclass(frozen=True, kw_only=True)
class HardwareOptions:
    """The unit, and where the report goes."""

    m: UnitSizeOption = 256
    rtl: Annotated[
        bool,
        typer.Option(
            "--rtl",
            help="Simulate the Verilog of the backend and check it against the model.",
            rich_help_panel=PANEL,
        ),
    ] = False
    memory: Annotated[
        str | None,
        typer.Option(
            help=f"Memory in the cycle model of an engine: {', '.join(MEMORIES)}; default flat.",
            rich_help_panel=PANEL,
        ),
    ] = None
    gigahertz: Annotated[float | None, gigahertz_option()] = None
    config_file: ConfigOption = None
    settings: SettingsOption = None
    json_file: JsonOption = None


@dataclass(frozen=True, kw_only=True)
class HardwareChoice:
    """The unit, checked.

    Parameters
    ----------
    backend: one of ``BACKENDS``
    side: s, of blocks
    rtl: whether its Verilog is simulated
    memory, gigahertz: behind an engine, and its clock
    config_file, settings: of parameters, whose names are checked
    """

    backend: str
    side: int
    rtl: bool
    memory: MemoryModel
    gigahertz: float
    config_file: Path | None
    settings: tuple[str, ...]
    json_file: Path | None


def choose_hardware(backend: str, options: HardwareOptions) -> dict[str, Any]:
    """The fields of a `HardwareChoice`. Raises UserError for what cannot be run."""
    if backend not in BACKENDS:
        raise UserError(not_one_of("backend", BACKENDS, backend))
    row = BACKENDS[backend]
    _check_parameters(backend, options)
    side = side_given(options.m)
    if row.sides and side not in row.sides:
        allowed = ", ".join(str(each * each) for each in row.sides)
        raise UserError(f"--m must be one of {allowed} with backend {backend}, not {options.m}")
    if options.rtl and not row.unit:
        raise UserError(f"--rtl must come with a backend of hardware, not with {backend}")
    memory = _memory(backend, options)
    if options.json_file:
        check_output(options.json_file, (".json",))
    if options.rtl:
        with user_errors(ToolMissing):
            require_tools()
    return {
        "backend": backend, "side": side, "rtl": options.rtl, "memory": memory,
        "gigahertz": GIGAHERTZ if options.gigahertz is None else options.gigahertz,
        "config_file": options.config_file, "settings": tuple(options.settings or ()),
        "json_file": options.json_file,
    }  # fmt: skip


def _memory(backend: str, options: HardwareOptions) -> MemoryModel:
    """Returns the memory of an engine. Raises UserError for invalid options, or if they are given
    without an engine."""
    if not BACKENDS[backend].memory:
        having = ", ".join(name for name, row in BACKENDS.items() if row.memory)
        for name, given in (("--memory", options.memory), ("--gigahertz", options.gigahertz)):
            if given is not None:
                raise UserError(
                    f"{name} must come with a backend that has one ({having}), not with {backend}"
                )
    return choose_memory(
        options.memory or "flat", "rtl" if options.rtl else "cycles", options.gigahertz
    )


def _check_parameters(backend: str, options: HardwareOptions) -> None:
    """Names only: values depend on each other, and on words."""
    row = BACKENDS[backend]
    unit = named_object(row.unit) if row.unit else None
    known = [item.name for item in unit.config.parameters()] if unit else []
    free = [name for name in known if name not in row.fixed]
    for name in named_parameters(options.config_file, options.settings or ()):
        if not known:
            raise UserError(f"{backend}: unknown parameter {name!r}; it has none, but for --m "
                            f"and --l")  # fmt: skip
        if name in row.fixed:
            raise UserError(f"{backend}: `{name}` must be left out, as --m and words decide it")
        if unit and name not in free:
            raise UserError(f"{backend}: {unknown_parameter(name, free, unit.name)}")


def side_given(m: int) -> int:
    """The side of a unit of ``m`` words; UserError if it has none."""
    side = isqrt(m)
    if side * side != m:
        raise UserError(
            f"--m must be a square, as {side * side} and {(side + 1) ** 2} are, not {m}"
        )
    return side
