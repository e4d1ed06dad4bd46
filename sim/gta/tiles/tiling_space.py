"""The tilings of a product that fit the memories of the lanes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ....hw.spec.gta import LEFT_WORD_BYTES, GtaConfig
from ....hw.spec.jobs.gta_commands import lane_words
from ..regions import Region
from .problem import Problem
from .tiling import Tiling

__all__ = ["tilings"]

_MOST_FOLDS = 8


def tilings(
    problem: Problem, region: Region, config: GtaConfig, sharers: int = 1
) -> Iterator[Tiling]:
    """Tilings that fit, twice if any does, of tiles of all sizes. None if a sum of limbs of the
    array's rows is more than an element holds."""
    found = list(_tilings(problem, region, config, 2, sharers))
    yield from found or _tilings(problem, region, config, 1, sharers)


def _tilings(
    problem: Problem, region: Region, config: GtaConfig, slots: int, sharers: int
) -> Iterator[Tiling]:
    rows, cols = region.array
    down, across = rows // problem.limbs, cols // problem.limbs
    ws = problem.operation == "ws"
    edge = lane_words(config, "left") // slots * LEFT_WORD_BYTES
    segment = -(-problem.k // problem.segments)
    if ws and rows > config.most_products:
        return
    most_time = segment if ws or problem.floats else min(segment, config.most_products)
    row_most = -(-segment // rows) if ws else -(-problem.m // down)
    col_most = -(-problem.n // across)
    longest = edge if not ws else min(edge, problem.m)
    times = list(_up_to(min(longest, problem.m if ws else most_time)))
    for row_folds, col_folds, time in product(
        _up_to(min(_MOST_FOLDS, row_most)), _up_to(min(_MOST_FOLDS, col_most)), times
    ):
        made = Tiling(
            problem=problem,
            region=region,
            config=config,
            row_folds=row_folds,
            col_folds=col_folds,
            m=time if ws else row_folds * down,
            n=col_folds * across,
            k=row_folds * rows if ws else time,
            slots=slots,
            sharers=sharers,
        )
        if made.fits:
            yield made


def _up_to(most: int) -> Iterator[int]:
    """1, 2, 4, ... and the number itself."""
    step = 1
    while step < most:
        yield step
        step *= 2
    yield most
