"""``tilewright run vector``: operations on vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ...common.files import ARRAY_NAMES, check_output
from ...common.first_lines import check_first_lines
from ..choice import VectorOptions, choose_gta
from ..vector_functions import SLIDES, check_function

__all__ = ["vector"]


def vector(
    function: Annotated[
        str,
        typer.Argument(
            metavar="FUNCTION",
            help="add, sub, mul, mulh, fma, min, max, sll, srl, sra, eq, ne, lt, le, select, "
            "slide_up, slide_down, reduce_sum, reduce_min or reduce_max.",
        ),
    ],
    a: Annotated[Path, typer.Argument(metavar="A", help=f"Numbers, {ARRAY_NAMES}.")],
    b: Annotated[
        Path | None, typer.Argument(metavar="B", help="As many numbers as A, or one.")
    ] = None,
    c: Annotated[
        Path | None, typer.Argument(metavar="C", help="As many numbers as A, or one.")
    ] = None,
    mode: Annotated[
        str, typer.Option("--mode", "--format", metavar="FORMAT", help="Format of all numbers.")
    ] = "fp32",
    places: Annotated[
        int | None,
        typer.Option(min=0, help="Places that slide_up and slide_down move by; default: 1."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the result, .npy or .npz.")
    ] = None,
    *,
    options: VectorOptions,
) -> None:
    """Compute with vectors on GTA, element by element, or reduce them.

    Checked against NumPy where it computes the same, and on the RTL against the model, bit for bit.
    """
    files = [file for file in (a, b, c) if file]
    choice = choose_gta(options, mode)
    check_function(function, mode, len(files))
    if places is not None and function not in SLIDES:
        raise UserError(f"--places must come with {' or '.join(SLIDES)}, not with {function}")
    if output:
        check_output(output, (".npy", ".npz"))
    for file in files:
        check_first_lines(file)
    from ..vector import compute_vectors

    compute_vectors(choice, function, files, 1 if places is None else places, output)
