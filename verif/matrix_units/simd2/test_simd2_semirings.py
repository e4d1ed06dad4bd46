"""Whole tiles of the RTL against SuiteSparse:GraphBLAS, and a tenth semiring."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.semirings import SEMIRINGS, Semiring
from tilewright.hw.spec.simd2 import Simd2Config
from tilewright.sim.numbers.values import decode, encode
from tilewright.sim.rtl.streams import Pauses
from tilewright.verif.kit.sampling import cases, slow_but
from tilewright.verif.matrix_units.matrix_stimuli import Operations, operations
from tilewright.verif.matrix_units.simd2.semiring_checks import fault
from tilewright.verif.matrix_units.simd2.semiring_rtl import SemiringRtl, emitted, rtl
from tilewright.verif.oracles import graphs

TYPES: dict[str, tuple[type[np.generic], type[np.generic]]] = {
    "fp8e5m2": (np.float32, np.float64),
    "fp16": (np.float32, np.float64),
    "bf16": (np.float32, np.float64),
    "fp32": (np.float64, np.float64),
    "fp64": (np.float64, np.float64),
    "int8": (np.int32, np.int64),
    "int16": (np.int32, np.int64),
    "int32": (np.int32, np.int64),
}
"""Type in which GraphBLAS computes, and type that the model encodes from, by format of a and b."""


def row(opcode: int, plus: str, times: str, identity: str) -> Semiring:
    return Semiring(
        name=f"{plus}_{times}", opcode=opcode, plus=plus, times=times, identity=identity,
        padding=(identity, identity),
    )  # fmt: skip


PLUSMIN = replace(row(9, "add", "min", "0"), name="plusmin")
MORE = (
    PLUSMIN,
    row(10, "add", "max", "0"),
    row(11, "min", "min", "+inf"),
    row(15, "max", "max", "-inf"),
)


@pytest.mark.parametrize("element", slow_but(["fp8e5m2", "fp16"], TYPES, ["int8"]))
def test_tiles_of_small_integers_are_graphblas(element: str) -> None:
    """Integers whose differences and sums every format holds; all nine semirings."""
    config = Simd2Config(tile=2, format=element)
    dtype, wide = TYPES[element]
    rng = np.random.default_rng(881)
    shape = (cases(3000), 2, 2)
    a, b, c = (rng.integers(-4, 5, shape).astype(dtype) for _ in range(3))
    op = rng.integers(0, 9, len(a)).astype(np.uint64)
    formats = config.element, config.element, config.result
    words = [encode(x.astype(wide), fmt) for x, fmt in zip((a, b, c), formats, strict=True)]
    got, error, _ = rtl(config).run(Operations(op, words[0], words[1], words[2], []))
    assert not error.any()
    names = {row.opcode: row.name for row in SEMIRINGS.values()}
    assert set(names.values()) == set(graphs.NAMES)
    for index, d in enumerate(decode(got, config.result)):
        name = names[int(op[index])]
        expected = graphs.tile_product(name, a[index], b[index], c[index])
        assert np.array_equal(d, expected), f"{name}: {a[index]}, {b[index]}, {c[index]}"


@pytest.mark.parametrize("element", slow_but([], ["fp32", "fp64"], ["fp32"]))
def test_tiles_of_any_numbers_are_graphblas(element: str) -> None:
    """Semirings whose terms are rounded once there as here, infinities included."""
    config = Simd2Config(tile=2, format=element, accumulator=element)
    dtype: Any = np.float32 if element == "fp32" else np.float64
    rng = np.random.default_rng(882)
    a, b, c = (rng.standard_normal((cases(3000), 2, 2)).astype(dtype) for _ in range(3))
    b[rng.random(b.shape) < 0.1] = np.inf
    names = [name for name in graphs.NAMES if name not in ("mma", "addnorm")]
    chosen = rng.choice(names, len(a))
    op = np.array([SEMIRINGS[name].opcode for name in chosen], np.uint64)
    words = [x.view(f"u{x.itemsize}").astype(np.uint64) for x in (a, b, c)]
    got, _, _ = rtl(config).run(Operations(op, words[0], words[1], words[2], []))
    for index, d in enumerate(decode(got, config.result)):
        expected = graphs.tile_product(chosen[index], a[index], b[index], c[index])
        assert np.array_equal(d, expected), chosen[index]


@pytest.mark.parametrize("element", slow_but([], ["fp8e5m2", "int8"], ["fp8e5m2"]))
@pytest.mark.parametrize("rows", [(PLUSMIN,), MORE])
def test_a_tenth_semiring_needs_a_row_of_the_table_only(
    monkeypatch: pytest.MonkeyPatch, element: str, rows: tuple[Semiring, ...]
) -> None:
    """plusmin, ``c + sum of min(a_k, b_k)``: RTL, sidecar and model follow the table; the results
    stand before exact arithmetic that knows nothing of either. Beside the nine, and with others."""
    nine = tuple(SEMIRINGS)
    for new in rows:
        monkeypatch.setitem(SEMIRINGS, new.name, new)
    names = tuple(new.name for new in rows)
    config = Simd2Config(tile=2, format=element, ops=names if len(rows) > 1 else (*nine, *names))
    simulated = SemiringRtl(config, emitted(config))
    for new in rows:
        assert simulated.sidecar["opcodes"][new.name] == new.opcode
        sent = operations(config, cases(5000), 883, modes=(new.name,), illegal=0)
        d, error, _ = simulated.run(sent, Pauses(seed=884, gap=0.2, stall=0.2))
        assert not error.any()
        complaint = fault(config, new.name, sent, d)
        assert not complaint, complaint
    simulated.check_timing(operations(config, 1000, 885))
