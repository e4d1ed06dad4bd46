"""``tilewright run einsum``: sums of products of tensors on an array that a mapping describes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from ....errors import UserError
from ....hw.spec.host.words import not_one_of
from ...common.options import PANEL, JsonOption, SettingsOption

__all__ = ["einsum"]

_BACKENDS = ("rtl", "cycles", "model")


def einsum(
    expression: Annotated[
        str,
        typer.Argument(
            metavar="EXPRESSION",
            help='As in NumPy, "ik,kj->ij"; for a sum of products "ik,k+ik,k->i".',
        ),
    ],
    operands: Annotated[
        list[Path],
        typer.Argument(
            metavar="OPERAND...",
            help="Tensors, each once: .npy or matrix files; for sparse ones also .tns files.",
        ),
    ],
    *,
    config_file: Annotated[
        Path | None,
        typer.Option(
            "-c",
            "--spec",
            "--config",
            help="TOML file of parameters, or a mapping in Python.",
            rich_help_panel=PANEL,
        ),
    ] = None,
    settings: SettingsOption = None,
    backend: Annotated[
        str,
        typer.Option(
            help="rtl: simulate the Verilog and check it against the model; cycles: the model with "
            "cycles; model: the model alone.",
            rich_help_panel=PANEL,
        ),
    ] = "rtl",
    zero_based: Annotated[
        bool, typer.Option("--zero-based", help="Indices of .tns files count from 0.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the result, .npy or .mtx.")
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Compute sums of products of tensors on an array that a mapping describes, against NumPy.

    Operands that are sparse in the mapping are compared with SciPy."""
    from ....hw.spec.t2s.config import T2S, T2sConfig
    from ....settings import read_config
    from ...common.files import check_array_name, check_output, check_readable
    from ...common.options import check_report_and_tools

    if backend not in _BACKENDS:
        raise UserError(not_one_of("backend", _BACKENDS, backend))
    config = read_config(T2S, config_file, settings or ())
    check_report_and_tools(json_file, backend)
    if output:
        check_output(output, (".npy", ".mtx"))
        check_array_name(output)
    for file in operands:
        check_readable(file)
    from ..einsum_run import run_einsum

    run_einsum(
        expression,
        operands,
        cast(T2sConfig, config),
        backend,
        output,
        json_file,
        zero_based=zero_based,
    )
