"""``tilewright run cg|bicgstab|gmres``: systems of equations by methods of Krylov subspaces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...errors import UserError
from ...numbers_given import whole
from ...sim.sida.iterations.biconjugate import biconjugate_gradients
from ...sim.sida.iterations.conjugate import conjugate_gradients
from ...sim.sida.iterations.linear import pipelined_gradients
from ...sim.sida.iterations.minimal_residuals import minimal_residuals
from ...sim.sida.result.products import Rules
from ..common.extras import need
from .application import Application, finish, numbers_of
from .equations import (
    Equations,
    RightOption,
    SciPys,
    ToleranceOption,
    check_symmetric,
    finish_method,
    read_equations,
    scipy_products,
)
from .options import SidaChoice, SidaOptions, choose_sida
from .session import run_problem
from .verdict import residual_of

__all__ = ["bicgstab", "cg", "gmres"]

FORMS = ("plain", "pipelined")


def cg(
    file: Annotated[
        Path, typer.Argument(metavar="MATRIX", help="Symmetric, positive definite, .mtx or .npy.")
    ],
    right: RightOption = None,
    tolerance: ToleranceOption = 1e-5,
    form: Annotated[
        str,
        typer.Option(
            help="plain: an iteration a pass; pipelined: two, where the matrix is well conditioned."
        ),
    ] = "plain",
    *,
    options: SidaOptions,
) -> None:
    """Solve a system of equations by conjugate gradients, in fp64 unless `value` is set.

    It ends when the 2-norm of the residual is less than the tolerance times that of the right side;
    the residual is computed anew in float64, and SciPy's iterations counted.
    """
    if form not in FORMS:
        raise UserError(f"--form must be {' or '.join(FORMS)}, not {form!r}")
    choice = choose_sida(options, "cg", "mma", floats=True, value="fp64")
    equations = read_equations(choice, file, right)
    check_symmetric(file, equations.matrix)
    most = options.max_iterations or 10 * equations.size
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


def bicgstab(
    file: Annotated[Path, typer.Argument(metavar="MATRIX", help="Square, .mtx or .npy.")],
    right: RightOption = None,
    tolerance: ToleranceOption = 1e-5,
    *,
    options: SidaOptions,
) -> None:
    """Solve a system of equations by stabilised biconjugate gradients, in fp64 unless `value` is
    set.

    It ends when the 2-norm of the residual is less than the tolerance times that of the right side;
    the residual is computed anew in float64, and SciPy's iterations counted.
    """
    choice = choose_sida(options, "bicgstab", "mma", floats=True, value="fp64")
    equations = read_equations(choice, file, right)
    most = options.max_iterations or 10 * equations.size
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


def gmres(
    file: Annotated[Path, typer.Argument(metavar="MATRIX", help="Square, .mtx or .npy.")],
    right: RightOption = None,
    tolerance: ToleranceOption = 1e-5,
    restart: Annotated[
        int,
        typer.Option(parser=whole("--restart", 1, 1000), metavar="M",
                     help="Iterations until a new space begins, from the residual."),
    ] = 20,
    *,
    options: SidaOptions,
) -> None:  # fmt: skip
    """Solve a system of equations by generalised minimal residuals, two products a pass, in fp64
    unless `value` is set.

    It ends when the 2-norm of the residual is less than the tolerance times that of the right side;
    the residual is computed anew in float64, and that of each iteration compared with SciPy's.
    """
    choice = choose_sida(options, "gmres", "mma", floats=True, value="fp64")
    equations = read_equations(choice, file, right)
    restart = min(restart, equations.size)
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
        options.max_iterations or 10 * equations.size, tolerance=tolerance,
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
