"""``tilewright run spmul``: the product of two sparse matrices, on a tensor unit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....hw.spec.host.words import not_one_of
from ....numbers_given import whole
from ...common.files import ARRAY_NAMES, MARKET, check_output
from ...common.first_lines import check_first_lines
from ...common.limits import check_size
from ..options import TcuOptions, choose_tcu, modulus_given

__all__ = ["spmul"]

_METHODS = ("output",)
_PRODUCTS = ("tall", "strassen", "standard")
_WORDS = ("fp32", "fp64", "int64", "modular")
_LONGEST = 1 << 24


def spmul(
    a: Annotated[Path, typer.Argument(metavar="A", help=f"Left matrix, {ARRAY_NAMES}.")],
    b: Annotated[Path, typer.Argument(metavar="B", help=f"Right matrix, {ARRAY_NAMES}.")],
    method: Annotated[
        str, typer.Option(help="output: work grows with the entries of the product.")
    ] = "output",
    product: Annotated[
        str,
        typer.Option(
            help="How to multiply compressed matrices: tall (calls), strassen or standard (both "
            "recursive)."
        ),
    ] = "tall",
    entries: Annotated[
        int | None,
        typer.Option(
            parser=whole("--entries", 1, 10**15),
            metavar="Z",
            help="Number of entries of the product to start with; default: m.",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            parser=whole("--seed", 0),
            metavar="N",
            help="Seed of the random hash functions and checks.",
        ),
    ] = 0,
    words: Annotated[str | None, typer.Option(help=f"{', '.join(_WORDS)}; default: fp64.")] = None,
    modulus: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="A prime, n and p at least: integers modulo it, words of modular, exactly.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write the product, .mtx, .mtx.gz or .npz (SciPy's)."),
    ] = None,
    *,
    options: TcuOptions,
) -> None:
    """Multiply sparse matrices on a tensor unit, compressed to as many buckets as the product's
    entries need.

    Works in rounds until a random check passes. The product is checked against SciPy.
    """
    choice = choose_tcu(options)
    for name, given, known in (
        ("--method", method, _METHODS), ("--product", product, _PRODUCTS),
        ("--words", words, _WORDS),
    ):  # fmt: skip
        if given is not None and given not in known:
            raise UserError(not_one_of(name, known, given))
    number = modulus_given(words, modulus)
    if output:
        check_output(output, (*MARKET, ".npz"))
    _check_inner(a, b, *(check_first_lines(file, _check_shape) for file in (a, b)))
    from ...common.matrix_files import read_sparse

    left, right = (read_sparse(file, _check_shape) for file in (a, b))
    _check_inner(a, b, left.shape, right.shape)
    from ..sparse_products import Operands, multiply_sparse

    operands = Operands(a=a, b=b, left=left, right=right)
    multiply_sparse(choice, operands, product, words, number, entries, seed, output)


def _check_shape(path: Path, rows: int, cols: int) -> None:
    if not rows or not cols:
        check_size(path, rows, cols)
    if max(rows, cols) > _LONGEST:
        raise UserError(
            f"{path}: must have at most {_LONGEST} rows and columns, not {rows} x {cols}"
        )


def _check_inner(
    a: Path, b: Path, left: tuple[int, int] | None, right: tuple[int, int] | None
) -> None:
    """Raise UserError unless A B is a product, as far as shapes are known."""
    if left and right and left[1] != right[0]:
        raise UserError(
            f"{b}: must have {left[1]} rows, as many as {a} has columns, not {right[0]}"
        )
