"""What users may say about a tensor unit, and the checks on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from ...errors import UserError
from ...hw.spec.host.words import not_one_of
from ...hw.spec.unit import named_object
from ...numbers_given import real
from ..common.options import PANEL
from .hardware.backend_rows import BACKENDS
from .hardware.options import (
    HardwareChoice,
    HardwareOptions,
    UnitSizeOption,
    choose_hardware,
    side_given,
)

__all__ = [
    "BACKENDS",
    "PRESETS",
    "LatencyOption",
    "TcuChoice",
    "TcuOptions",
    "UnitSizeOption",
    "WeakOption",
    "choose_tcu",
    "preset_named",
    "side_given",
    "whole_if_so",
]

PRESETS = {
    "tpu": "tilewright.sim.tcu.presets:TPU",
    "volta": "tilewright.sim.tcu.presets:VOLTA",
}
"""Units of the paper, by name."""

_LATENCY = real("--l", 0, 10**15)

LatencyOption = Annotated[
    float,
    typer.Option(
        "--l",
        parser=_LATENCY,
        metavar="L",
        help="Latency of a call, in the time of a word.",
        rich_help_panel=PANEL,
    ),
]
WeakOption = Annotated[
    bool,
    typer.Option(
        "--weak", help="Left operands must be square, like right ones.", rich_help_panel=PANEL
    ),
]


@dataclass(frozen=True, kw_only=True)
class TcuOptions(HardwareOptions):
    """The unit that an algorithm runs on, and where the report goes."""

    backend: Annotated[
        str,
        typer.Option(
            help=f"What multiplies: {', '.join(BACKENDS)}; numpy is the reference.",
            rich_help_panel=PANEL,
        ),
    ] = "numpy"
    latency: Annotated[
        float | None,
        typer.Option(
            "--l",
            parser=_LATENCY,
            metavar="L",
            help="Latency of a call, in the time of a word; default: as calibrated, 0 of numpy.",
            rich_help_panel=PANEL,
        ),
    ] = None
    weak: WeakOption = False
    limbs: Annotated[
        bool,
        typer.Option(
            "--limbs",
            help="Split integers or residues into limbs of 8 bits, for a unit of narrow words.",
            rich_help_panel=PANEL,
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class TcuChoice(HardwareChoice):
    """The unit, checked.

    Parameters
    ----------
    latency: l; None: the backend's
    weak: whether left operands are square
    limbs: whether words are cut into limbs of 8 bits
    """

    latency: float | None
    weak: bool
    limbs: bool


def choose_tcu(options: TcuOptions) -> TcuChoice:
    """Check what the command line says about the unit. Raises UserError for what cannot be run."""
    return TcuChoice(
        **choose_hardware(options.backend, options),
        latency=None if options.latency is None else whole_if_so(options.latency),
        weak=options.weak,
        limbs=options.limbs,
    )


def preset_named(name: str) -> tuple[int, float]:
    """m and l of a unit of the paper. Raises UserError if there is none of the name."""
    if name not in PRESETS:
        raise UserError(not_one_of("--preset", PRESETS, name))
    preset = named_object(PRESETS[name])
    return preset.m, preset.latency


def whole_if_so(number: float) -> float:
    """A latency as an int if it is one, so that times are whole and exact."""
    return int(number) if number == int(number) else number
