"""``tilewright run fir``: filters over a signal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...common.files import ARRAY_NAMES, check_output, check_readable
from ...common.first_lines import check_first_lines
from ...common.units.gta import ScheduleOptions
from ..choice import GtaOptions, choose_gta

__all__ = ["fir"]


def fir(
    signal: Annotated[
        Path,
        typer.Argument(
            metavar="SIGNAL", help=f"Samples, or samples x channels, .wav, {ARRAY_NAMES}."
        ),
    ],
    taps: Annotated[
        Path,
        typer.Argument(metavar="TAPS", help=f"Taps of a filter, or taps x filters, {ARRAY_NAMES}."),
    ],
    saturate: Annotated[
        bool,
        typer.Option("--saturate", help="Clamp sums to 32 bits; without it they are modulo 2^32."),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Sums (sample, channel, filter), .npy or .npz."),
    ] = None,
    *,
    how: ScheduleOptions,
    options: GtaOptions,
) -> None:
    """Filter a signal of int16 by finite impulse responses on GTA.

    The first tap is that of the newest sample. Samples before the signal are zeros. The sums are
    checked against NumPy.
    """
    choice = choose_gta(options, "int16", how=how)
    if output:
        check_output(output, (".npy", ".npz"))
    if signal.suffix.lower() == ".wav":
        check_readable(signal)
    else:
        check_first_lines(signal)
    check_first_lines(taps)
    from ..fir import filter_signal

    filter_signal(choice, signal, taps, saturate, output)
