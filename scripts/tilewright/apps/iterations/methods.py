"""The solution of a system of equations in a sequence of jobs, and the report of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...sim.sida.iterations.jobs import Method
from ..common.extras import need
from ..common.matrix_files import write_array
from .application import is_matrix
from .equations import Equations
from .options import SidaChoice
from .outcome import outcome_of_jobs
from .report import Residual, finish_iterations
from .sequence_session import run_method
from .verdict import residual_of

__all__ = ["SciPys", "finish_method", "scipy_products"]

Floats = NDArray[np.float64]
Row = tuple[str, str]


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
