"""Orders of rows and columns, against the rules of their papers done slowly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse import random_array as random_sparse
from tilewright.sim.sida.order import ORDERS, graph_order, inverse, near_neighbours, upper
from tilewright.verif.kit.sampling import cases


def drawn(rng: np.random.Generator, size: int) -> csr_array:
    """A matrix with places anywhere, on the diagonal, too."""
    return csr_array(random_sparse((size, size), density=rng.random() * 0.4, rng=rng))


def in_common(matrix: csr_array, one: int, other: int) -> int:
    """Elements between two vertices, and columns in which both have elements."""
    dense = matrix.toarray() != 0
    np.fill_diagonal(dense, False)
    return int(dense[one, other]) + int(dense[other, one]) + int((dense[one] & dense[other]).sum())


@pytest.mark.parametrize("name", ORDERS)
def test_every_number_once(name: str) -> None:
    rng = np.random.default_rng(3)
    for size in (1, 2, 17, 40):
        order = ORDERS[name](drawn(rng, size))
        assert sorted(order) == list(range(size))
        assert (order[inverse(order)] == np.arange(size)).all()


def test_graph_order_takes_the_nearest() -> None:
    rng = np.random.default_rng(4)
    for _ in range(cases(40)):
        size, window = int(rng.integers(2, 25)), int(rng.integers(1, 6))
        matrix = drawn(rng, size)
        order = graph_order(matrix, window)
        for place in range(1, size):
            recent = order[max(0, place - window) : place]
            scores = {
                int(left): sum(in_common(matrix, int(left), int(one)) for one in recent)
                for left in order[place:]
            }
            assert scores[int(order[place])] == max(scores.values())


def test_graph_order_brings_neighbours_together() -> None:
    rng = np.random.default_rng(5)
    size = 60
    ring = np.arange(size)
    hidden = rng.permutation(size)
    matrix = csr_array((np.ones(size), (hidden[ring], hidden[(ring + 1) % size])), (size, size))
    assert near_neighbours(matrix, graph_order(matrix)) > near_neighbours(matrix, ring)


def test_near_neighbours() -> None:
    rng = np.random.default_rng(6)
    matrix = drawn(rng, 20)
    order = rng.permutation(20)
    expected = sum(
        in_common(matrix, int(order[one]), int(order[other]))
        for other in range(20)
        for one in range(max(0, other - 5), other)
    )
    assert near_neighbours(matrix, order) == expected


def test_upper_makes_acyclic_graphs_upper() -> None:
    """Every matrix that can be upper triangular gets such an order."""
    rng = np.random.default_rng(7)
    for _ in range(cases(40)):
        size = int(rng.integers(1, 30))
        triangle = np.triu(rng.random((size, size)) < 0.3)
        hidden = rng.permutation(size)
        matrix = csr_array(triangle[hidden][:, hidden].astype(float))
        order = upper(matrix)
        assert not np.tril(matrix.toarray()[order][:, order], -1).any()


def test_upper_leaves_less_than_half_below() -> None:
    """Eades, Lin and Smyth prove the bound: up to half the elements, less a sixth of the
    vertices."""
    rng = np.random.default_rng(8)
    for _ in range(cases(40)):
        size = int(rng.integers(3, 40))
        one, other = np.triu_indices(size, 1)
        kept = rng.random(len(one)) < 0.4
        turned = rng.random(len(one)) < 0.5
        rows, cols = np.where(turned, one, other)[kept], np.where(turned, other, one)[kept]
        matrix = csr_array((np.ones(len(rows)), (rows, cols)), (size, size))
        order = upper(matrix)
        below = np.tril(matrix.toarray()[order][:, order], -1).sum()
        connected = len(set(rows) | set(cols))
        assert below <= len(rows) / 2 - connected / 6


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"^`window` must be at least 1, not 0$"):
        graph_order(csr_array((3, 3)), 0)
    for order in (graph_order, upper):
        with pytest.raises(ValueError, match=r"^`matrix` must be square, not 2 x 3$"):
            order(csr_array((2, 3)))
