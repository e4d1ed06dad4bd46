"""2:4 sparsity: the values kept, products against dense ones and the model of hw/simd2, counts."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.simd2 import SIMD2, Simd2Config
from tilewright.sim.rtl.streams import NativeSimulation, Rows, dense_words, field_array
from tilewright.sim.tcu import NumpyBackend, TensorUnit, UnitWork
from tilewright.sim.tcu.dense.tall import tall
from tilewright.sim.tcu.structured.sparse_unit import SparseUnit, compressed, expanded, structured
from tilewright.sim.tcu.structured.structured_cost import metadata_words
from tilewright.sim.tcu.structured.structured_cost import structured as cost_of
from tilewright.sim.tcu.words import INT64, MINPLUS, Array, Words, modular
from tilewright.sim.units.simd2 import semiring_products


def drawn(seed: int, n: int, k: int, zero: float = 0) -> Array:
    """Words from 1 to 99, (n, k); ``zero`` elsewhere."""
    rng = np.random.default_rng(seed)
    wide = rng.integers(1, 100, (n, -(-k // 4), 4)).astype(float)
    order = rng.random(wide.shape).argsort(axis=2)
    found = np.where(order < rng.integers(0, 3, (*wide.shape[:2], 1)), wide, zero)
    found = found.reshape(n, -1)[:, :k]
    return found if np.isinf(zero) else found.astype(int)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 9), st.integers(1, 5), st.sampled_from((INT64, MINPLUS)), st.integers(0, 99))
def test_what_is_kept_comes_back(n: int, groups: int, words: Words, seed: int) -> None:
    x = drawn(seed, n, 4 * groups, words.zero)
    kept, places = compressed(x, words)
    assert kept.shape == places.shape == (n, 2 * groups)
    assert places.max() <= 3
    pairs = places.reshape(n, -1, 2)
    assert (pairs[:, :, 0] < pairs[:, :, 1]).all()
    np.testing.assert_array_equal(expanded(kept, places, words), x)


@settings(deadline=None, max_examples=60)
@given(
    st.tuples(*[st.integers(1, 30)] * 3), st.sampled_from((2, 4, 6)), st.booleans(),
    st.sampled_from((INT64, modular(997), MINPLUS)), st.integers(0, 99),
)  # fmt: skip
def test_products(
    shape: tuple[int, int, int], s: int, of_right: bool, words: Words, seed: int
) -> None:
    n, k, p = shape
    rng = np.random.default_rng(seed)
    if of_right:
        a, b = rng.integers(1, 99, (n, k)), drawn(seed, p, k, words.zero).T
    else:
        a, b = drawn(seed, n, k, words.zero), rng.integers(1, 99, (k, p))
    unit = SparseUnit(s, words)
    found = structured(unit, a, b)
    if words is MINPLUS:
        expected = (a[:, :, None] + b[None]).min(axis=1)
    else:
        expected = a @ b % getattr(words, "modulus", 2**62)
    np.testing.assert_array_equal(found, expected)
    # Both are sparse if there are fewer than three columns.
    assert unit.cost in (cost_of(n, k, p, s), cost_of(n, k, p, s, transposed=True))
    if of_right and k > 2:
        assert unit.cost == cost_of(n, k, p, s, transposed=True)


@pytest.mark.parametrize("s", [4, 8, 16])
def test_half_of_the_words_are_streamed(s: int) -> None:
    """A dense operand needs twice the words: sparse blocks are twice as deep, and half as many."""
    for q in (2, 4, 6, 8, 10, 12, 14, 16):
        n = q * s
        a, b = drawn(q, n, n), drawn(q, n, n) + 1
        unit, dense = SparseUnit(s, INT64, latency=100), TensorUnit(NumpyBackend(s), INT64, 100)
        np.testing.assert_array_equal(structured(unit, a, b), tall(dense, a, b))
        assert unit.cost.work == UnitWork(q * q // 2, q * q // 2 * n)
        assert 2 * unit.unit_time == dense.unit_time
        assert unit.cost == cost_of(n, n, n, s)
        assert metadata_words(unit.cost.rows, s, 8) == unit.cost.rows * s / 4


@pytest.mark.parametrize("tile", [4, 8])
def test_the_unit_is_that_of_simd2(tile: int) -> None:
    """A block of 2 tile x tile words, rows of as many words as the tile has, places beside them:
    one operation where a dense unit takes two."""
    config = Simd2Config(format="int8", accumulator="int32", tile=tile, sparsity="2:4")
    assert config.b_depth == 2 * tile
    a = drawn(3, 5 * tile, 2 * tile) - 50 * (drawn(3, 5 * tile, 2 * tile) != 0)
    b = np.random.default_rng(4).integers(-128, 128, (2 * tile, tile))
    kept, places = compressed(a, INT64)
    unit = SparseUnit(tile, INT64)
    assert unit.multiply_sparse(kept, places, b).tolist() == (a @ b).tolist()
    count = 5
    shape = (count, tile, tile)
    d = semiring_products(
        config, "mma", kept.reshape(shape).astype(np.uint64) & np.uint64(255),
        np.broadcast_to(b.astype(np.uint64) & np.uint64(255), (count, *b.shape)),
        np.zeros(shape, np.uint64), places.reshape(shape),
    )  # fmt: skip
    found = d.astype(np.uint32).view(np.int32).reshape(-1, tile)
    assert found.tolist() == (a @ b).tolist()
    assert unit.cost.work == UnitWork(1, count * tile)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.ones((3, 6), int), "`x` must be of shape (n, 4 k), n and k from 1, not (3, 6)"),
        (np.array([[1, 0, 2, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 2, 0, 3]]), "`x` must hold at most "
         "two words other than zero in each four of a row, not more in row 1, columns 4..7 (from "
         "0)"),
    ],
)  # fmt: skip
def test_what_is_not_sparse_is_refused(x: Array, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        compressed(x, INT64)


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"^`side` must be even, not 3$"):
        SparseUnit(3, INT64)
    unit, kept = SparseUnit(2, INT64), np.ones((2, 2), int)
    with pytest.raises(ValueError, match=r"^`b` must be of shape \(4, 2\), not \(2, 2\)$"):
        unit.multiply_sparse(kept, kept, kept)
    with pytest.raises(ValueError, match=r"^`kept` and `places` must be of shape \(n, 2\), n >= 2"):
        unit.multiply_sparse(kept[:1], kept[:1], np.ones((4, 2), int))


# Structured products through the Verilog of simd2 with 2:4 sparsity, bit for bit.

S = 4


class OnVerilog(SparseUnit):
    """Sparse unit whose calls also run on Verilog, one operation per s rows, and must agree."""

    def __init__(self) -> None:
        super().__init__(S, INT64)
        self.config = Simd2Config(
            format="int8", accumulator="int32", tile=S, sparsity="2:4", ops=("mma",)
        )
        self.simulation = NativeSimulation(emit(SIMD2, self.config))
        self.operations = 0

    def multiply_sparse(self, kept: Array, places: Array, b: Array) -> Array:
        expected = super().multiply_sparse(kept, places, b)
        np.testing.assert_array_equal(self._on_verilog(kept, places, b)[: len(kept)], expected)
        return expected

    def _on_verilog(self, kept: Array, places: Array, b: Array) -> Array:
        fields = {field["name"]: field for field in self.simulation.stream("i")["fields"]}
        count = -(-len(kept) // S)
        same, beyond = np.zeros(count, np.int64), ((0, count * S - len(kept)), (0, 0))
        rows, stood = (np.pad(x, beyond).reshape(count, S, S) for x in (kept, places))
        table = np.zeros((count, S * S), np.uint32)
        error = np.zeros((count, 1), np.uint32)
        opcode = self.config.operations["mma"].opcode
        cycles = self.simulation.run_fields(
            {
                "op": Rows(np.array([[opcode]], np.uint32), same),
                "a": Rows(dense_words(fields["a"], rows.astype(np.uint8))),
                "b": Rows(dense_words(fields["b"], b[np.newaxis].astype(np.uint8)), same),
                "c": Rows(dense_words(fields["c"], np.zeros((1, S, S), np.uint32)), same),
                "metadata": Rows(dense_words(fields["metadata"], stood.astype(np.uint8))),
            },
            {"d": Rows(table), "error": Rows(error)},
            count,
        )
        assert not error.any()
        assert cycles == count + self.config.latency["mma"]
        self.operations += count
        return field_array(fields["c"], table).astype(np.uint32).view(np.int32).reshape(-1, S)


@pytest.mark.slow
def test_products_in_verilog() -> None:
    unit = OnVerilog()
    rng = np.random.default_rng(8)
    for n, k, p in ((4, 8, 4), (11, 23, 9), (5, 40, 3), (30, 16, 17)):
        a, b = drawn(n, n, k), rng.integers(-128, 128, (k, p))
        before = unit.cost.work
        for left, right in ((a, b), (b.T, a.T)):
            np.testing.assert_array_equal(structured(unit, left, right), left @ right)
        assert unit.cost.work == before + cost_of(n, k, p, S).work * 2
    # Rows that s does not divide are filled up.
    assert unit.operations >= unit.cost.rows // S
