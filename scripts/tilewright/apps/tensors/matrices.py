"""``tilewright run spmm`` and ``spmv``: a sparse matrix times a dense one on Tensaurus."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ...errors import UserError
from ...hw.spec.tensaurus import TENSAURUS
from ...numbers_given import whole
from ...sim.numbers.values import decode
from ...sim.sparse.tensor import Tensor, to_csr
from ...sim.tensaurus.work import Work
from ..common.files import check_output
from ..common.matrix_files import numeric, read_matrix_file, write_array
from ..common.options import RunOptions
from ..common.rounding import round_to, warn_rounding
from ..sparse.agreement import SparseAgreement, compare_sparse, verdict, warn_result
from .operands import (
    Factor,
    as_stored,
    dense_words,
    everything,
    random_factor,
    read_factor,
    read_some_tensor,
)
from .options import TensorChoice, TensorOptions, choose_tensor_unit
from .report import finish_tensors
from .session import TensorProducts, numbers_of

__all__ = ["gemm_on_tensaurus", "gemv", "spmm", "spmv"]

_SparseArgument = Annotated[
    Path, typer.Argument(metavar="A", help="The sparse matrix, .mtx, .npy or .tns.")
]
_VectorArgument = Annotated[
    Path | None, typer.Argument(metavar="B", help="The vector, .npy or .mtx; else random.")
]
_OutputOption = Annotated[
    Path | None, typer.Option("-o", "--output", help="The product, .npy or .mtx.")
]
_SemiringOption = Annotated[
    str | None, typer.Option(help="mma (plus-times) or another of the nine.")
]
_SeedOption = Annotated[
    int, typer.Option(parser=whole("--seed", 0), metavar="N", help="Of a random operand.")
]


def spmm(
    a: _SparseArgument,
    b: Annotated[
        Path | None, typer.Argument(metavar="B", help="The dense one, .npy or .mtx; else random.")
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
    options: TensorOptions,
) -> None:  # fmt: skip
    """Multiply a sparse matrix with a dense one (SpMM), in any of nine semirings.

    Checked against SciPy (sums of products) or NumPy. Elements to which nothing is added are the
    identity of the semiring's sum.
    """
    if output:
        check_output(output)
    choice, matrix = _start(a, semiring, options)
    rows, fmt = matrix.shape[1], choice.config.format
    if b is None:
        dense = random_factor(np.random.default_rng(seed), rows, rank or 32, fmt)
    else:
        if rank is not None:
            raise UserError(f"--rank and {b} exclude each other")
        dense = read_factor(b, rows, f"as {a} has {rows} columns", fmt)
    _run("spmm", "mm", a, matrix, dense, choice, output)


def spmv(
    a: _SparseArgument,
    b: _VectorArgument = None,
    semiring: _SemiringOption = None,
    seed: _SeedOption = 0,
    output: _OutputOption = None,
    *,
    options: TensorOptions,
) -> None:
    """Multiply a sparse matrix with a vector (SpMV), in any of nine semirings; see spmm."""
    if output:
        check_output(output)
    choice, matrix = _start(a, semiring, options)
    rows, fmt = matrix.shape[1], choice.config.format
    if b is None:
        dense = random_factor(np.random.default_rng(seed), rows, 1, fmt)
    else:
        dense = _read_vector(b, rows, f"as {a} has {rows} columns", choice)
    _run("spmv", "mv", a, matrix, dense, choice, output)


def gemv(
    a: Annotated[Path, typer.Argument(metavar="A", help="The matrix, .npy or .mtx.")],
    b: _VectorArgument = None,
    semiring: _SemiringOption = None,
    seed: _SeedOption = 0,
    output: _OutputOption = None,
    *,
    options: TensorOptions,
) -> None:
    """Multiply a dense matrix with a vector (GEMV), in any of nine semirings; see spmv."""
    spmv(a, b, semiring, seed, output, options=replace(options, dense=True))


def gemm_on_tensaurus(
    a: Path, b: Path, c: Path | None, mode: str | None, output: Path | None, memory: str | None,
    gigahertz: float | None, options: RunOptions,
) -> None:  # fmt: skip
    """``gemm --unit tensaurus``: A B, every element of A streamed. Raises UserError for what the
    unit does not have."""
    for name, given in (("--c", c), ("--mode", mode), ("--waves", options.waves)):
        if given is not None:
            raise UserError(f"{name} is not for {TENSAURUS.name}, whose format is `value`")
    chosen = TensorOptions(
        dense=True,
        config_file=options.config_file,
        settings=options.settings,
        backend=options.backend,
        memory=memory,
        gigahertz=gigahertz,
        json_file=options.json_file,
    )
    if output:
        check_output(output)
    choice, matrix = _start(a, None, chosen)
    why = f"as {a} has {matrix.shape[1]} columns"
    dense = read_factor(b, matrix.shape[1], why, choice.config.format)
    _run("gemm", "mm", a, matrix, dense, choice, output)


def _start(a: Path, semiring: str | None, options: TensorOptions) -> tuple[TensorChoice, Tensor]:
    choice = choose_tensor_unit(options, semiring=semiring)
    return choice, as_stored(a, read_some_tensor(a, options, (2,)), choice.config, 0)


def _read_vector(path: Path, rows: int, why: str, choice: TensorChoice) -> Factor:
    """A vector, or a matrix of one column. Raises UserError that says ``why`` it is so long."""
    found = read_matrix_file(path)
    array = numeric(found if isinstance(found, np.ndarray) else found.toarray(), path)
    if np.iscomplexobj(array):
        raise UserError(f"{path}: holds complex numbers; values must be real")
    if array.shape not in ((rows,), (rows, 1)):
        shape = " x ".join(map(str, array.shape))
        raise UserError(f"{path}: must be a vector of {rows} values, {why}, not {shape}")
    rounded = round_to(array.reshape(-1, 1), choice.config.format)
    warn_rounding(path, rounded, choice.config.format)
    return Factor(rounded.words, rounded.values, str(path))


def _run(
    app: str, kernel: str, a: Path, matrix: Tensor, dense: Factor, choice: TensorChoice,
    output: Path | None,
) -> None:  # fmt: skip
    config = choice.config
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
    finish_tensors(app, f"{a.name} times a dense {name}", lines, choice, products.tally, details,
                   wrong=bool(agreement.wrong or empty))  # fmt: skip


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
        """All elements of some rows, zeros too."""
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
