"""Indices that reach beyond their bounds, in tiles that these do not fill."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.t2s.compiler.passes import programs
from tilewright.hw.t2s.language import Computation, compute, indices, tensor
from tilewright.sim.t2s.checking import random_operands
from tilewright.sim.t2s.driver import Driver
from tilewright.sim.t2s.interpreter import interpret
from tilewright.sim.t2s.model import T2sModel

_WINDOW = """
from tilewright.hw.t2s.language import compute, indices, tensor

n, r, h, nn, rr, rrr = indices("n r h nn rr rrr")
X = tensor("X", "int16", h)
Y = compute("Y", "int16", n, sum_over=r, semiring={semiring!r})[X[2 * n + r]]
Y.tile(n, (nn, 2)).tile(r, (rr, 2), (rrr, 2)).order(n, r, rr, nn, rrr).vectorise(rrr)
Y.accumulate(stall="allowed")
"""


@pytest.mark.parametrize(
    ("semiring", "reduced"), [("mma", np.sum), ("maxplus", np.max), ("minmax", np.min)]
)
def test_a_window_that_no_weight_ends(tmp_path: Path, semiring: str, reduced: np.ufunc) -> None:
    """Nothing but X has r, and where r is beyond its bound, X[2 n + r] may be a word."""
    file = tmp_path / "window.py"
    file.write_text(_WINDOW.format(semiring=semiring))
    words = np.random.default_rng(1).integers(-99, 100, 2 * 6 + 5)
    wanted = [reduced(words[2 * n : 2 * n + 5]) for n in range(7)]
    driver = Driver(T2sModel(T2sConfig(design=str(file))))
    assert driver.compute({"r": 5}, X=words).tolist() == wanted


def _distances(semiring: str) -> Computation:
    """A sum over r, which B does not have."""
    n, k, r, kk, rr = indices("n k r kk rr")
    a, b = tensor("A", "fp32", n, k, r), tensor("B", "fp32", n, k)
    done = compute("D", "fp32", n, sum_over=(k, r), semiring=semiring)[a[n, k, r] * b[n, k]]
    return done.tile(k, (kk, 3)).tile(r, (rr, 2)).order(n, k, r, kk, rr)


@pytest.mark.parametrize("semiring", ["addnorm", "minmul", "maxmul"])
def test_products_with_padding(semiring: str) -> None:
    found = [program for _, program in programs(_distances(semiring))]
    for bounds, fits in (({"n": 2, "k": 4, "r": 4}, True), ({"n": 2, "k": 4, "r": 3}, False)):
        operands = random_operands(found[0], bounds, seed=1)
        wanted = interpret(found[0], bounds, operands)
        for program in found[1:]:
            if fits:
                assert np.array_equal(interpret(program, bounds, operands), wanted)
                continue
            told = (
                f"bound of r must be a multiple of 2 on {semiring}, not 3: B does not have the "
                "index, and products of its words with padding would count"
            )
            with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
                interpret(program, bounds, operands)


def test_integers_have_no_infinity(tmp_path: Path) -> None:
    """On minplus, 127 and a word may be less than a sum."""
    file = tmp_path / "paths.py"
    file.write_text(
        "from tilewright.hw.t2s.language import compute, indices, tensor\n"
        'i, k, l, ll = indices("i k l ll")\n'
        'A, B = tensor("A", "fp32", i, k, l), tensor("B", "fp32", i, k)\n'
        'D = compute("D", "fp32", i, sum_over=(k, l), semiring="minplus")[A[i, k, l] * B[i, k]]\n'
        'D.tile(l, (ll, 2)).accumulate(stall="allowed")\n'
    )
    left, right = np.full((1, 1, 3), 100), np.full((1, 1), -99)
    floats = Driver(T2sModel(T2sConfig(design=str(file))))
    assert floats.compute(A=left, B=right).tolist() == [1]
    integers = Driver(T2sModel(T2sConfig(design=str(file), format="int8")))
    with pytest.raises(ValueError, match=r"^bound of l must be a multiple of 2 on minplus, not"):
        integers.compute(A=left, B=right)


def test_more_loops_than_python_takes() -> None:
    """In one another it has at most twenty."""
    names = "abcdefg"
    i = dict(zip(names, indices(" ".join(names)), strict=True))
    left, right = tensor("L", "int8", *(i[n] for n in "abcde")), tensor("R", "int8", i["f"], i["g"])
    done = compute("D", "int8", i["a"], sum_over=tuple(i[n] for n in "bcdefg"))[
        left[tuple(i[n] for n in "abcde")] * right[i["f"], i["g"]]
    ]
    for name in names:
        done.tile(i[name], *((one, 1) for one in indices(f"{name}2 {name}3 {name}4")))
    bounds = dict.fromkeys(names, 2)
    (_, plain), *passes = programs(done)
    operands = random_operands(plain, bounds, seed=1)
    wanted = operands["L"].reshape(2, -1).sum(1) * operands["R"].sum()
    assert all(np.array_equal(interpret(one, bounds, operands), wanted) for _, one in passes)


def test_a_word_for_all_lanes(tmp_path: Path) -> None:
    """B does not have the vectorised loop, and is not factored out (seed 47)."""
    file = tmp_path / "shared.py"
    file.write_text(
        "from tilewright.hw.t2s.language import compute, indices, tensor\n"
        'i, k, l, ll = indices("i k l ll")\n'
        'A, B = tensor("A", "int8", i, k, l), tensor("B", "int8", k)\n'
        'D = compute("D", "int8", i, sum_over=(k, l))[A[i, k, l] * B[k]]\n'
        'D.tile(l, (ll, 4)).vectorise(ll).accumulate(stall="allowed")\n'
    )
    rng = np.random.default_rng(2)
    left, right = rng.integers(-99, 100, (2, 3, 5)), rng.integers(-99, 100, 3)
    found = Driver(T2sModel(T2sConfig(design=str(file)))).compute(A=left, B=right)
    assert np.array_equal(found, np.einsum("ikl,k->i", left, right))
