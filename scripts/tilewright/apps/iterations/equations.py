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
from ..common.matrix_files import write_array
from ..common.rounding import round_to
from .application import Source, is_matrix, matrix_of, read_vector
from .options import SidaChoice
from .outcome import outcome_of_jobs
from .report import Residual, finish_iterations
from .sequence_session import run_method
from .verdict import residual_of

__all__ = [
    "Equations",
    "RightOption",
    "SciPys",
    "ToleranceOption",
    "check_symmetric",
    "finish_method",
    "read_equations",
    "scipy_products",
]

Floats = NDArray[np.float64]
Row = tuple[str, str]

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


@dataclass(frozen=True, kw_only=True)
class SciPys:
    """What SciPy does with the same system.

    Parameters
    ----------
    function: its name
    iterations: of it; None: it does not converge
    residuals: behind each, over the right side, in the 2-norm; None: it does not say
    """

    function: str
    iterations: int | None
    residuals: tuple[float, ...] | None = None

    def rows(self, size: float, residuals: tuple[float, ...]) -> tuple[list[Row], dict[str, Any]]:
        """Of the report, and of the JSON, beside ours: before the first iteration and after each,
        and the size of the right side."""
        said = "does not converge" if self.iterations is None else f"{self.iterations:,} iterations"
        rows = [(f"SciPy's {self.function}", said)]
        found: dict[str, Any] = {"scipy_iterations": self.iterations}
        if self.residuals is not None:
            pairs = list(zip(residuals[1:], self.residuals, strict=False))
            differences = [abs(ours / size - theirs) for ours, theirs in pairs]
            largest = max(differences, default=0.0)
            rows.append(("beside SciPy's", f"residuals of {len(pairs):,} iterations differ by at "
                                           f"most {largest:.3g} of the right side"))  # fmt: skip
            found["scipy_difference"] = largest if np.isfinite(largest) else None
        return rows, found


def read_equations(choice: SidaChoice, file: Path, right: Path | None) -> Equations:
    """UserError for files that hold no system, or one that does not fit."""
    matrix = matrix_of(choice, file)
    size = matrix.shape[0]
    b = np.ones(size) if right is None else _right_side(right, size)
    _check_square(choice, right or f"{size:,} ones, the right side", b)
    return Equations(file=file, matrix=matrix, right=right, b=b)


def _right_side(path: Path, size: int) -> Floats:
    found = read_vector(path, size)
    wrong = ~np.isfinite(found)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise UserError(f"{path}: value {place + 1} is {found[place]:g}; values must be finite")
    if not found.any():
        raise UserError(f"{path}: values must not all be 0")
    return found


def _check_square(choice: SidaChoice, what: object, b: Floats) -> None:
    """UserError if the format of values does not hold the sum of a right side's squares."""
    fmt = choice.config.format
    with np.errstate(over="ignore", under="ignore"):
        [square] = round_to(np.array([b @ b]), fmt).values
    if not np.isfinite(square) or not square:
        raise UserError(
            f"{what}: the sum of the values' squares must be finite and above 0 in {fmt.name}, "
            f"not {square:g}"
        )


def check_symmetric(path: Path, matrix: Any) -> None:
    """UserError with the first element that is not the same in its place and its mirrored one."""
    different = (matrix != matrix.T).tocoo()
    if different.nnz:
        place = int(different.row[0]), int(different.col[0])
        said = [
            f"the value of row {row + 1}, column {column + 1} is {matrix[row, column]:g}"
            for row, column in (place, place[::-1])
        ]
        raise UserError(f"{path}: {', '.join(said)}; the matrix must be symmetric")


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
    theirs: SciPys,
    details: dict[str, Any],
) -> None:
    """Solve, write the solution if that is asked for, and report.

    Parameters
    ----------
    most: iterations
    details: what the command adds to the JSON
    """
    run = run_method(choice, method, most)
    found, source = run.found, equations.source
    x = run.values[found.result]
    beside, compared = theirs.rows(float(np.linalg.norm(equations.b)), found.residuals)
    rows = [(source.kind, source.text), *beside]
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
        outcome_of_jobs(choice, method.setup, run),
        {
            "file": str(equations.file),
            **source.details,
            **details,
            "tolerance": tolerance,
            **compared,
            "ended": found.why or None,
            "residuals": [value if np.isfinite(value) else None for value in found.residuals],
        },
        verdict=verdict,
        residual=residual,
    )
