"""Systems of equations by methods of Krylov subspaces, beside SciPy's iterations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...sim.sida.iterations.biconjugate import biconjugate_gradients
from ...sim.sida.iterations.conjugate import conjugate_gradients
from ...sim.sida.iterations.jobs import Method
from ...sim.sida.iterations.linear import pipelined_gradients
from ...sim.sida.iterations.minimal_residuals import minimal_residuals
from ...sim.sida.result.products import Rules
from ..common.files import need
from ..common.matrix_files import write_array
from ..common.units.sida import SidaChoice
from ..common.units.sida_report import Residual, iteration_report, outcome_of_jobs
from ..common.units.sida_runs import run_method, run_problem
from .application import Application, finish, is_matrix, numbers_of, residual_of
from .inputs import Equations

__all__ = ["solve_by_gradients", "solve_by_minimal_residuals", "solve_by_two_gradients"]


Floats = NDArray[np.float64]
Row = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class SciPys:
    """Iterations of SciPy on the same system.

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
        """Returns the rows of the report, and the fields of the JSON, beside ours. ``residuals``
        are those before the first iteration and after each, ``size`` is that of the right side."""
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
    iteration_report(
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
    ).finish()


def solve_by_gradients(
    choice: SidaChoice, equations: Equations, most: int, *, tolerance: float, form: str
) -> None:
    """Conjugate gradients, plain or pipelined, in at most so many iterations, and their report."""
    linalg = need("scipy.sparse.linalg", "SciPy")
    # One product an iteration.
    theirs = scipy_products(
        lambda operator: linalg.cg(
            operator, equations.b, rtol=tolerance, atol=0, maxiter=10 * equations.size
        )[1],
        equations.matrix,
    )
    if form == "pipelined":
        _pipelined(choice, equations, most, tolerance, theirs)
        return
    method = conjugate_gradients(
        Rules.of(choice.config), equations.matrix, equations.b, tolerance=tolerance
    )
    finish_method(
        "cg", "conjugate gradients", choice, equations, method, most,
        tolerance=tolerance, theirs=SciPys(function="cg", iterations=theirs),
        details={"form": form},
    )  # fmt: skip


def solve_by_two_gradients(
    choice: SidaChoice, equations: Equations, most: int, *, tolerance: float
) -> None:
    """Solves a system by stabilised biconjugate gradients."""
    linalg = need("scipy.sparse.linalg", "SciPy")
    products = scipy_products(
        lambda operator: linalg.bicgstab(
            operator, equations.b, rtol=tolerance, atol=0, maxiter=10 * equations.size
        )[1],
        equations.matrix,
    )
    method = biconjugate_gradients(
        Rules.of(choice.config), equations.matrix, equations.b, tolerance=tolerance
    )
    # Two products an iteration; the last one may end behind its first.
    theirs = None if products is None else -(-products // 2)
    finish_method(
        "bicgstab", "stabilised biconjugate gradients", choice, equations, method, most,
        tolerance=tolerance, theirs=SciPys(function="bicgstab", iterations=theirs), details={},
    )  # fmt: skip


def solve_by_minimal_residuals(
    choice: SidaChoice, equations: Equations, most: int, *, tolerance: float, restart: int
) -> None:
    """Solves a system by generalised minimal residuals, restarted after ``restart`` iterations."""
    linalg = need("scipy.sparse.linalg", "SciPy")
    residuals: list[float] = []
    products = scipy_products(
        lambda operator: linalg.gmres(
            operator, equations.b, rtol=tolerance, restart=restart,
            maxiter=-(-10 * equations.size // restart), callback=residuals.append,
            callback_type="pr_norm",
        )[1],
        equations.matrix,
    )  # fmt: skip
    method = minimal_residuals(
        Rules.of(choice.config), equations.matrix, equations.b, tolerance=tolerance,
        restart=restart, words=choice.config.program_words,
    )  # fmt: skip
    finish_method(
        "gmres", "generalised minimal residuals", choice, equations, method,
        most, tolerance=tolerance,
        theirs=SciPys(function="gmres", iterations=None if products is None else len(residuals),
                      residuals=tuple(residuals)),
        details={"restart": restart},
    )  # fmt: skip


def _pipelined(
    choice: SidaChoice, equations: Equations, most: int, tolerance: float, theirs: int | None
) -> None:
    """The form of Ghysels and Vanroose, in one job."""
    matrix, b, fmt = equations.matrix, equations.b, choice.config.format
    problem = pipelined_gradients(Rules.of(choice.config), matrix, b, tolerance=tolerance)
    run = run_problem(choice, problem, most)
    x, count = numbers_of(choice, run.solution), run.solution.iterations
    verdict = residual_of(fmt, matrix, b, x, tolerance, count) if run.solution.settled else None
    said = f"{theirs:,} iterations" if theirs is not None else "does not converge"
    finish(
        Application(app="cg", what="pipelined conjugate gradients", choice=choice,
                    source=equations.source, problem=problem),
        run, x, [("SciPy's cg", said)],
        {"form": "pipelined", "tolerance": tolerance, "scipy_iterations": theirs},
        verdict, moves="the residual's square",
    )  # fmt: skip
