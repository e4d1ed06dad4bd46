"""Structured products through the Verilog of simd2 with 2:4 sparsity, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.simd2 import SIMD2, Simd2Config
from tilewright.sim.rtl.streams import NativeSimulation, Rows, dense_words, field_array
from tilewright.sim.tcu.structured.sparse_unit import SparseUnit, structured
from tilewright.sim.tcu.structured.structured_cost import structured as cost_of
from tilewright.sim.tcu.words import INT64, Array
from tilewright.verif.tcu.structured.sparse_operands import drawn

S = 4


class OnVerilog(SparseUnit):
    """Whose calls run on Verilog, too, an operation for s rows, and must give the same."""

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
