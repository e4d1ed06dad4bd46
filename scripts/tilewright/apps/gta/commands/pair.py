"""``tilewright run pair``: two products at the same time."""

from __future__ import annotations

from typing import Annotated

import typer

from ....errors import UserError, user_errors
from ...common.files import check_output
from ...common.first_lines import check_first_lines
from ...common.options import PANEL
from ...common.units.gta import ScheduleOptions
from ..choice import VectorOptions, choose_gta
from ..pair_jobs import FORM, parse_job

__all__ = ["pair"]


def pair(
    first: Annotated[
        str,
        typer.Argument(
            metavar="JOB1",
            help=f"{FORM}: a product A B; lanes are numbered from 0.",
        ),
    ],
    second: Annotated[str, typer.Argument(metavar="JOB2", help="Another product, on other lanes.")],
    layout: Annotated[
        str | None,
        typer.Option(
            metavar="RxC",
            help="Rows and columns that all lanes make up; default: those of fewest cycles.",
            rich_help_panel=PANEL,
        ),
    ] = None,
    *,
    options: VectorOptions,
) -> None:
    """Multiply two pairs of matrices on GTA at the same time, each on its own lanes.

    Both products are checked against NumPy and the model. With rtl and cycles the report has the
    cycles of each alone, too.
    """
    jobs = parse_job(first), parse_job(second)
    how = ScheduleOptions(layout=layout)
    choices = (
        choose_gta(options, jobs[0].mode, how=how),
        choose_gta(options, jobs[1].mode, how=how),
    )
    for job, text in zip(jobs, (first, second), strict=True):
        # Sums of floats are chains in ascending k.
        if job.mode in choices[0].config.floats and job.dataflow in ("ws", "is"):
            raise UserError(f"{text}: dataflow must be one of auto, os in {job.mode}, not "
                            f"{job.dataflow!r}")  # fmt: skip
        if job.output:
            check_output(job.output)
    if jobs[0].output and jobs[0].output == jobs[1].output:
        raise UserError(f"out must be another file for each job, not {str(jobs[0].output)!r} twice")
    from ....sim.gta.driver import check_lanes

    with user_errors(ValueError):
        check_lanes(choices[0].config, jobs[0].lanes, jobs[1].lanes, choices[0].asked.layout)
    for job in jobs:
        for file in (job.a, job.b):
            check_first_lines(file)
    from ..pair import multiply_pair

    multiply_pair(jobs, choices)
