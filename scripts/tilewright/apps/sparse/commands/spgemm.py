"""``tilewright run spgemm``: the product of two sparse matrices on MatRaptor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ...common.files import ARRAY_NAMES, MARKET, check_output, check_picture
from ...common.first_lines import check_first_lines
from ...common.options import DeviceOptions
from ...common.units.matraptor import LanesOption, choose_sparse_unit

__all__ = ["spgemm"]


def spgemm(
    a: Annotated[Path, typer.Argument(metavar="A", help=f"Left operand, {ARRAY_NAMES}.")],
    b: Annotated[
        Path | None, typer.Argument(metavar="B", help="Right operand; default: the left one.")
    ] = None,
    semiring: Annotated[
        str | None,
        typer.Option(help="Semiring: mma (plus-times, the default) or another of the nine."),
    ] = None,
    transposed_b: Annotated[
        bool, typer.Option("--transposed-b", help="Multiply by the transpose of the right operand.")
    ] = False,
    mode: Annotated[
        str,
        typer.Option(
            help="rows: one row of C at a time, from rows of B; outer: outer products, summed "
            "on chip, for small operands that are less sparse."
        ),
    ] = "rows",
    layout: Annotated[
        str, typer.Option(help="Format of A and B in memory: c2sr, csr or csr-arrays.")
    ] = "c2sr",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write the product, .mtx, .mtx.gz or .npz (SciPy's)."),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Plot the places of C's entries, .png: dark where they are dense."),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            help="Write each access to memory of the cycle model, in jobs that end well, as DRAM "
            "simulators read them: .dramsim3 or .ramulator."
        ),
    ] = None,
    lanes: LanesOption = None,
    *,
    options: DeviceOptions,
) -> None:
    """Multiply two sparse matrices row by row or by outer products, in any of nine semirings.

    The report has cycles, bytes of each operand, utilisation, and a lower bound on the cycles of
    any machine that reads a row of B for each use (with --mode outer, for each lane). The product
    is checked against SciPy.
    """
    choice = choose_sparse_unit(options, semiring, lanes=lanes, mode=mode, layout=layout)
    if output:
        check_output(output, (*MARKET, ".npz"))
    if picture:
        check_picture(picture)
    if trace:
        check_output(trace, (".dramsim3", ".ramulator"))
        if choice.backend != "cycles":
            raise UserError(f"--trace needs --backend cycles, not {choice.backend}")
    shapes = [check_first_lines(file or a, choice.check_shape) for file in (a, b)]
    _check_inner(a, b, *shapes, transposed=transposed_b)
    from ...common.matrix_files import read_sparse

    left = read_sparse(a, choice.check_shape)
    right = left if b is None else read_sparse(b, choice.check_shape)
    _check_inner(a, b, left.shape, right.shape, transposed=transposed_b)
    from ..spgemm import Operands, multiply_sparse

    operands = Operands(a=a, b=b, left=left, right=right, transposed=transposed_b)
    multiply_sparse(choice, operands, output=output, picture=picture, trace=trace)


def _check_inner(
    a: Path,
    b: Path | None,
    left: tuple[int, int] | None,
    right: tuple[int, int] | None,
    *,
    transposed: bool,
) -> None:
    """Raise UserError unless A B is a product, as far as shapes are known."""
    if left is None or right is None:
        return
    rows = right[1 if transposed else 0]
    if left[1] != rows:
        turned = right[0 if transposed else 1] == left[1]
        use = "without" if transposed else "with"
        raise UserError(
            f"{b or a}: must have {left[1]} rows, as many as {a} has columns, not {rows}"
            f"{(turned and f'; {use} --transposed-b they fit') or ''}"
        )
