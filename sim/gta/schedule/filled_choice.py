"""A product in two parts: the full folds in a direction, and what is left over of all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ....hw.spec.gta import GtaConfig
from ..array_schedule import Schedule
from ..tiles.choice import Choice, candidates, choose
from .block_cost import PGemm
from .evaluate import cut

__all__ = ["FilledChoice", "choose_filled", "filled_candidates"]


@dataclass(frozen=True)
class FilledChoice:
    """A choice for both parts, which run one after the other, one job each.

    Parameters
    ----------
    full: of the full folds
    rest: of what is left over, on the layout and in the dataflow that take fewest cycles
    axis: which of M, N and K is cut, as its number
    at: where
    """

    full: Choice
    rest: Choice
    axis: int
    at: int

    @property
    def cycles(self) -> int:
        """About how many both take."""
        return self.full.cycles + self.rest.cycles

    @property
    def cost(self) -> tuple[int, int]:
        """The cost that the best choice minimises: cycles, then elements loaded."""
        return self.cycles, self.full.tiling.loaded + self.rest.tiling.loaded

    @property
    def schedule(self) -> Schedule:
        """The schedule, in the terms of the space of schedules."""
        return replace(self.full.schedule, filled=True)


def filled_candidates(
    config: GtaConfig,
    format: str,
    sizes: tuple[int, int, int],
    *,
    result: str = "wrap",
    dataflow: str = "auto",
    layout: tuple[int, int] | None = None,
    lateral: bool = True,
    overlap: bool = True,
) -> list[FilledChoice]:
    """The best tiles of both parts for each layout and dataflow that is left and leaves something
    over. Sums that are narrowed at the end are not cut along K."""
    m, n, k = sizes
    problem, found = PGemm(m=m, n=n, k=k, format=format), []
    flags: dict[str, Any] = {"result": result, "lateral": lateral, "overlap": overlap}
    for one in candidates(config, format, sizes, dataflow=dataflow, layout=layout, **flags):
        schedule = one.schedule
        parts = cut(problem, schedule)
        if parts is None or (parts[0].k < k and result == "saturate"):
            continue
        own, others = ((part.m, part.n, part.k) for part in parts)
        where = (schedule.rows, schedule.cols)
        full = choose(config, format, own, dataflow=schedule.dataflow, layout=where, **flags)
        rest = choose(config, format, others, result=result, overlap=overlap)
        if full and rest:
            axis = [a == b for a, b in zip(own, sizes, strict=True)].index(False)
            found.append(FilledChoice(full, rest, axis, own[axis]))
    return found


def choose_filled(
    config: GtaConfig, format: str, sizes: tuple[int, int, int], **settings: Any
) -> FilledChoice:
    """Chooses the candidate of the fewest cycles. Raises ValueError if nothing is left over."""
    found = filled_candidates(config, format, sizes, **settings)
    if not found:
        m, n, k = sizes
        raise ValueError(
            f"`filled` must be False where nothing is left over, as of {m} x {n} x {k} in {format} "
            "in the dataflow, layout and direction that are given"
        )
    return min(found, key=lambda one: one.cost)
