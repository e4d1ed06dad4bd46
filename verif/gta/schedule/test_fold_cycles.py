"""Cycles of folds are those of elements that are moved register by register."""

from __future__ import annotations

from itertools import product

import pytest
from tilewright.sim.gta.fold_cycles import Folds, drained, interval, multiplied
from tilewright.sim.gta.pipeline import Pipeline
from tilewright.verif.gta.schedule.elements import output_stationary, weight_stationary
from tilewright.verif.kit.sampling import by_size

SIZES = by_size((1, 2, 5), (1, 2, 3, 6), (1, 2, 3, 4, 5, 8))
TIMES = by_size((1, 4, 13), (1, 3, 4, 5, 9, 14), tuple(range(1, 20)))
SHAPES = list(product(SIZES, SIZES, TIMES, (1, 2, 3)))
LEAST = Pipeline(reload=-1, turn=0)
"""What the elements can do at best."""


def begins_of(one: Folds, pipeline: Pipeline, first: int) -> list[int]:
    return [first + number * interval(one, pipeline) for number in range(one.folds)]


@pytest.mark.parametrize("pipeline", [Pipeline(), LEAST, Pipeline(reload=3)])
def test_weights_that_stay(pipeline: Pipeline) -> None:
    for rows, cols, time, folds in SHAPES:
        one = Folds(stationary=True, rows=rows, cols=cols, time=time, folds=folds)
        seen = weight_stationary(rows, cols, time, begins_of(one, pipeline, rows))
        assert seen.right
        assert seen.products == multiplied(one, pipeline) == drained(one, pipeline)


@pytest.mark.parametrize("pipeline", [Pipeline(), LEAST, Pipeline(turn=4)])
def test_sums_that_stay(pipeline: Pipeline) -> None:
    for rows, cols, time, folds in SHAPES:
        one = Folds(stationary=False, rows=rows, cols=cols, time=time, folds=folds)
        begins = begins_of(one, pipeline, 0)
        before = rows + pipeline.turn if folds > 1 else 0
        seen = output_stationary(rows, cols, time, begins, begins[-1] + max(time, before))
        assert seen.right
        assert seen.products == multiplied(one, pipeline)
        assert seen.sums == drained(one, pipeline)


def test_nothing_less_would_do() -> None:
    """A cycle less between folds, and weights or sums are the wrong ones."""
    for rows, cols, time in product((2, 3, 5), (1, 4), (1, 2)):
        begins = [rows, 3 * rows - 2]
        assert not weight_stationary(rows, cols, time, begins).right
        assert not output_stationary(rows, cols, time, [0, rows - 1], 2 * rows - 2).right


@pytest.mark.parametrize("stationary", [True, False])
def test_folds_one_by_one(stationary: bool) -> None:
    """Without overlap a fold begins when the last product of the one before it is done."""
    for rows, cols, time, folds in SHAPES:
        one = Folds(
            stationary=stationary, rows=rows, cols=cols, time=time, folds=folds, overlap=False
        )
        load = rows if stationary else 0
        assert interval(one) == load + rows + cols + time - 2
        assert multiplied(one) == folds * interval(one)
