"""Systems of equations by methods that are sequences of jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from tilewright.hw.spec.formats import FORMATS, Format
from tilewright.sim.numbers.values import decode, encode
from tilewright.sim.sida.iterations.graphs import columns_of
from tilewright.sim.sida.iterations.jobs import Found, Job, Method, ModelMachine, Setup, together
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


# Drawn sequences of jobs: two matrices, three vectors, programs of one product and of two.

PROGRAMS = together(
    "scalar s\nvector a\nvector b\nreduce first sum\nreduce second max",
    {
        "both": "e1:\n load r1, a\n fma r1, s, y, r1\n reduce first, r1\n out r1\n"
                "e2:\n mul r1, y, first\n reduce second, r1\n store b, r1\n out r1",
        "one": "e1:\n load r1, b\n fma r1, second, y, r1\n mul r1, r1, s\n store a, r1\n out r1",
    },
)  # fmt: skip

EVERY_JOB = (
    Job(program="both", x="b", matrix="left"),
    Job(program="one", x="b", matrix="right", second=False),
    Job(program="both", x="a"),
    Job(program="one", x="a", second=False),
    Job(program="both", x="a", matrix="right"),
)
"""Products of either matrix, once or twice, and sweeps over vectors."""


def drawn_setup(seed: int, size: int, fmt: Format, density: float = 0.3) -> Setup:
    """Two matrices, and drawn vectors."""
    rng = np.random.default_rng(seed)
    return Setup(
        size=size,
        matrices={
            name: columns_of(csr_array(random_graph(seed + more, size, density=density)), fmt)
            for more, name in enumerate(("left", "right"))
        },
        programs=PROGRAMS,
        vectors={name: encode(rng.normal(size=(size, 1)), fmt) for name in ("a", "b", "c")},
        given={"s": 0.5, "first": 0.0, "second": 0.25},
    )
