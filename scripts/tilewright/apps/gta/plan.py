"""Schedules of a product among those that the user has left."""

from __future__ import annotations

from ...errors import UserError
from ...hw.spec.gta import is_float, result_bytes
from ...sim.gta.schedule.choice import Ranked, ranked
from ...sim.gta.schedule.pgemm import PGemm
from ...sim.gta.schedule.space import space
from .options import GtaChoice

__all__ = ["planned"]


def planned(choice: GtaChoice, problem: PGemm) -> list[Ranked]:
    """The best first. Raises UserError if there is none."""
    found = [one for one in space(choice.config, problem) if choice.asked.allows(one.schedule)]
    if not found:
        raise UserError(
            f"no schedule of {problem.m} x {problem.n} x {problem.k} in {problem.format} that is "
            f"asked for fits `vector_bytes` {choice.config.vector_bytes}{_sums(choice)}"
        )
    return ranked(found)


def _sums(choice: GtaChoice) -> str:
    """What segments need beside memory."""
    if is_float(choice.format) or (choice.asked.segments or 1) == 1:
        return ""
    return f", with a format of {8 * result_bytes(choice.format)} bits for sums of segments"
