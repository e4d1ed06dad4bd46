"""``tilewright tcu calibrate``: a backend of hardware as the model has it."""

from __future__ import annotations

from typing import Annotated

import typer

from ....errors import UserError
from ....hw.spec.host.words import not_one_of
from ..hardware.options import BACKENDS, HardwareChoice, HardwareOptions, choose_hardware

__all__ = ["calibrate"]

_WORDS = ("fp32", "fp64", "complex64", "int8", "int16", "int32", "int64", "boolean", "minplus")


def _a_backend() -> list[str]:
    return [name for name, row in BACKENDS.items() if row.unit]


def calibrate(
    backend: Annotated[
        str,
        typer.Argument(
            metavar="BACKEND",
            help=f"{', '.join(_a_backend())}.",
            autocompletion=_a_backend,
        ),
    ],
    words: Annotated[str, typer.Option(help=f"Number type: {', '.join(_WORDS)}.")] = "fp32",
    *,
    options: HardwareOptions,
) -> None:
    """Fit cycles = a n s + l to a backend's calls of n = s, 2 s, 4 s, ... 4096 rows.

    The fit is by least squares with l >= 0. Cycles come from the cycle model, or with --rtl from
    the Verilog.
    """
    if backend not in _a_backend():
        raise UserError(not_one_of("backend", _a_backend(), backend))
    choice = HardwareChoice(**choose_hardware(backend, options))
    if words not in _WORDS:
        raise UserError(not_one_of("--words", _WORDS, words))
    from ..hardware.calibration import calibrate_backend
    from ..unit import words_named

    calibrate_backend(choice, words_named(words))
