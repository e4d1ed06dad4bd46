"""``tilewright run cg|bicgstab|gmres``: systems of equations by methods of Krylov subspaces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....numbers_given import real, whole
from ...common.files import ARRAY_NAMES
from ...common.first_lines import check_first_lines
from ...common.units.sida import SidaOptions, choose_sida
from ..options import IterationOptions

__all__ = ["bicgstab", "cg", "gmres"]

_FORMS = ("plain", "pipelined")

RightOption = Annotated[
    Path | None, typer.Option("--right", metavar="FILE", help="Right side; default: ones.")
]
ToleranceOption = Annotated[
    float,
    typer.Option(parser=real("--tolerance", 0, 1), metavar="T",
                 help="Stop when the 2-norm of the residual is less than T times that of the "
                      "right side."),
]  # fmt: skip


def cg(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="MATRIX", help=f"A symmetric positive definite matrix, {ARRAY_NAMES}."
        ),
    ],
    right: RightOption = None,
    tolerance: ToleranceOption = 1e-5,
    form: Annotated[
        str,
        typer.Option(
            help="plain: one iteration per pass; pipelined: two, for well-conditioned matrices."
        ),
    ] = "plain",
    *,
    how: IterationOptions,
    options: SidaOptions,
) -> None:
    """Solve a system of equations by conjugate gradients, in fp64 unless `value` is set.

    The residual is computed anew in float64. The report has SciPy's number of iterations, too.
    """
    if form not in _FORMS:
        raise UserError(f"--form must be {' or '.join(_FORMS)}, not {form!r}")
    choice = choose_sida(options, "cg", "mma", output=how.output, floats=True, value="fp64")
    check_first_lines(file, choice.check_matrix)
    if right:
        check_first_lines(right)
    from ..inputs import check_symmetric, read_equations

    equations = read_equations(choice, file, right)
    choice = choice.sized(equations.size, "rows")
    check_symmetric(file, equations.matrix)
    most = how.max_iterations or 10 * equations.size
    from ..solvers import solve_by_gradients

    solve_by_gradients(choice, equations, most, tolerance=tolerance, form=form)


def bicgstab(
    file: Annotated[
        Path, typer.Argument(metavar="MATRIX", help=f"A square matrix, {ARRAY_NAMES}.")
    ],
    right: RightOption = None,
    tolerance: ToleranceOption = 1e-5,
    *,
    how: IterationOptions,
    options: SidaOptions,
) -> None:
    """Solve a system of equations by stabilised biconjugate gradients, in fp64 unless `value` is
    set.

    The residual is computed anew in float64. The report has SciPy's number of iterations, too.
    """
    choice = choose_sida(options, "bicgstab", "mma", output=how.output, floats=True, value="fp64")
    check_first_lines(file, choice.check_matrix)
    if right:
        check_first_lines(right)
    from ..inputs import read_equations

    equations = read_equations(choice, file, right)
    choice = choice.sized(equations.size, "rows")
    most = how.max_iterations or 10 * equations.size
    from ..solvers import solve_by_two_gradients

    solve_by_two_gradients(choice, equations, most, tolerance=tolerance)


def gmres(
    file: Annotated[
        Path, typer.Argument(metavar="MATRIX", help=f"A square matrix, {ARRAY_NAMES}.")
    ],
    right: RightOption = None,
    tolerance: ToleranceOption = 1e-5,
    restart: Annotated[
        int,
        typer.Option(parser=whole("--restart", 1, 1000), metavar="M",
                     help="Start a new Krylov space from the residual after M iterations."),
    ] = 20,
    *,
    how: IterationOptions,
    options: SidaOptions,
) -> None:  # fmt: skip
    """Solve a system of equations by generalised minimal residuals, two products per pass, in fp64
    unless `value` is set.

    The residual is computed anew in float64. That of each iteration is compared with SciPy's.
    """
    choice = choose_sida(options, "gmres", "mma", output=how.output, floats=True, value="fp64")
    check_first_lines(file, choice.check_matrix)
    if right:
        check_first_lines(right)
    from ..inputs import read_equations

    equations = read_equations(choice, file, right)
    choice = choice.sized(equations.size, "rows")
    most = how.max_iterations or 10 * equations.size
    from ..solvers import solve_by_minimal_residuals

    restart = min(restart, equations.size)
    solve_by_minimal_residuals(choice, equations, most, tolerance=tolerance, restart=restart)
