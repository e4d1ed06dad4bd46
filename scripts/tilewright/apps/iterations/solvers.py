"""Systems of equations by methods of Krylov subspaces, beside SciPy's iterations."""

from __future__ import annotations

from ...sim.sida.iterations.biconjugate import biconjugate_gradients
from ...sim.sida.iterations.conjugate import conjugate_gradients
from ...sim.sida.iterations.linear import pipelined_gradients
from ...sim.sida.iterations.minimal_residuals import minimal_residuals
from ...sim.sida.result.products import Rules
from ..common.extras import need
from .application import Application, finish, numbers_of
from .equations import Equations
from .methods import SciPys, finish_method, scipy_products
from .options import SidaChoice
from .session import run_problem
from .verdict import residual_of

__all__ = ["solve_by_gradients", "solve_by_minimal_residuals", "solve_by_two_gradients"]


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
    """Stabilised biconjugate gradients, likewise."""
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
    """Generalised minimal residuals, likewise; a new space begins after ``restart`` iterations."""
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
