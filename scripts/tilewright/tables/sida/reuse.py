"""Measures the share of a matrix that the OEI dataflow buffers, by order of rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import UserError
from ...synth.tables import Row, Table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["PAPER", "VERTICES", "matrices_of", "reordered", "sida_reuse"]

VERTICES = 1 << 14
"""Vertices of generated graphs."""
MOST_VERTICES = 1 << 27
"""Rows of the largest matrix."""
_SEED = 13

PAPER = {
    (18772, 198110): ("ca-AstroPh", 49.9, 32.9),
    (17361, 178896): ("gyro_m", 4.8, 1.9),
    (150102, 438388): ("G2_circuit", 3.5, 1.7),
    (434102, 16036720): ("coPapersCiteseer", 13.7, 7.2),
    (513351, 10360701): ("bundle_adj", 90.0, 47.7),
    (3566907, 45030389): ("wikipedia-20070206", 38.7, 23.2),
    (6815744, 13624320): ("adaptive", 9.4, 5.1),
    (23947347, 28854312): ("road_usa", 1.9, 1.0),
    (50912018, 54054660): ("europe_osm", 4.3, 2.6),
}
"""The paper's table, by rows and elements: the most that waits, and the mean, in percent of the
elements. Names are inferred from the sizes. Symmetric matrices are there with one half."""


def sida_reuse(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    files: Sequence[Path] = (),
    vertices: int = VERTICES,
) -> Table:
    """Matrices of the files, or generated ones if there are none: elements that wait, the most and
    the mean over all steps of a column, in percent; as they are, and in each order of ``ORDERS``.
    A symmetric matrix is there a second time, with its lower half only, as the paper counted.

    Raises UserError for a target other than "cmos", the default: nothing is synthesised; and for a
    file that is no square matrix.
    """
    if target != "cmos":
        raise UserError(f"sida-reuse is computed by a model: no --target, not {target!r}")
    from ...sim.sida.order import ORDERS

    columns = ["as it is", *ORDERS]
    rows: list[Row] = []
    for name, matrix in matrices_of(files, vertices):
        progress(name)
        rows += _rows(name, matrix, list(ORDERS.values()))
    return Table("sida-reuse, elements held on chip", "model", columns, rows)


def matrices_of(files: Sequence[Path], vertices: int) -> Iterator[tuple[str, csr_array]]:
    """Square matrices of files, and the lower halves of symmetric ones; without files generated
    ones.

    Raises UserError for a file that is no square matrix.
    """
    import numpy as np
    from scipy.sparse import csr_array, tril

    from ...apps.common.matrix_files import read_matrix_file
    from ..generated_matrices import GRAPHS

    if not files:
        for name, generate in GRAPHS.items():
            matrix = generate(vertices, _SEED)
            yield f"{name}, {matrix.shape[0]:,} vertices", matrix
        return
    for path in files:
        matrix = csr_array(read_matrix_file(path, _check_shape))
        _check_shape(path, *matrix.shape)
        matrix.sum_duplicates()
        yield path.stem, matrix
        pattern = csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), matrix.shape)
        if (pattern != pattern.T).nnz == 0 and matrix.nnz:
            yield f"{path.stem}, lower half", csr_array(tril(matrix))


def _check_shape(what: object, *shape: int) -> None:
    """Refuse what is not square, or too large."""
    sizes = " x ".join(map(str, shape))
    if len(shape) != 2 or shape[0] != shape[1]:
        raise UserError(f"{what}: the matrix must be square, not {sizes}")
    if not 1 <= shape[0] <= MOST_VERTICES:
        raise UserError(f"{what}: the matrix must have 1 to {MOST_VERTICES} rows, not {shape[0]}")


def _rows(
    name: str, matrix: csr_array, orders: Sequence[Callable[[csr_array], object]]
) -> Iterator[Row]:
    from ...sim.sida.held import held

    peak, mean = [], []
    for order in (None, *orders):
        found = matrix if order is None else reordered(matrix, order)
        places = found.tocoo()
        shares = held(places.row, places.col, matrix.shape[0])
        peak.append(100 * shares.peak_share)
        mean.append(100 * shares.mean_share)
    _, paper_peak, paper_mean = PAPER.get((matrix.shape[0], matrix.nnz), ("", None, None))
    none = [None] * len(orders)
    yield Row(f"{name}: most, %", [paper_peak, *none], peak, 1)
    yield Row("mean, %", [paper_mean, *none], mean, 1)


def reordered(matrix: csr_array, order: Callable[[csr_array], object]) -> csr_array:
    """Rows and columns in another order."""
    found = order(matrix)
    return matrix[found][:, found]
