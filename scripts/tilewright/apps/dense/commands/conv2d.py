"""``tilewright run conv2d``: filters over a picture, as one matrix product."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....hw.spec.host.words import not_one_of
from ...common.files import PICTURES, check_installed, check_output
from ...common.first_lines import check_first_lines
from ...common.units.matrix_unit import MatrixUnitOptions, choose_product_unit
from ..filters import FILTERS

__all__ = ["conv2d"]


def conv2d(
    image: Annotated[
        Path | None,
        typer.Argument(help="Picture (PNG, JPEG, ...), .npy, .mtx ...; default: a photograph."),
    ] = None,
    filters: Annotated[
        list[str] | None,
        typer.Option("--filter", help="One of " + ", ".join(FILTERS) + "; default all."),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(help="Format on m3xu: fp16, bf16, tf32 or fp32; default fp32."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Results (filter, row, column), .npy or .npz."),
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option(help="Directory for PNG pictures of input and results.")
    ] = None,
    *,
    options: MatrixUnitOptions,
) -> None:
    """Filter a grey picture on a matrix unit, every operation checked.

    Without a picture it is the sample photograph that ships with scikit-learn (427 x 640).
    """
    choice = choose_product_unit(options, mode)
    if choice.config.operations[choice.mode].complex:
        raise UserError(f"mode must be fp16, bf16, tf32 or fp32 for pictures, not {mode!r}")
    names = filters or list(FILTERS)
    for name in names:
        if name not in FILTERS:
            raise UserError(not_one_of("filter", FILTERS, name))
    _check_outputs(output, pictures, names)
    _check_picture(image)
    from ..inputs import read_picture

    title, pixels = read_picture(image)
    from ..conv2d import filter_picture

    filter_picture(choice, title, pixels, names, output, pictures)


def _check_outputs(output: Path | None, pictures: Path | None, names: list[str]) -> None:
    if output:
        check_output(output, (".npy", ".npz"))
    if pictures:
        check_installed("PIL.Image", "Pillow")
        if not pictures.is_dir():
            raise UserError(f"{pictures}: must be an existing directory")
        for name in ("input", *names):
            check_output(pictures / f"{name}.png", (".png",))


def _check_picture(path: Path | None) -> None:
    """Raise UserError for what cannot be a picture, before anything of it is computed."""
    if path is None:
        check_installed("sklearn.datasets", "scikit-learn")
    if path is None or path.suffix.lower() in PICTURES:
        check_installed("PIL.Image", "Pillow")
    else:
        check_first_lines(path)
