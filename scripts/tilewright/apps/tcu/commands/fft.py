"""``tilewright run fft``: the discrete Fourier transform of signals on a tensor unit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....hw.spec.host.words import not_one_of
from ....numbers_given import whole
from ...common.files import ARRAY_NAMES, check_output
from ...common.first_lines import check_first_lines
from ..options import TcuOptions, choose_tcu

__all__ = ["fft"]

_WORDS = ("fp32", "fp64", "complex64", "complex", "int64", "modular")
_OF_INTEGERS = ("modular", "int64")


def fft(
    signal: Annotated[
        Path,
        typer.Argument(metavar="SIGNAL", help=f"A signal, or signals as rows, {ARRAY_NAMES}."),
    ],
    inverse: Annotated[
        bool,
        typer.Option("--inverse", help="Compute the inverse transform, divided by the length."),
    ] = False,
    words: Annotated[
        str | None,
        typer.Option(
            help=f"{', '.join(_WORDS)} (the last two with --modulus); default: fp64, or complex "
            "for complex files."
        ),
    ] = None,
    modulus: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="A prime: the exact transform of integers modulo it, on modular words or int64.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help=f"Write the result, {ARRAY_NAMES}.")
    ] = None,
    *,
    options: TcuOptions,
) -> None:
    """Transform signals of any length on a tensor unit, one tall call per level of factors.

    The result is checked against NumPy, or, modulo a prime, against the definition.
    """
    choice = choose_tcu(options)
    if words is not None and words not in _WORDS:
        raise UserError(not_one_of("--words", _WORDS, words))
    prime = None if modulus is None else whole("--modulus", 2, 1 << 62)(modulus)
    if words in _OF_INTEGERS and prime is None:
        raise UserError(f"--words {words} must come with --modulus P, a prime")
    if prime is not None and words not in (None, *_OF_INTEGERS):
        allowed = " or ".join(_OF_INTEGERS)
        raise UserError(f"--modulus must come with --words {allowed}, or without, not with {words}")
    if choice.side < 2:
        raise UserError("--m must be 4 or more for transforms, not 1")
    if output:
        check_output(output)
    check_first_lines(signal)
    from ..transforms import transform_signals

    transform_signals(choice, signal, words, prime, inverse, output)
