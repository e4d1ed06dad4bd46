"""Rows dealt to elements, and an element's entries interleaved."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.t2s.sparse_parts import RowLoops
from tilewright.sim.t2s.sparse.dealing import dealt, row_digits
from tilewright.sim.t2s.sparse.entries import Entries
from tilewright.sim.t2s.sparse.interleaving import interleaved
from tilewright.verif.kit.sampling import cases, rng_of

from .plans import Made, made, random_entries

Ints = npt.NDArray[np.int64]


def steps_of(plan: Made, bounds: dict[str, int], given: Entries) -> int:
    return plan.images(bounds, {"A": given})[1][0].steps


def test_dealing_balances() -> None:
    """Rows of unlike lengths: hardly more steps than entries by elements, and never more than in
    the order of the loops."""
    rng = rng_of(1)
    bounds = {"i": 200, "k": 4000}
    given = random_entries(rng, (200, 4000), 6000)
    sizes: dict[str, Any] = {"slots": 8, "elements": 8, "slots_first": False}
    plans = {
        style: made({"A": "ik"}, {}, "i", style=style, extents={"k": 4096}, **sizes)
        for style in ("csr", "ciss")
    }
    steps = {style: steps_of(plan, bounds, given) for style, plan in plans.items()}
    ideal = len(given) / 8 + 4
    assert ideal <= steps["ciss"] < 1.2 * ideal
    assert steps["csr"] > 1.3 * steps["ciss"]


def test_dealing_looks_at_tiles() -> None:
    """Of rows with as many entries: those of one tile of k go to elements of their own."""
    rows = RowLoops("i", "iii", "ii", 2, 1, 2, 2)
    counts = np.array([[4, 0], [0, 4], [4, 0], [0, 4]])
    tile, _, element = row_digits(rows, dealt(rows, counts))
    assert tile.tolist() == [0] * 4
    assert element[0] != element[2]
    assert element[1] != element[3]


@pytest.mark.parametrize("seed", range(cases(40)))
def test_dealing_never_takes_more_steps(seed: int) -> None:
    rng = rng_of(seed)
    slots, elements = rng.integers(1, 6, 2).tolist()
    rows = RowLoops("i", "iii", "ii", elements, 1, slots, elements)
    counts = rng.geometric(0.1, (int(rng.integers(1, 60)), int(rng.integers(1, 5)))) - 1
    places = dealt(rows, counts)
    assert len(set(places.tolist())) == len(counts)

    def steps(places: Ints) -> int:
        loads: Counter[tuple[int, int, int]] = Counter()
        for place, row in zip(places.tolist(), counts.tolist(), strict=True):
            tile, _, element = (int(one) for one in row_digits(rows, np.array(place)))
            for part, count in enumerate(row):
                loads[tile, part, element] += count
        longest: Counter[tuple[int, int]] = Counter()
        for (tile, part, _), count in loads.items():
            longest[tile, part] = max(longest[tile, part], count)
        return longest.total()

    assert steps(places) <= steps(np.arange(len(counts)))


def apart(rows: list[int], places: list[int]) -> int:
    """The least distance of two places of one row."""
    last: dict[int, int] = {}
    least = len(rows) + 1
    for place, row in sorted(zip(places, rows, strict=True)):
        least = min(least, place - last.get(row, -len(rows) - 1))
        last[row] = place
    return least


@pytest.mark.parametrize("seed", range(cases(80)))
def test_rows_are_apart(seed: int) -> None:
    """As far as is asked, if that can be: if the longest rows leave enough to put between."""
    rng = rng_of(seed)
    lengths = rng.integers(1, 12, int(rng.integers(1, 12)))
    slots = np.repeat(np.arange(len(lengths)), lengths)
    nothing = np.zeros(len(slots), np.int64)
    longest = int(lengths.max())
    most = len(lengths)
    if longest > 1:
        # That many frames begin with each of the longest rows, and the last has nothing else.
        most = (len(slots) - int(np.count_nonzero(lengths == longest))) // (longest - 1)
    for between in range(1, most + 1):
        found = interleaved(nothing, slots, nothing, between)
        assert sorted(found.tolist()) == list(range(len(slots)))
        assert apart(slots.tolist(), found.tolist()) >= between
        # Entries of a row stay in their order.
        assert all((np.diff(found[slots == row]) > 0).all() for row in range(len(lengths)))


def test_rows_are_apart_over_tiles() -> None:
    """A row of one tile does not begin the next one, if there is another."""
    groups = np.array([0, 0, 1, 1])
    slots = np.array([0, 1, 0, 1])
    runs = np.zeros(4, np.int64)
    found = interleaved(groups, slots, runs, 2)
    assert found.tolist() == [0, 1, 0, 1]
    turned = interleaved(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 0, 1]), np.zeros(5, int), 2)
    # 0 1 0 | 1 0, where rows of tiles that have nothing to do with each other would be 0 1.
    assert turned.tolist() == [0, 2, 1, 1, 0]
    alone = interleaved(
        np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 0, 1]), np.array([0, 0, 0, 1, 1]), 2
    )
    assert alone.tolist() == [0, 2, 1, 0, 1]


def test_one_row_cannot_be_apart() -> None:
    """It is laid out without gaps: elements wait by themselves."""
    slots = np.zeros(5, np.int64)
    assert interleaved(slots, slots, slots, 4).tolist() == [0, 1, 2, 3, 4]
