"""What users may say about a tensor unit, and the checks on it."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Annotated

import typer

from ...errors import UserError
from ...hw.spec.unit import named_object
from ...numbers_given import real, whole
from ..common.files import check_output
from ..common.options import PANEL, ConfigOption, JsonOption, SettingsOption, named_parameters

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
]

BACKENDS = {"numpy": "tilewright.apps.tcu.backends.reference:numpy_backend"}
"""From a `TcuChoice` to a backend, by name."""

PRESETS = {
    "tpu": "tilewright.sim.tcu.presets:TPU",
    "volta": "tilewright.sim.tcu.presets:VOLTA",
}
"""Units of the paper, by name."""

LARGEST_M = 1 << 24
"""A block of as many words is the largest that a backend is asked for."""

UnitSizeOption = Annotated[
    int,
    typer.Option(
        "--m",
        parser=whole("--m", 1, LARGEST_M),
        metavar="M",
        help="Words of the block that the unit holds, a square: 256 is 16 x 16.",
        rich_help_panel=PANEL,
    ),
]
LatencyOption = Annotated[
    float,
    typer.Option(
        "--l",
        parser=real("--l", 0, 10**15),
        metavar="L",
        help="Latency of a call, in the time of a word.",
        rich_help_panel=PANEL,
    ),
]
WeakOption = Annotated[
    bool,
    typer.Option(
        "--weak", help="Left operands are square, as right ones are.", rich_help_panel=PANEL
    ),
]


@dataclass(frozen=True, kw_only=True)
class TcuOptions:
    """The unit that an algorithm runs on, and where the report goes."""

    backend: Annotated[
        str,
        typer.Option(help="What multiplies: numpy, the reference.", rich_help_panel=PANEL),
    ] = "numpy"
    m: UnitSizeOption = 256
    latency: LatencyOption = 0
    weak: WeakOption = False
    config_file: ConfigOption = None
    settings: SettingsOption = None
    json_file: JsonOption = None


@dataclass(frozen=True, kw_only=True)
class TcuChoice:
    """The unit, checked.

    Parameters
    ----------
    backend: one of ``BACKENDS``
    side: s, of blocks
    latency: l
    weak: whether left operands are square
    """

    backend: str
    side: int
    latency: float
    weak: bool
    json_file: Path | None


def choose_tcu(options: TcuOptions) -> TcuChoice:
    """Check what the command line says about the unit. Raises UserError for what cannot be run."""
    if options.backend not in BACKENDS:
        raise UserError(f"backend must be one of {', '.join(BACKENDS)}, not {options.backend!r}")
    for name in named_parameters(options.config_file, options.settings or ()):
        raise UserError(f"numpy: unknown parameter `{name}`; it has none, but for --m and --l")
    side = side_given(options.m)
    if options.json_file:
        check_output(options.json_file, (".json",))
    return TcuChoice(
        backend=options.backend,
        side=side,
        latency=whole_if_so(options.latency),
        weak=options.weak,
        json_file=options.json_file,
    )


def preset_named(name: str) -> tuple[int, float]:
    """m and l of a unit of the paper. Raises UserError if there is none of the name."""
    if name not in PRESETS:
        raise UserError(f"--preset must be one of {', '.join(PRESETS)}, not {name!r}")
    preset = named_object(PRESETS[name])
    return preset.m, preset.latency


def side_given(m: int) -> int:
    """The side of a unit of ``m`` words; UserError if it has none."""
    side = isqrt(m)
    if side * side != m:
        raise UserError(
            f"--m must be a square, as {side * side} and {(side + 1) ** 2} are, not {m}"
        )
    return side


def whole_if_so(number: float) -> float:
    """A latency as an int if it is one, so that times are whole and exact."""
    return int(number) if number == int(number) else number
