"""``tilewright run spgemm``: the product of two sparse matrices on MatRaptor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ...errors import UserError
from ...sim.sparse.c2sr import to_csr
from ..common.files import check_output, check_picture
from ..common.picture import density, write_picture
from ..common.rounding import round_to, warn_rounding
from .agreement import SparseAgreement, compare_sparse, verdict, warn_result
from .files import read_sparse, write_sparse
from .options import SparseOptions, choose_sparse_unit
from .published import PUBLISHED
from .report import finish_sparse
from .session import sparse_unit

__all__ = ["spgemm"]


def spgemm(
    a: Annotated[Path, typer.Argument(metavar="A", help="Left operand, .mtx or .npy.")],
    b: Annotated[
        Path | None, typer.Argument(metavar="B", help="Right operand; default: the left one.")
    ] = None,
    semiring: Annotated[
        str | None, typer.Option(help="mma (plus-times) or another of the nine.")
    ] = None,
    transposed_b: Annotated[
        bool, typer.Option("--transposed-b", help="Take the right operand's transpose.")
    ] = False,
    mode: Annotated[
        str,
        typer.Option(
            help="rows: of C, each from rows of B; outer: outer products, summed on the "
            "chip, for small operands that are less sparse."
        ),
    ] = "rows",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The product, Matrix Market (.mtx).")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Where C has entries, .png: the darker the more, white none."),
    ] = None,
    *,
    options: SparseOptions,
) -> None:
    """Multiply two sparse matrices row by row or by outer products, in any of nine semirings.

    Prints cycles, bytes of each operand, utilisation, and what no machine that reads a row of B for
    each use (by outer products: for each lane) can beat; checked against SciPy.
    """
    choice = choose_sparse_unit(options, semiring, mode=mode)
    config = choice.config
    if output:
        check_output(output, (".mtx",))
    if picture:
        check_picture(picture)
    left = read_sparse(a, config.layout)
    right = left if b is None else read_sparse(b, config.layout)
    name = a.name if b is None else f"{a.name} and {b.name}"
    if transposed_b:
        right = right.T.tocsr()
        right.sort_indices()
        name += ", the right one transposed"
    square = b is None and not transposed_b
    if left.shape[1] != right.shape[0]:
        other = a if b is None else b
        raise UserError(
            f"{other}: must have {left.shape[1]} rows, as many as {a} has columns, "
            f"not {right.shape[0]}"
        )
    for file, matrix in ((a, left), (b, right)):
        if file is not None:
            warn_rounding(file, round_to(matrix.data, config.format), config.format)
    with sparse_unit(choice) as products:
        x = products.operand(left)
        y = x if square else products.operand(right)
        c = products.multiply(x, y)
        tally = products.tally
    result = to_csr(c)
    agreement = compare_sparse(config.operators, config.format, to_csr(x), to_csr(y), result)
    warn_result(f"the product of {name}", agreement, config.operators, config.format)
    rows = [
        ("A", f"{left.shape[0]:,} x {left.shape[1]:,}, {left.nnz:,} entries"),
        ("B", f"{right.shape[0]:,} x {right.shape[1]:,}, {right.nnz:,} entries"),
        ("C", f"{c.shape[0]:,} x {c.shape[1]:,}, {c.nnz:,} entries"),
        ("reference", verdict(agreement)),
    ]
    if output:
        write_sparse(output, result)
        rows.append(("result", str(output)))
    if picture:
        write_picture(picture, density(result))
        rows.append(("picture", str(picture)))
    published = PUBLISHED.get(a.stem, {}) if square and config.semiring == "mma" else {}
    if published:
        times = ", ".join(f"{who} {us:,.0f} us" for who, us in published.items())
        rows.append(("published times", times))
    details: dict[str, Any] = {
        "published_us": published,
        "mode": mode,
        "a": _operand(a, left),
        "b": {**_operand(b or a, right), "transposed": transposed_b},
        "c": {"shape": list(c.shape), "entries": c.nnz},
        "reference": _reference(agreement),
    }
    finish_sparse("spgemm", f"sparse product of {name}", rows, choice, tally, details,
                  wrong=bool(agreement.wrong))  # fmt: skip


def _operand(file: Path, matrix: Any) -> dict[str, Any]:
    return {"file": str(file), "shape": list(matrix.shape), "entries": int(matrix.nnz)}


def _reference(agreement: SparseAgreement) -> dict[str, Any]:
    return {
        "source": agreement.source,
        "structure": agreement.structure,
        "wrong": agreement.wrong,
        "overflows": agreement.overflows,
        "vanished": agreement.vanished,
        "not_finite": agreement.special,
        "largest_error": None if agreement.largest == float("inf") else agreement.largest,
    }
