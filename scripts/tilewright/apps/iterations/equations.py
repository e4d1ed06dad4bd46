"""Systems of equations in files, their solution in a sequence of jobs, and the report of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from ...errors import UserError
from ...numbers_given import real
from ...sim.sida.iterations.jobs import Method
from ..common.extras import need
from ..common.files import read_array, write_array
from .application import Source, is_matrix, matrix_of
from .options import SidaChoice
from .outcome import outcome_of_method
from .report import Residual, finish_iterations
from .sequence_session import run_method
from .verdict import residual_of

__all__ = [
    "Equations",
    "RightOption",
    "ToleranceOption",
    "check_symmetric",
    "finish_method",
    "read_equations",
    "scipy_products",
]

Floats = NDArray[np.float64]

RightOption = Annotated[
    Path | None, typer.Option("--right", metavar="FILE", help="Right side; default: ones.")
]
ToleranceOption = Annotated[
    float,
    typer.Option(parser=real("--tolerance", 0, 1), metavar="T",
                 help="It ends when the residual is less than T times the right side."),
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Equations:
    """A system from files.

    Parameters
    ----------
    file: of the matrix
    matrix: SciPy CSR
    right: the file of the right side; None: ones
    b: the right side
    """

    file: Path
    matrix: Any
    right: Path | None
    b: Floats

    @property
    def size(self) -> int:
        return len(self.b)

    @property
    def source(self) -> Source:
        right = None if self.right is None else str(self.right)
        return Source(
            path=self.file,
            kind="matrix",
            text=f"{self.size:,} x {self.size:,}",
            details={"rows": self.size, "right": right},
        )


def read_equations(choice: SidaChoice, file: Path, right: Path | None) -> Equations:
    """UserError for files that hold no system, or one that does not fit."""
    matrix = matrix_of(choice, file)
    size = matrix.shape[0]
    b = np.ones(size) if right is None else _right_side(right, size)
    return Equations(file=file, matrix=matrix, right=right, b=b)


def _right_side(path: Path, size: int) -> Floats:
    found = read_array(path)
    if np.iscomplexobj(found) or found.size != size or max(found.shape) != size:
        raise UserError(f"{path}: must be a vector of {size} real values")
    if not np.isfinite(found).all() or not found.any():
        raise UserError(f"{path}: values must be finite, and not all 0")
    return np.asarray(found, np.float64).reshape(-1)


def check_symmetric(path: Path, matrix: Any) -> None:
    """UserError with the first element that is not the same in its place and its mirrored one."""
    different = (matrix != matrix.T).tocoo()
    if different.nnz:
        row, column = (int(part[0]) + 1 for part in (different.row, different.col))
        raise UserError(
            f"{path}: the value of row {row}, column {column} is not that of row {column}, column "
            f"{row}; the matrix must be symmetric"
        )


def scipy_products(solve: Callable[[Any], int], matrix: Any) -> int | None:
    """Products with the matrix that a function of SciPy takes, which is given an operator; None if
    it says that it has failed."""
    linalg = need("scipy.sparse.linalg", "SciPy")
    count = 0

    def product(x: Floats) -> Floats:
        nonlocal count
        count += 1
        found: Floats = matrix @ x
        return found

    operator = linalg.LinearOperator(matrix.shape, matvec=product, dtype=np.float64)
    with np.errstate(all="ignore"):
        failed = solve(operator)
    return None if failed else count


def finish_method(
    app: str,
    what: str,
    choice: SidaChoice,
    equations: Equations,
    method: Method,
    most: int,
    *,
    tolerance: float,
    theirs: tuple[str, int | None],
    details: dict[str, Any],
) -> None:
    """Solve, write the solution if that is asked for, and report.

    Parameters
    ----------
    most: iterations
    theirs: SciPy's function, and its iterations; None: it does not converge
    details: what the command adds to the JSON
    """
    run = run_method(choice, method, most)
    found, source = run.found, equations.source
    x = run.values[found.result]
    said = "does not converge" if theirs[1] is None else f"{theirs[1]:,} iterations"
    rows = [(source.kind, source.text), (f"SciPy's {theirs[0]}", said)]
    if found.why:
        rows.append(("ended", found.why))
    if choice.output:
        write_array(choice.output, x[:, None] if is_matrix(choice.output) else x)
        rows.append(("values", str(choice.output)))
    verdict = None
    if found.settled:
        verdict = residual_of(
            choice.config.format, equations.matrix, equations.b, x, tolerance, found.iterations,
            max(found.residuals),
        )  # fmt: skip
    residual = Residual(what="the residual's 2-norm", value=found.residuals[-1], limit=method.limit)
    finish_iterations(
        app,
        f"{what} of {equations.file.name}",
        rows,
        choice,
        outcome_of_method(choice, method, run),
        {
            "file": str(equations.file),
            **source.details,
            **details,
            "tolerance": tolerance,
            "scipy_iterations": theirs[1],
            "ended": found.why or None,
            "residuals": [value if np.isfinite(value) else None for value in found.residuals],
        },
        verdict=verdict,
        residual=residual,
    )
