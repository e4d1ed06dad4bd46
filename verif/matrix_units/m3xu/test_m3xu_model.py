"""The matrix unit's model: lanes, modes, and NumPy's own products where those are exact."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.formats import FLOAT_FORMATS
from tilewright.hw.spec.m3xu import BaselineConfig, GridUnitConfig, M3xuConfig, WideConfig
from tilewright.sim.units import m3xu
from tilewright.verif.kit.sampling import cases
from tilewright.verif.matrix_units.matrix_stimuli import TILE_KINDS, operations, tiles
from tilewright.verif.oracles.dot_product import check_dot_products

pytestmark = pytest.mark.quick

M3XU = M3xuConfig(rows=3, cols=2)
CONFIGS: tuple[GridUnitConfig, ...] = (
    M3XU,
    BaselineConfig(rows=2, cols=3),
    WideConfig(rows=2, cols=2),
)
DTYPES = {
    "fp16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "fp32": np.float32,
    "fp32c": np.complex64,
}  # fmt: skip
EVERY_MODE = [(config, mode) for config in CONFIGS for mode in config.opcodes]  # type: ignore[attr-defined]
FP32 = FLOAT_FORMATS["fp32"]

Array = npt.NDArray[Any]


def small_integers(rng: np.random.Generator, shape: tuple[int, ...], mode: str) -> Array:
    values = rng.integers(-8, 9, shape).astype(np.float32)
    if mode == "fp32c":
        return (values + 1j * rng.integers(-8, 9, shape)).astype(np.complex64)
    return values.astype(DTYPES[mode])


@pytest.mark.parametrize(("config", "mode"), EVERY_MODE)
def test_small_integers_give_numpys_product(config: GridUnitConfig, mode: str) -> None:
    rng = np.random.default_rng(41)
    depth, count = m3xu.elements_deep(config, mode), 50
    a = small_integers(rng, (count, config.rows, depth), mode)
    b = small_integers(rng, (count, depth, config.cols), mode)
    wide = np.complex64 if mode == "fp32c" else np.float32
    c = small_integers(rng, (count, config.rows, config.cols), mode).astype(wide)
    lanes = m3xu.pack_a(config, mode, a), m3xu.pack_b(config, mode, b), m3xu.pack_c(mode, c)
    d = m3xu.matrix_unit(config, mode, *lanes)
    assert np.array_equal(m3xu.unpack_d(mode, d), a.astype(wide) @ b.astype(wide) + c)


@pytest.mark.parametrize("kind", TILE_KINDS)
@pytest.mark.parametrize(("config", "mode"), EVERY_MODE)
def test_every_element_is_an_admissible_dot_product(
    config: GridUnitConfig, mode: str, kind: str
) -> None:
    """Operands taken out of the lanes by hand, the clauses of the numerics page on each result."""
    rng = np.random.default_rng(42)
    a, b, c = tiles(config, mode, kind, cases(300), rng)
    d = m3xu.matrix_unit(config, mode, a, b, c)
    fmt = FLOAT_FORMATS["fp32" if mode == "fp32c" else mode]
    for left, right, addend, got in dot_products_of(config, mode, a, b, c, d):
        report = check_dot_products(
            left, right, addend, got, operand=fmt, result=FP32,
            alignment_bits=config.alignment_bits,  # type: ignore[attr-defined]
        )  # fmt: skip
        assert report.checked == len(got)
        assert not report.violations, report.violations[0]


def dot_products_of(
    config: GridUnitConfig, mode: str, a: Array, b: Array, c: Array, d: Array
) -> list[tuple[Array, Array, Array, Array]]:
    """Operands and results of every real dot product of operations, written out plainly."""
    step = 1 if config.lane_bits == 32 else {"tf32": 2, "fp32": 2, "fp32c": 4}.get(mode, 1)
    bits = config.lane_bits
    found = []
    for row in range(config.rows):
        for col in range(config.cols):
            x = [_word(a[:, row, k : k + step], bits) for k in range(0, config.depth, step)]
            y = [_word(b[:, k : k + step, col], bits) for k in range(0, config.depth, step)]
            left, right = np.stack(x, 1), np.stack(y, 1)
            addend, got = c[:, row, col], d[:, row, col]
            if mode != "fp32c":
                drop = np.uint64(13 if mode == "tf32" else 0)
                found.append((left >> drop, right >> drop, addend, got))
                continue
            low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
            re_a, im_a, re_b, im_b = left & low, left >> half, right & low, right >> half
            minus = im_a ^ np.uint64(1 << 31)
            real = np.concatenate([re_a, minus], 1), np.concatenate([re_b, im_b], 1)
            cross = np.concatenate([re_a, im_a], 1), np.concatenate([im_b, re_b], 1)
            found.append((*real, addend & low, got & low))
            found.append((*cross, addend >> half, got >> half))
    return found


def _word(lanes: Array, bits: int) -> Array:
    word = np.zeros(len(lanes), np.uint64)
    for index in range(lanes.shape[1]):
        word |= lanes[:, index].astype(np.uint64) << np.uint64(index * bits)
    return word


def test_tf32_ignores_the_low_bits_of_its_container() -> None:
    rng = np.random.default_rng(43)
    values = rng.standard_normal((20, 3, 4)).astype(np.float32)
    cut = (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    b = m3xu.pack_b(M3XU, "tf32", rng.standard_normal((20, 4, 2)).astype(np.float32))
    c = np.zeros((20, 3, 2), np.uint64)
    whole = m3xu.matrix_unit(M3XU, "tf32", m3xu.pack_a(M3XU, "tf32", values), b, c)
    trimmed = m3xu.matrix_unit(M3XU, "tf32", m3xu.pack_a(M3XU, "tf32", cut), b, c)
    assert np.array_equal(whole, trimmed)


def test_lanes_of_an_element_are_neighbours_low_lane_first() -> None:
    a = np.array([[[0x1234567890ABCDEF, 1]]], np.uint64)
    config = M3xuConfig(rows=1, cols=1)
    lanes = [0xCDEF, 0x90AB, 0x5678, 0x1234, 1, 0, 0, 0]
    assert m3xu.pack_a(config, "fp32c", a).tolist() == [[lanes]]
    assert m3xu.pack_b(config, "fp32c", a.swapaxes(1, 2)).tolist() == [[[x] for x in lanes]]


def test_illegal_opcodes_give_zero_and_the_flag() -> None:
    sent = operations(M3XU, 200, 44, illegal=0.3)
    d, error = m3xu.mixed_operations(M3XU, sent.op, sent.a, sent.b, sent.c)
    assert np.array_equal(error, sent.op > 4)
    assert error.any()
    assert not d[error].any()


def test_wrong_arguments_are_named() -> None:
    tile = np.zeros((1, 3, 8), np.uint16), np.zeros((1, 8, 2), np.uint16)
    c = np.zeros((1, 3, 2), np.uint64)
    with pytest.raises(ValueError, match=r"^`mode` must be one of fp16, bf16, tf32, not 'fp32'$"):
        m3xu.matrix_unit(BaselineConfig(), "fp32", *tile, c)
    with pytest.raises(ValueError, match=r"^`b` must have shape \(1, 8, 2\), not \(1, 4, 2\)$"):
        m3xu.matrix_unit(M3XU, "fp16", tile[0], tile[1][:, :4], c)
    with pytest.raises(TypeError, match=r"^`values` of dtype float64 cannot be operands of mode"):
        m3xu.pack_a(M3XU, "fp32", np.zeros((1, 3, 4)))
