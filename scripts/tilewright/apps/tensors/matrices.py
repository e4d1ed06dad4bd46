"""A matrix times a dense one on the accelerator, held against SciPy or NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...sim.numbers.values import decode
from ...sim.sparse.tensor import Tensor, to_csr
from ...sim.tensaurus.work import Work
from ..common.agreement import SparseAgreement, compare_sparse, verdict, warn_result
from ..common.matrix_files import write_array
from ..common.units.tensaurus import TensorChoice
from ..common.units.tensaurus_products import (
    TensorProducts,
    as_stored,
    dense_words,
    everything,
    numbers_of,
    tensor_report,
)
from .factors import Factor

__all__ = ["multiply_matrix"]


def multiply_matrix(
    app: str, a: Path, matrix: Tensor, dense: Factor, choice: TensorChoice, output: Path | None
) -> None:
    """Multiply a matrix with a dense one, or with a vector (``app`` spmv), write the product if
    that is asked for, and report.

    Raises UserError for values that the unit does not take.
    """
    config, kernel = choice.config, "mv" if app == "spmv" else "mm"
    matrix = as_stored(a, matrix, config, 0)
    columns = dense.values.shape[1]
    work = Work(kernel=kernel, shape=matrix.shape, ranks=(columns,), dense=choice.dense)
    matrix = everything(a, matrix) if choice.dense else matrix
    with TensorProducts(choice) as products:
        if choice.dense:
            words = products.multiply(work, dense_words(matrix, config.format, 0), {1: dense.words})
        else:
            words = products.multiply(work, matrix, {1: dense.words})
    result = numbers_of(words, config.sum_format)
    agreement, empty = _compare(choice, matrix, dense.values, words.reshape(-1, columns))
    warn_result(f"the product of {a.name}", agreement, config.operators, config.sum_format)
    lines = [
        ("A", f"{matrix.shape[0]:,} x {matrix.shape[1]:,}, {matrix.nnz:,} values"),
        ("B", f"{dense.values.shape[0]:,} x {columns:,}, {dense.source}"),
        ("reference", verdict(agreement)),
    ]
    if empty:
        lines.append(("rows without values", "DIFFERENT from the identity"))
    if output:
        write_array(output, result)
        lines.append(("written", str(output)))
    details: dict[str, Any] = {
        "a": {"file": str(a), "shape": list(matrix.shape), "values": matrix.nnz},
        "b": {"source": dense.source, "shape": list(dense.values.shape)},
        "result": list(result.shape),
        "reference": {
            "source": agreement.source, "wrong": agreement.wrong + empty,
            "overflows": agreement.overflows, "vanished": agreement.vanished,
            "not_finite": agreement.special,
            "largest_error": None if agreement.largest == np.inf else agreement.largest,
        },
    }  # fmt: skip
    name = {"mm": "matrix", "mv": "vector"}[kernel]
    tensor_report(app, f"{a.name} times a dense {name}", lines, choice, products.tally, details,
                   wrong=bool(agreement.wrong or empty)).finish()  # fmt: skip


def _compare(
    choice: TensorChoice, matrix: Tensor, dense: Any, words: Any
) -> tuple[SparseAgreement, int]:
    """Rows of A with values against the reference of sparse products, for which B is a sparse
    matrix with all its elements; and how many elements of other rows are not the identity."""
    from scipy.sparse import csr_array

    config = choice.config
    fmt = config.sum_format
    filled = np.zeros(matrix.shape[0], np.bool_)
    filled[matrix.indices[:, 0]] = True

    def full(values: Any, rows: Any) -> Any:
        """Returns all elements of some rows, zeros too."""
        lengths = np.where(rows, values.shape[1], 0)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.tile(np.arange(values.shape[1]), int(np.count_nonzero(rows)))
        return csr_array((values[rows].reshape(-1), places, starts), shape=values.shape)

    everything = np.ones(len(dense), np.bool_)
    whole = dense.astype(np.int64) if matrix.values.dtype.kind == "i" else dense
    found = decode(words, fmt)
    agreement = compare_sparse(
        config.operators, fmt, to_csr(matrix), full(whole, everything), full(found, filled)
    )
    identity = config.operators.identity_in(fmt)
    return agreement, int(np.count_nonzero(words[~filled] != np.uint64(identity or 0)))
