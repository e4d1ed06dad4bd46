"""Whole computations on a matrix unit's RTL: the commands of ``tilewright run``."""

from __future__ import annotations

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands ``gemm``, ``dft`` and ``conv2d`` to the group ``tilewright run``.

    They raise `tilewright.errors.UserError` for bad input and exit with status 1 if a result
    differs from the model's.
    """
    from .conv2d import conv2d
    from .dft import dft
    from .gemm import gemm

    for command in (gemm, dft, conv2d):
        app.command()(command)
