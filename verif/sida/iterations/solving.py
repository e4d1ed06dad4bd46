"""Systems of equations by methods that are sequences of jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from tilewright.hw.spec.formats import FORMATS
from tilewright.sim.numbers.values import decode
from tilewright.sim.sida.iterations.jobs import Found, Method, ModelMachine
from tilewright.sim.sida.result.products import Rules
from tilewright.verif.kit.sampling import cases


def random_graph(seed: int, size: int = 60, density: float = 0.04) -> csr_array:
    """Directed edges of weights 1 to 9."""
    rng = np.random.default_rng(seed)
    found = csr_array(random_array((size, size), density=density, rng=rng))
    found.data[:] = rng.integers(1, 10, found.nnz)
    return found


DOUBLE = Rules(fmt=FORMATS["fp64"], leaves=4, subtensor=4)


def solved_by(
    make: Callable[..., Method], rules: Rules, matrix: Any, b: Any, tolerance: float, most: int
) -> tuple[Found, Any]:
    """Solves on the model; returns the record and the solution."""
    method = make(rules, matrix, b, tolerance=tolerance)
    machine = ModelMachine(rules, method.setup)
    found = method.solve(machine, most)
    return found, decode(machine.vector(found.result)[:, 0], rules.fmt)


def scipys_iterates(solve: Callable[..., Any], matrix: Any, b: Any, tolerance: float) -> list[Any]:
    """Returns all iterates of a SciPy function, including the last one if it ends in the middle."""
    iterates: list[Any] = []
    x, failed = solve(
        matrix, b, rtol=tolerance, atol=0, callback=lambda x: iterates.append(x.copy())
    )
    assert not failed
    if not (x == iterates[-1]).all():
        iterates.append(x)
    return iterates


def check_every_iterate(
    make: Callable[..., Method], solve: Callable[..., Any], draw: Callable[[int], Any], near: float
) -> None:
    """Compares every iterate with SciPy's for matrices drawn from seeds, to within ``near`` times
    the largest value. Residuals must be those of the iterates, and the method must end when SciPy
    does."""
    for seed in range(max(2, cases(6))):
        matrix = draw(seed)
        b = np.random.default_rng(seed).normal(size=matrix.shape[0])
        iterates = scipys_iterates(solve, matrix, b, 1e-10)
        for count in (1, 2, 3, len(iterates)):
            found, x = solved_by(make, DOUBLE, matrix, b, 1e-10, count)
            assert found.iterations == count
            assert np.abs(x - iterates[count - 1]).max() < near * np.abs(x).max()
            assert len(found.residuals) == count + 1
            left = np.linalg.norm(b - matrix @ x)
            assert found.residuals[-1] == pytest.approx(left, rel=1e-3, abs=1e-13)
        found, _ = solved_by(make, DOUBLE, matrix, b, 1e-10, 200)
        assert found.settled
        assert abs(found.iterations - len(iterates)) <= 1
