"""``tilewright run pca``: principal components."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....numbers_given import whole
from ...common.files import ARRAY_NAMES, check_installed, check_output
from ...common.first_lines import check_first_lines
from ...common.units.gta import ScheduleOptions
from ..choice import GtaOptions, choose_gta

__all__ = ["pca"]


def pca(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help=f"Samples, one per row, {ARRAY_NAMES}; default: scikit-learn's digits.",
        ),
    ] = None,
    components: Annotated[
        int | None,
        typer.Option(
            parser=whole("--components"),
            metavar="N",
            help="Number of components, the largest first; default: all.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help=f"Write components, one per row, {ARRAY_NAMES}."),
    ] = None,
    *,
    how: ScheduleOptions,
    options: GtaOptions,
) -> None:
    """Find the principal components of data, their covariance on GTA in fp64.

    Means and eigenvectors are NumPy's; variances and components are checked against scikit-learn.
    """
    choice = choose_gta(options, "fp64", how=how)
    if output:
        check_output(output)
    check_installed("sklearn.decomposition", "scikit-learn")
    if data:
        check_first_lines(data)
    from ..linear_algebra import find_components

    find_components(choice, data, components, output)
