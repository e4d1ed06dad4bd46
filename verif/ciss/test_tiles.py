"""Tiles of a tensor: together they are the tensor, each is its part's own stream."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.hw.spec.ciss import MARKERS
from tilewright.sim.sparse.ciss import from_tensor, to_tensor
from tilewright.sim.sparse.ciss_tiles import cuts
from tilewright.sim.sparse.tensor import modes_from
from tilewright.verif.ciss.cases import Case, layout, tensor
from tilewright.verif.ciss.oracle import stream
from tilewright.verif.ciss.tiles import tile
from tilewright.verif.kit.sampling import cases

VALUES = st.sampled_from([0.0, -0.0, 1.0, -2.5, 1e-9, float("inf"), float("nan"), 7e4])


@st.composite
def cut_tensors(draw: Any) -> tuple[Case, list[list[int]]]:
    """A tensor, and for each mode of the stream where it is cut."""
    order = draw(st.integers(2, 5))
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=order, max_size=order)))
    entry = st.tuples(st.tuples(*(st.integers(0, size - 1) for size in shape)), VALUES)
    where = layout(
        draw(st.integers(1, 4)), order, draw(st.sampled_from(["fp16", "fp32"])), 16,
        draw(st.sampled_from(MARKERS)),
    )  # fmt: skip
    case = Case(where, draw(st.integers(0, order - 1)), shape, draw(st.lists(entry, max_size=25)))
    edges = [
        [0, *sorted(draw(st.sets(st.integers(1, shape[mode]), max_size=3)) - {shape[mode]}),
         shape[mode]]
        for mode in modes_from(order, case.mode)
    ]  # fmt: skip
    return case, edges


@settings(max_examples=cases(800), deadline=None)
@given(cut_tensors())
def test_tiles_are_the_tensor(cut: tuple[Case, list[list[int]]]) -> None:
    """Every value of the tensor's own stream is in one tile, at its place; each tile is, byte for
    byte, the stream of the entries in its ranges with local indices; none is empty."""
    case, edges = cut
    where, order, modes = case.layout, len(case.shape), modes_from(len(case.shape), case.mode)
    whole = to_tensor(from_tensor(case.tensor, where, case.mode))
    rounded = {
        tuple(place): value
        for place, value in zip(whole.indices.tolist(), whole.values.tolist(), strict=True)
    }
    found: dict[tuple[int, ...], str] = {}
    origins = []
    for part in tile(case.tensor, where, edges[0], edges[1:], case.mode):
        origins.append(tuple(part.origin[mode] for mode in modes))
        for mode, edge in zip(modes, edges, strict=True):
            size = part.ciss.shape[mode]
            assert (part.origin[mode], part.origin[mode] + size) in list(pairwise(edge))
        mine = to_tensor(part.ciss)
        assert mine.nnz
        for place, value in zip(mine.indices + part.origin, mine.values, strict=True):
            assert tuple(place.tolist()) not in found
            found[tuple(place.tolist())] = repr(float(value))
        ends = np.add(part.origin, part.ciss.shape)
        inside = [
            (tuple(int(n) for n in np.subtract(place, part.origin)), value)
            for place, value in rounded.items()
            if all(np.less_equal(part.origin, place)) and all(np.less(place, ends))
        ]
        memory, dropped = stream(inside, order=order, **case.oracle)
        assert part.ciss.slots.tobytes() == memory
        assert dropped == 0
    assert found == {place: repr(value) for place, value in rounded.items()}
    assert origins == sorted(origins)


def test_cuts() -> None:
    assert cuts(7, 3) == (0, 3, 6, 7)
    assert cuts(6, 3) == (0, 3, 6)
    assert cuts(2, 3) == (0, 2)
    assert cuts(0, 3) == (0,)


def test_a_mode_wider_than_an_index() -> None:
    """A tensor that does not fit one stream fits tiles."""
    wide = tensor((3, 200_000), [((0, 70_000), 1.5), ((2, 199_999), 2.5)])
    where = layout(2, 2, index_bits=16)
    with pytest.raises(ValueError, match="must have at most 65536 indices"):
        from_tensor(wide, where)
    parts = list(tile(wide, where, cuts(3, 3), [cuts(200_000, 65_536)]))
    assert [part.origin for part in parts] == [(0, 65_536), (0, 196_608)]
    assert [to_tensor(part.ciss).indices.tolist() for part in parts] == [
        [[0, 70_000 - 65_536]],
        [[2, 199_999 - 196_608]],
    ]


@pytest.mark.parametrize(
    ("slices", "ranges", "mode", "message"),
    [
        ([0, 4], [[0, 2]], 0, "`ranges` must be of 2 modes, not 1"),
        ([0, 3], [[0, 2], [0, 2]], 0, "cuts of mode 0 must ascend from 0 to 4"),
        ([0, 4], [[0, 2], [1, 2]], 0, "cuts of mode 2 must ascend from 0 to 2"),
        ([0, 2], [[0, 3, 3, 4], [0, 2]], 1, "cuts of mode 0 must ascend from 0 to 4"),
        ([], [[0, 2], [0, 2]], 0, "cuts of mode 0 must ascend from 0 to 4"),
        ([0, 4], [[0, 2], [0, 2]], 3, "`mode` must be in 0..2, not 3"),
    ],
)
def test_refused_cuts(slices: list[int], ranges: list[list[int]], mode: int, message: str) -> None:
    with pytest.raises(ValueError, match="must") as caught:
        tile(tensor((4, 2, 2), []), layout(), slices, ranges, mode)
    assert str(caught.value) == message


def test_a_step_of_none() -> None:
    with pytest.raises(ValueError, match=r"^`step` must be at least 1, not 0$"):
        cuts(4, 0)
