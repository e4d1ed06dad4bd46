"""The second product with the transpose: every bit against NumPy and integers, values against
SciPy, and in passes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csc_array
from tilewright.hw.spec.elementwise.assembler import assemble
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.hw.spec.sida import SIDA_SEMIRINGS, SidaConfig
from tilewright.sim.numbers.values import decode, encode
from tilewright.sim.sida.driver import SidaDriver
from tilewright.sim.sida.iterations.graphs import columns_of, vector_of
from tilewright.sim.sida.iterations.problem import Problem, solve
from tilewright.sim.sida.model import SidaModel
from tilewright.sim.sida.result.products import Columns, Rules, transposed_product
from tilewright.verif.kit.sampling import cases
from tilewright.verif.sida.held.matrices import SHAPES, drawn, numbers

SMALL = SidaConfig(pes=4, subtensor=4, vector_words=64, semirings=tuple(SIDA_SEMIRINGS))


def dense(matrix: Columns, fmt: str, missing: float = 0.0) -> np.ndarray:
    """(size, size) numbers."""
    found = np.full((matrix.size, matrix.size), missing)
    found[matrix.rows, matrix.columns] = decode(matrix.values, FORMATS[fmt])
    return found


@pytest.mark.parametrize("fmt", ["fp32", "fp64", "fp16"])
def test_every_bit_of_sums(fmt: str) -> None:
    """NumPy's products and sums of one number and another, columns ascending."""
    rng = np.random.default_rng(1)
    config = replace(SMALL, value=fmt)
    kind = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}[fmt]
    for n in range(max(1, cases(12))):
        matrix = drawn(rng, config, int(rng.integers(1, 40)), SHAPES[n % len(SHAPES)])
        z = numbers(rng, config, matrix.size)
        given = decode(z, config.format).astype(kind)
        expected = np.zeros(matrix.size, kind)
        for j in range(matrix.size):
            for place in range(matrix.pointers[j], matrix.pointers[j + 1]):
                value = decode(matrix.values[place : place + 1], config.format).astype(kind)[0]
                i = matrix.rows[place]
                expected[i] = expected[i] + given[j] * value
        found = transposed_product(Rules.of(config), SEMIRINGS["mma"], matrix, z)
        assert found.tolist() == encode(expected.astype(np.float64), config.format).tolist()


def test_integers_are_exact() -> None:
    """Modulo 2^32, by Python's integers."""
    rng = np.random.default_rng(2)
    config = replace(SMALL, value="int32")
    matrix = drawn(rng, config, 30, "half")
    values = rng.integers(0, 1 << 32, len(matrix.rows)).astype(np.uint64)
    matrix = replace(matrix, values=values)
    z = rng.integers(0, 1 << 32, 30).astype(np.uint64)
    expected = [0] * 30
    for row, column, value in zip(matrix.rows, matrix.columns, matrix.values, strict=True):
        expected[row] = (expected[row] + int(z[column]) * int(value)) % (1 << 32)
    found = transposed_product(Rules.of(config), SEMIRINGS["mma"], matrix, z)
    assert found.tolist() == expected


def test_other_semirings() -> None:
    """The cases are least sums, squared distances of stored elements, and values where z is true.
    Rows without elements have the identity."""
    rng = np.random.default_rng(3)
    config = replace(SMALL, value="fp64")
    rules = Rules.of(config)
    for shape in SHAPES:
        matrix = drawn(rng, config, 25, shape)
        z = rng.integers(-2, 3, 25).astype(np.float64)
        there = dense(replace(matrix, values=encode(np.ones(len(matrix.rows)), rules.fmt)), "fp64")
        values = dense(matrix, "fp64")
        expected = {
            "minplus": np.where(there, z + values, np.inf).min(axis=1),
            "addnorm": np.where(there, (z - values) ** 2, 0).sum(axis=1),
            "aril-add": np.where(there * (z != 0), values, 0).sum(axis=1),
        }
        for name, wanted in expected.items():
            found = transposed_product(rules, SIDA_SEMIRINGS[name], matrix, encode(z, rules.fmt))
            np.testing.assert_allclose(decode(found, rules.fmt), wanted, rtol=1e-12, atol=1e-13)


def test_against_scipy() -> None:
    """One vector, and several at a time."""
    rng = np.random.default_rng(4)
    rules = Rules(fmt=FORMATS["fp64"])
    for density in (0.0, 0.02, 0.5):
        whole = csc_array(rng.normal(size=(150, 150)) * (rng.random((150, 150)) < density))
        matrix = columns_of(whole, rules.fmt)
        z = rng.normal(size=(150, 3))
        found = transposed_product(rules, SEMIRINGS["mma"], matrix, encode(z, rules.fmt))
        np.testing.assert_allclose(
            decode(found, rules.fmt), whole @ z, rtol=1e-12, atol=1e-13
        )  # fmt: skip
        one = transposed_product(rules, SEMIRINGS["mma"], matrix, encode(z[:, 1], rules.fmt))
        assert (found[:, 1] == one).all()


def test_passes() -> None:
    """``A A^T x``, again and again: the squared singular values, by the driver as by the model."""
    rng = np.random.default_rng(5)
    config = replace(SMALL, value="fp64")
    rules = Rules.of(config)
    whole = csc_array(rng.normal(size=(40, 40)) * (rng.random((40, 40)) < 0.2))
    program = assemble(
        "vector z\nvector x\nreduce square sum\n"
        "e1:\n store z, y\n mul r1, y, y\n reduce square, r1\n out y\n"
        "e2:\n sqrt r1, square\n div r1, y, r1\n store x, r1\n out r1"
    )
    nothing = vector_of(np.zeros(40), rules.fmt)
    problem = Problem(
        program=program,
        semiring=SEMIRINGS["mma"],
        matrix=columns_of(whole, rules.fmt),
        x=vector_of(np.ones(40), rules.fmt),
        scalars={},
        vectors={"z": nothing, "x": nothing},
        stop=None,
        transposed=True,
    )
    found = SidaDriver(SidaModel(config)).solve(problem, 400)
    expected = solve(rules, problem, 400)
    assert (found.result == expected.result).all()
    assert found.scalars == expected.scalars
    size = np.linalg.norm(decode(found.result[:, 0], rules.fmt))
    largest = np.linalg.svd(whole.toarray(), compute_uv=False)[0]
    np.testing.assert_allclose(size, largest, rtol=1e-6)
    other = SidaDriver(SidaModel(config)).solve(replace(problem, transposed=False), 400)
    assert (other.result != found.result).any()
