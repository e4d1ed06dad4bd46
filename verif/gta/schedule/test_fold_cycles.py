"""Cycles of folds are those of elements that are moved register by register."""

from __future__ import annotations

from itertools import product

import pytest
from tilewright.sim.gta.fold_cycles import Folds, drained, interval, multiplied
from tilewright.verif.gta.schedule.elements import output_stationary, weight_stationary
from tilewright.verif.kit.sampling import by_size

SIZES = by_size((1, 2, 5), (1, 2, 3, 6), (1, 2, 3, 4, 5, 8))
TIMES = by_size((1, 4, 13), (1, 3, 4, 5, 9, 14), tuple(range(1, 20)))
SHAPES = list(product(SIZES, SIZES, TIMES, (1, 2, 3)))


def begins_of(one: Folds) -> list[int]:
    return [number * interval(one) for number in range(one.folds)]


@pytest.mark.parametrize("overlap", [True, False])
def test_weights_that_stay(overlap: bool) -> None:
    for rows, cols, time, folds in SHAPES:
        one = Folds(stationary=True, rows=rows, cols=cols, time=time, folds=folds, overlap=overlap)
        seen = weight_stationary(rows, cols, time, begins_of(one))
        assert seen.right
        assert seen.products == multiplied(one) == drained(one)


@pytest.mark.parametrize("overlap", [True, False])
def test_sums_that_stay(overlap: bool) -> None:
    """The empty fold that takes the last sums away comes as another fold would."""
    for rows, cols, time, folds in SHAPES:
        one = Folds(stationary=False, rows=rows, cols=cols, time=time, folds=folds, overlap=overlap)
        begins = begins_of(one)
        seen = output_stationary(rows, cols, time, begins, begins[-1] + interval(one))
        assert seen.right
        assert seen.products == multiplied(one)
        assert seen.sums == drained(one)


def test_nothing_less_would_do() -> None:
    """A cycle less between folds, and weights or sums are the wrong ones."""
    for rows, cols, time in product((2, 3, 5), (1, 4), (1, 2, 7)):
        one = Folds(stationary=True, rows=rows, cols=cols, time=time, folds=2)
        less = interval(one) - 1
        assert not weight_stationary(rows, cols, time, [0, less]).right
        assert not output_stationary(rows, cols, time, [0, less], 2 * less).right


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
