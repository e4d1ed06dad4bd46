"""Checks the elements that the OEI dataflow buffers, step by step, and its known figures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.io import mmread
from scipy.sparse import tril
from tilewright.sim.sida.held import held
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.sampling import cases

KNOWN = {
    "p2p-Gnutella31": (19.8, 13.9),
    "cryg2500": (1.3, 1.2),
    "west0067": (16.7, 11.7),
    "karate": (22.4, 18.0),
}
"""The most and the mean that wait, in percent."""


def waiting(places: set[tuple[int, int]], size: int, subtensor: int) -> list[int]:
    """Returns the elements on chip after each step of a pass that follows only the rules."""
    steps = -(-size // subtensor)
    on_chip: set[tuple[int, int]] = set()
    found = []
    for step in range(steps):
        # The first product brings a step's columns; the second one takes all rows that are due.
        on_chip |= {(row, col) for row, col in places if col // subtensor == step}
        on_chip -= {(row, col) for row, col in on_chip if row // subtensor + 2 <= step}
        found.append(len(on_chip))
    return found


def test_step_by_step() -> None:
    rng = np.random.default_rng(1)
    for _ in range(cases(200)):
        size = int(rng.integers(1, 12))
        subtensor = int(rng.integers(1, 4))
        every = np.argwhere(rng.random((size, size)) < rng.random())
        found = held(every[:, 0], every[:, 1], size, subtensor)
        expected = waiting({(int(r), int(c)) for r, c in every}, size, subtensor)
        assert (found.steps, found.elements) == (len(expected), len(every))
        assert (found.peak, found.total) == (max(expected), sum(expected))
        assert found.mean == pytest.approx(np.mean(expected))
        assert found.peak_share * len(every) == pytest.approx(max(expected))
        assert found.mean_share * len(every) == pytest.approx(np.mean(expected))


def test_triangles() -> None:
    """Above the diagonal nothing waits; below it everything until its row."""
    rows, cols = np.triu_indices(20, 2)
    assert held(rows, cols, 20).peak == 0
    after = [sum(20 - max(c + 2, s - 1) for c in range(min(s + 1, 18))) for s in range(20)]
    assert held(cols, rows, 20).peak == max(after)


def test_nothing() -> None:
    none = np.zeros(0, np.int64)
    assert held(none, none, 5).peak_share == 0
    empty = held(none, none, 0)
    assert (empty.mean, empty.mean_share, empty.steps) == (0, 0, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"subtensor": 0}, "`subtensor` must be at least 1, not 0"),
        ({"rows": np.array([0, 3])}, "`rows` must be in 0..2, not 3"),
        ({"cols": np.array([-1, 1])}, "`cols` must be in 0..2, not -1"),
        ({"cols": np.array([1])}, "`cols` must be as many as `rows`, 2, not 1"),
    ],
)
def test_refusals(changes: dict[str, object], message: str) -> None:
    given = {"rows": np.array([0, 1]), "cols": np.array([1, 2]), "size": 3, **changes}
    with pytest.raises(ValueError, match=f"^{message}$"):
        held(**given)  # type: ignore[arg-type]


@needs_data
@pytest.mark.parametrize("name", KNOWN)
def test_known_figures(name: str) -> None:
    matrix = mmread(data_file(f"matrices/{name}.mtx")).tocoo()
    found = held(matrix.row, matrix.col, matrix.shape[0])
    shares = (round(100 * found.peak_share, 1), round(100 * found.mean_share, 1))
    assert shares == KNOWN[name]


@needs_data
def test_known_figures_of_a_half() -> None:
    half = tril(mmread(data_file("matrices/karate.mtx"))).tocoo()
    found = held(half.row, half.col, half.shape[0])
    assert round(100 * found.peak_share, 1) == 43.6
    assert round(100 * found.mean_share, 1) == 35.7
