"""What products take on the tile engine, at any size: the cycle model alone, no values."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import CheckFailed, UserError
from ...hw.spec.host.activity import Stopwatch, activity
from ...sim.engine.counts import Counts
from ...sim.engine.cycles.machine import run_job
from ...sim.engine.cycles.report import EngineCycles
from ...sim.engine.job import Job
from ...sim.engine.products import plan_product
from ...sim.timing.bound_broken import BoundBroken
from .options import EngineSetting
from .tally import EngineTally

__all__ = ["timed_products"]


def timed_products(
    setting: EngineSetting,
    operation: str,
    shape: tuple[int, int, int],
    *,
    use_c: bool,
    times: int = 1,
    interval: int | None = None,
) -> EngineTally:
    """What a product takes, if it is computed so many times.

    Time does not depend on values, but a little on which operand the one before has read last.

    Parameters
    ----------
    setting, operation: the engine, and an operation of its unit
    shape: rows of A, depth, columns of B
    use_c: whether there is a C
    interval: cycles of an operation, if not the unit's own

    Raises UserError if the product does not fit the engine's memory, CheckFailed if a job took
    fewer cycles than its bound.
    """
    watch = Stopwatch()
    try:
        plan = plan_product(setting.config, operation, shape, use_c=use_c, memory=setting.memory)
    except ValueError as error:
        raise UserError(str(error)) from None
    tally = EngineTally()
    known: dict[int, tuple[list[EngineCycles], int]] = {}
    turn, left = 0, times
    with activity(f"{setting.unit.name}, cycle model"):
        while left:
            if turn not in known:
                known[turn] = _jobs(setting, plan.jobs, turn, interval)
            jobs, after = known[turn]
            count = left if after == turn else 1
            for job in jobs:
                tally.add(Counts(**job.counts), count)
                tally.take(job, count)
            left, turn = left - count, after
    tally.seconds = watch.seconds
    return tally


def _jobs(
    setting: EngineSetting, jobs: Iterable[Job], turn: int, interval: int | None
) -> tuple[list[EngineCycles], int]:
    """What the cycle model finds for each job, and the operand that was read last."""
    found: list[EngineCycles] = []
    for job in jobs:
        try:
            timed = run_job(
                setting.config,
                job,
                memory=setting.memory,
                gigahertz=setting.gigahertz,
                interval=interval,
                turn=turn,
            )
        except BoundBroken as error:
            raise CheckFailed(str(error)) from None
        found.append(timed)
        turn = timed.turn
    return found, turn
