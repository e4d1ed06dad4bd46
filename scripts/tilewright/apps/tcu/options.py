"""Defines the options of a tensor unit and its words, and checks them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ...errors import UserError
from ...hw.spec.host.words import not_one_of
from ...hw.spec.unit import named_object
from ...numbers_given import real, whole
from ..common.options import PANEL
from .hardware.options import (
    BACKENDS,
    HardwareChoice,
    HardwareOptions,
    choose_hardware,
)

__all__ = ["MODULAR", "PRESETS", "LatencyOption", "TcuChoice", "TcuOptions", "WeakOption",
           "check_factors", "check_squares", "choose_tcu", "modulus_given", "preset_named",
           "whole_if_so"]  # fmt: skip


Shapes = Sequence[tuple[Path, tuple[int, ...] | None]]


def check_factors(shapes: Shapes) -> None:
    """Raise UserError unless the second of two matrices has as many rows as the first columns, as
    far as shapes are known."""
    (left, of_left), (right, of_right) = shapes
    if of_left is not None and of_right is not None and of_left[1] != of_right[0]:
        raise UserError(
            f"{right}: must have {of_left[1]} rows, as {left} has columns, not {of_right[0]}"
        )


def check_squares(shapes: Shapes) -> None:
    """Raise UserError unless all matrices are square, of one side, as far as shapes are known."""
    known = [(path, shape) for path, shape in shapes if shape is not None]
    for path, (rows, cols) in known:
        if rows != cols:
            raise UserError(f"{path}: must be square, not {rows} x {cols}")
    for path, (rows, _) in known:
        first, (side, _) = known[0]
        if rows != side:
            raise UserError(f"{path}: must have {side} rows, as {first} has, not {rows}")


MODULAR = "modular"


def modulus_given(words: str | None, modulus: str | None) -> int | None:
    """P, of an option's text; None if words are others. Raises UserError for what does not go
    together."""
    number = None if modulus is None else whole("--modulus", 2, 1 << 62)(modulus)
    if words == MODULAR and number is None:
        raise UserError(f"--words {MODULAR} must come with --modulus P")
    if number is not None and words not in (None, MODULAR):
        raise UserError(f"--modulus must come with --words {MODULAR}, or without, not with {words}")
    return number


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
        "--weak", help="Require square left operands, as right ones are.", rich_help_panel=PANEL
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
            help="Latency of a call, in the time of a word; default: as calibrated; 0 for numpy.",
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
