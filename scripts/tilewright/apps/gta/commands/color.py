"""``tilewright run color``: a picture from sRGB to XYZ."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ...common.files import check_installed, check_output, check_readable
from ...common.units.gta import ScheduleOptions
from ..choice import GtaOptions, choose_gta

__all__ = ["MODES", "PICTURES", "color"]

MODES = ("int8", "int16", "bf16", "fp16", "fp32", "fp64")
PICTURES = (".png", ".ppm", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff")


def color(
    picture: Annotated[
        Path | None,
        typer.Argument(help="Picture (PNG, PPM, JPEG, ...), RGB of 8 bits; default: a photograph."),
    ] = None,
    mode: Annotated[
        str, typer.Option(help=f"Format: {', '.join(MODES[:-1])} or {MODES[-1]}.")
    ] = "int8",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="XYZ (row, column, 3), .npy or .npz."),
    ] = None,
    *,
    how: ScheduleOptions,
    options: GtaOptions,
) -> None:
    """Convert a picture from sRGB to XYZ on GTA.

    Without a picture it is the sample photograph that ships with scikit-learn (427 x 640). Light
    comes from a table, the product with the matrix from GTA, checked against NumPy.
    """
    choice = choose_gta(options, mode, MODES, how=how)
    if output:
        check_output(output, (".npy", ".npz"))
    if picture is None:
        check_installed("sklearn.datasets", "scikit-learn")
    else:
        if picture.suffix.lower() not in PICTURES:
            raise UserError(f"{picture}: must end in {', '.join(PICTURES[:-1])} or {PICTURES[-1]}, "
                            f"not {picture.suffix!r}")  # fmt: skip
        check_installed("PIL.Image", "Pillow")
        check_readable(picture)
    from ..color import convert_picture

    convert_picture(choice, picture, output)
