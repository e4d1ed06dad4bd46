"""Whole computations on a matrix unit's RTL: the commands of ``tilewright run``."""

from __future__ import annotations

from collections.abc import Callable

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands to the group ``tilewright run``.

    They raise `tilewright.errors.UserError` for bad input and exit with status 1 if a result
    differs from the model's.
    """
    from .common.options import expanded
    from .dense.conv2d import conv2d
    from .dense.dft import dft
    from .dense.gemm import gemm
    from .graphs.mcl import mcl
    from .graphs.paths import graph_commands
    from .graphs.triangles import triangles
    from .knn.command import knn
    from .sparse.spgemm import spgemm

    commands: dict[str, Callable[..., None]] = {
        "gemm": gemm,
        "dft": dft,
        "conv2d": conv2d,
        **graph_commands(),
        "knn": knn,
        "spgemm": spgemm,
        "triangles": triangles,
        "mcl": mcl,
    }
    for name, command in commands.items():
        app.command(name)(expanded(command))
