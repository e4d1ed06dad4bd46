"""``tilewright run dft``: the discrete Fourier transform of a signal, by complex products."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....numbers_given import whole
from ...common.files import ARRAY_NAMES, check_installed, check_output
from ...common.first_lines import check_first_lines
from ...common.units.matrix_unit import MatrixUnitOptions, choose_unit

__all__ = ["dft"]

_MODE = "fp32c"


def dft(
    file: Annotated[
        Path | None,
        typer.Argument(help=f"Signal, {ARRAY_NAMES}; by default lines of a photograph."),
    ] = None,
    length: Annotated[
        int | None,
        typer.Option(
            parser=whole("--length"), metavar="N", help="Take this many samples from the start."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Spectrum, .npy or .npz.")
    ] = None,
    *,
    options: MatrixUnitOptions,
) -> None:
    """Fourier-transform a signal on a matrix unit by complex products (mode fp32c).

    The length's prime factors must not exceed the unit's rows. Without a file the signal is real
    data that ships with scikit-learn: eight scan lines, green, of its sample photograph.
    """
    choice = choose_unit(options, _MODE)
    if output:
        check_output(output, (".npy", ".npz"))
    if file:
        check_first_lines(file)
    else:
        check_installed("sklearn.datasets", "scikit-learn")
    from ..inputs import radices, read_signal

    name, signal = read_signal(file, length)
    factors = radices(len(signal), choice.config.rows)
    from ..dft import transform_signal

    transform_signal(choice, name, signal, factors, output)
