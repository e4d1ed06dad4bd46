"""``tilewright run spmm``, ``spmv`` and ``gemv``: a matrix times a dense one on Tensaurus."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ....errors import UserError
from ....hw.spec.tensaurus import TENSAURUS
from ....numbers_given import whole
from ...common.files import ARRAY_NAMES, TENSOR_NAMES, check_output, check_readable
from ...common.first_lines import check_first_lines
from ...common.options import DeviceOptions
from ...common.units.gta import FlowOptions, refuse_flow
from ...common.units.matrix_unit import EngineOptions, choose_engine
from ...common.units.tensaurus import (
    TensaurusOptions,
    TensorChoice,
    TensorOptions,
    choose_tensor_unit,
)

if TYPE_CHECKING:
    from ....sim.sparse.tensor import Tensor

__all__ = ["gemm_on_tensaurus", "gemv", "spmm", "spmv"]

_SparseArgument = Annotated[
    Path, typer.Argument(metavar="A", help=f"The sparse matrix, {TENSOR_NAMES}.")
]
_VectorArgument = Annotated[
    Path | None, typer.Argument(metavar="B", help=f"The vector, {ARRAY_NAMES}; else random.")
]
_OutputOption = Annotated[
    Path | None, typer.Option("-o", "--output", help=f"Write the product, {ARRAY_NAMES}.")
]
_SemiringOption = Annotated[
    str | None, typer.Option(help="Semiring: mma (plus-times, the default) or another of the nine.")
]
_SeedOption = Annotated[
    int, typer.Option(parser=whole("--seed", 0), metavar="N", help="Seed of a random operand.")
]


def spmm(
    a: _SparseArgument,
    b: Annotated[
        Path | None, typer.Argument(metavar="B", help=f"The dense one, {ARRAY_NAMES}; else random.")
    ] = None,
    rank: Annotated[
        int | None,
        typer.Option(parser=whole("--rank", 1, 4096), metavar="F",
                     help="Columns of a random B; default 32."),
    ] = None,
    semiring: _SemiringOption = None,
    seed: _SeedOption = 0,
    output: _OutputOption = None,
    *,
    how: TensorOptions,
    options: TensaurusOptions,
) -> None:  # fmt: skip
    """Multiply a sparse matrix with a dense one (SpMM), in any of nine semirings.

    Checked against SciPy (sums of products) or NumPy. Elements to which nothing is added are the
    identity of the semiring's sum.
    """
    if output:
        check_output(output)
    if b is not None and rank is not None:
        raise UserError(f"--rank and {b} exclude each other")
    choice, matrix = _start(a, b, semiring, how, options)
    rows, fmt = matrix.shape[1], choice.config.format
    from ..factors import drawn_factor, read_factor

    if b is None:
        dense = drawn_factor(seed, rows, rank or 32, fmt)
    else:
        dense = read_factor(b, rows, _why(a, rows), fmt)
    from ..matrices import multiply_matrix

    multiply_matrix("spmm", a, matrix, dense, choice, output)


def spmv(
    a: _SparseArgument,
    b: _VectorArgument = None,
    semiring: _SemiringOption = None,
    seed: _SeedOption = 0,
    output: _OutputOption = None,
    *,
    how: TensorOptions,
    options: TensaurusOptions,
) -> None:
    """Multiply a sparse matrix with a vector (SpMV), in any of nine semirings; see spmm."""
    if output:
        check_output(output)
    choice, matrix = _start(a, b, semiring, how, options)
    rows, fmt = matrix.shape[1], choice.config.format
    from ..factors import drawn_factor, read_vector

    if b is None:
        dense = drawn_factor(seed, rows, 1, fmt)
    else:
        dense = read_vector(b, rows, _why(a, rows), fmt)
    from ..matrices import multiply_matrix

    multiply_matrix("spmv", a, matrix, dense, choice, output)


def gemv(
    a: Annotated[Path, typer.Argument(metavar="A", help=f"The matrix, {ARRAY_NAMES}.")],
    b: _VectorArgument = None,
    semiring: _SemiringOption = None,
    seed: _SeedOption = 0,
    output: _OutputOption = None,
    *,
    how: TensorOptions,
    options: TensaurusOptions,
) -> None:
    """Multiply a dense matrix with a vector (GEMV), in any of nine semirings; see spmv."""
    spmv(a, b, semiring, seed, output, how=replace(how, dense=True), options=options)


def gemm_on_tensaurus(
    a: Path, b: Path, c: Path | None, mode: str | None, output: Path | None,
    options: EngineOptions, flow: FlowOptions,
) -> None:  # fmt: skip
    """``gemm --unit tensaurus``: A B, every element of A streamed. Raises UserError for what the
    unit does not have."""
    refuse_flow(flow, TENSAURUS.name)
    if options.on != "unit":
        choose_engine(options)
    for name, given in (("--c", c), ("--mode", mode), ("--waves", options.waves)):
        if given is not None:
            raise UserError(f"{name} is not for {TENSAURUS.name}, whose format is `value`")
    if output:
        check_output(output)
    choice, matrix = _start(a, b, None, TensorOptions(dense=True), options)
    rows = matrix.shape[1]
    from ..factors import read_factor

    dense = read_factor(b, rows, _why(a, rows), choice.config.format)
    from ..matrices import multiply_matrix

    multiply_matrix("gemm", a, matrix, dense, choice, output)


def _start(
    a: Path, b: Path | None, semiring: str | None, how: TensorOptions, options: DeviceOptions
) -> tuple[TensorChoice, Tensor]:
    """The accelerator, and the matrix that it is to multiply."""
    choice = choose_tensor_unit(how, options, semiring=semiring)
    if b is not None:
        check_first_lines(b)
    check_readable(a)
    from ...common.units.tensaurus import read_some_tensor

    return choice, read_some_tensor(a, how, (2,))


def _why(a: Path, columns: int) -> str:
    return f"as {a} has {columns} columns"
