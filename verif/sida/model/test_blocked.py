"""Blocked storage: every element once, found by columns and by rows; its bytes."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.sim.sida.blocked import SIDES, Blocked, best_side, flat_bytes
from tilewright.sim.sida.result.products import Columns
from tilewright.verif.kit.sampling import cases
from tilewright.verif.sida.model.drawn import drawn


def same(one: Columns, other: Columns) -> bool:
    return all(
        (getattr(one, name) == getattr(other, name)).all()
        for name in ("pointers", "rows", "values")
    )


@pytest.mark.parametrize("side", SIDES)
def test_there_and_back(side: int) -> None:
    rng = np.random.default_rng(side)
    for _ in range(max(2, cases(10))):
        size = int(rng.integers(1, 4 * side))
        matrix = drawn(rng, size, "fp64", 0.2 * rng.random())
        found = Blocked.of(matrix, side)
        assert same(found.unblocked(), matrix)
        elements = {
            (i, j): v for i, j, v in zip(matrix.rows, matrix.columns, matrix.values, strict=True)
        }
        # Blocks in column order and in row order.
        across = -(-size // side)
        by_columns, by_rows = {}, {}
        for column in range(across):
            for n in range(found.column_pointers[column], found.column_pointers[column + 1]):
                for place in range(found.ends[n], found.ends[n + 1]):
                    i = found.block_rows[n] * side + int(found.rows[place])
                    by_columns[i, column * side + int(found.columns[place])] = found.values[place]
        for row in range(across):
            for at in range(found.row_pointers[row], found.row_pointers[row + 1]):
                n = found.row_blocks[at]
                for place in range(found.ends[n], found.ends[n + 1]):
                    j = found.block_columns[at] * side + int(found.columns[place])
                    by_rows[row * side + int(found.rows[place]), j] = found.values[place]
        assert by_columns == by_rows == elements


def test_bytes_by_hand() -> None:
    """Two full blocks of four rows in a matrix of eight: 32 elements of 8 bytes."""
    full = np.kron(np.eye(2), np.ones((4, 4)))
    rows = np.nonzero(full.T)[1]
    matrix = Columns(
        pointers=np.arange(9) * 4, rows=rows.astype(np.int64), values=np.ones(32, np.uint64)
    )
    found = Blocked.of(matrix, 4)
    assert found.blocks == 2
    pointers, blocks, ends, elements = 2 * 3 * 4, 2 * 3 * 4, 3 * 4, 32 * (8 + 2)
    assert found.bytes(8) == pointers + blocks + ends + elements
    assert found.column_bytes(8) == 3 * 4 + 2 * 4 + ends + elements
    assert flat_bytes(matrix, 8) == 32 * 12 + 9 * 4
    assert best_side(matrix, 8).side == 8


def test_no_elements() -> None:
    none = Columns(
        pointers=np.zeros(6, np.int64), rows=np.zeros(0, np.int64), values=np.zeros(0, np.uint64)
    )
    found = Blocked.of(none, 16)
    assert (found.blocks, found.bytes(4)) == (0, 2 * 2 * 4 + 4)
    assert same(found.unblocked(), none)


def test_a_side_that_is_none() -> None:
    none = Columns(
        pointers=np.zeros(2, np.int64), rows=np.zeros(0, np.int64), values=np.zeros(0, np.uint64)
    )
    with pytest.raises(
        ValueError, match=r"^`side` must be one of 4, 8, 16, 32, 64, 128, 256, not 512$"
    ):
        Blocked.of(none, 512)
