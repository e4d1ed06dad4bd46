"""Golden model of the multi-mode matrix unit and of the two units it is compared with.

``d = a @ b + c`` on small tiles, every element of ``d`` one fused dot product
(``sim.numbers.fused``).
Operands and results are in the unit's own lanes, so that a bench or a driver passes them through
unchanged; ``pack_a``, ``pack_b``, ``pack_c`` and ``unpack_d`` translate from and to NumPy matrices.

Source: M3XU, sections on data assignment and on the dot-product unit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import FLOAT_FORMATS
from ...hw.spec.host.words import not_one_of
from ...hw.spec.m3xu import MODES, GridUnitConfig, Mode
from ..numbers.floats import from_container
from ..numbers.fused import Factor, factor, fused_products

__all__ = [
    "elements_deep",
    "lane_dtype",
    "lanes_per_element",
    "matrix_unit",
    "mixed_operations",
    "pack_a",
    "pack_b",
    "pack_c",
    "unpack_d",
]

Array = npt.NDArray[np.generic]
Words = npt.NDArray[np.uint64]

_FP32 = FLOAT_FORMATS["fp32"]
_SIGN = np.uint64(1 << 31)


def lane_dtype(config: GridUnitConfig) -> np.dtype[np.unsignedinteger]:
    """The NumPy type of an operand lane."""
    return np.dtype(f"u{config.lane_bits // 8}")


def lanes_per_element(config: GridUnitConfig, mode: str) -> int:
    """Operand lanes an element takes in a unit: the wide unit's lanes hold any element."""
    return max(1, MODES[mode].lanes * 16 // config.lane_bits)


def elements_deep(config: GridUnitConfig, mode: str) -> int:
    """Depth of an operation in elements: columns of a, rows of b."""
    return config.depth // lanes_per_element(config, mode)


def matrix_unit(
    config: GridUnitConfig, mode: str, a: npt.ArrayLike, b: npt.ArrayLike, c: npt.ArrayLike
) -> Words:
    """Results of operations of one mode.

    Parameters
    ----------
    config: the unit: M3xuConfig, BaselineConfig or WideConfig
    mode: one of ``config.modes``
    a: operand lanes, (operations, rows, depth)
    b: operand lanes, (operations, depth, cols)
    c: accumulators, (operations, rows, cols); an fp32 in the low 32 bits, or a complex pair

    Returns
    -------
    uint64 (operations, rows, cols), laid out as ``c``, upper bits zero.

    Raises
    ------
    ValueError if the unit was not built with the mode or a shape is wrong.
    """
    modes: tuple[str, ...] = config.modes  # type: ignore[attr-defined]
    if mode not in modes:
        raise ValueError(not_one_of("`mode`", modes, mode))
    lanes_a, lanes_b, addend = np.asarray(a), np.asarray(b), np.asarray(c).astype(np.uint64)
    count = addend.shape[0]
    _check_shape("a", lanes_a, (count, config.rows, config.depth))
    _check_shape("b", lanes_b, (count, config.depth, config.cols))
    _check_shape("c", addend, (count, config.rows, config.cols))
    # Operations on the last axis: the longest one, and every inner loop of NumPy runs along it.
    left = _words(config, mode, lanes_a.transpose(2, 1, 0))[:, :, np.newaxis, :]
    right = _words(config, mode, lanes_b.transpose(1, 2, 0))[:, np.newaxis, :, :]
    grid = np.ascontiguousarray(addend.transpose(1, 2, 0))
    if MODES[mode].results == 2:
        d = _complex_products(config, left, right, grid)
    else:
        element = MODES[mode].element
        x = factor(from_container(left, element), element)
        y = factor(from_container(right, element), element)
        d = _fused(config, MODES[mode], [(x, y)], grid & np.uint64(0xFFFFFFFF))
    return np.ascontiguousarray(d.transpose(2, 0, 1))


def mixed_operations(
    config: GridUnitConfig,
    op: npt.ArrayLike,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    c: npt.ArrayLike,
    metadata: None = None,
) -> tuple[Words, npt.NDArray[np.bool_]]:
    """Results and error flags of operations given by opcode, (operations,).

    An opcode the unit was not built with gives a zero result and the flag. Arrays as in
    ``any_unit``. Raises ValueError if there is metadata: no unit here is sparse.
    """
    if metadata is not None:
        raise ValueError("`metadata` must be None without sparsity")
    codes, lanes_a, lanes_b = np.asarray(op), np.asarray(a), np.asarray(b)
    addend = np.asarray(c).astype(np.uint64)
    d = np.zeros(addend.shape, np.uint64)
    error = np.ones(codes.shape, np.bool_)
    opcodes: dict[str, int] = config.opcodes  # type: ignore[attr-defined]
    for mode, code in opcodes.items():
        chosen = codes == code
        if chosen.any():
            d[chosen] = matrix_unit(config, mode, lanes_a[chosen], lanes_b[chosen], addend[chosen])
            error[chosen] = False
    return d, error


def pack_a(config: GridUnitConfig, mode: str, values: npt.ArrayLike) -> Array:
    """Lanes (operations, rows, depth) of tiles (operations, rows, elements).

    Values are float16 for fp16; float32 for tf32 and fp32; complex64 for fp32c; for bf16 either
    ``ml_dtypes.bfloat16`` or float32, of which the upper half is taken as it is. Unsigned integers
    are taken as container words.
    """
    return _spread(config, mode, container_words(mode, values))


def pack_b(config: GridUnitConfig, mode: str, values: npt.ArrayLike) -> Array:
    """Lanes (operations, depth, cols) of tiles (operations, elements, cols)."""
    words = container_words(mode, values).swapaxes(1, 2)
    return np.ascontiguousarray(_spread(config, mode, words).swapaxes(1, 2))


def pack_c(mode: str, values: npt.ArrayLike) -> Words:
    """Accumulators of float32 (complex64 for fp32c) tiles (operations, rows, cols)."""
    dtype = np.complex64 if MODES[mode].results == 2 else np.float32
    tiles = np.ascontiguousarray(np.asarray(values, dtype))
    return tiles.view(np.uint64 if MODES[mode].results == 2 else np.uint32).astype(np.uint64)


def unpack_d(mode: str, words: npt.ArrayLike) -> Array:
    """float32 (complex64 for fp32c) tiles of results."""
    lanes = np.ascontiguousarray(np.asarray(words).astype(np.uint64))
    if MODES[mode].results == 2:
        return lanes.view(np.complex64)
    return lanes.astype(np.uint32).view(np.float32)


def container_words(mode: str, values: npt.ArrayLike) -> Words:
    """Container words of NumPy values (fp32c: real part in the low half)."""
    array = np.ascontiguousarray(values)
    if array.dtype.kind == "u":
        return array.astype(np.uint64)
    if mode == "bf16" and array.dtype == np.float32:
        return array.view(np.uint32).astype(np.uint64) >> np.uint64(16)
    if mode == "bf16" and array.dtype.itemsize == 2 and array.dtype != np.float16:
        return array.view(np.uint16).astype(np.uint64)
    expected = {"fp16": np.float16, "tf32": np.float32, "fp32": np.float32, "fp32c": np.complex64}
    if mode not in expected or array.dtype != expected[mode]:
        raise TypeError(f"`values` of dtype {array.dtype} cannot be operands of mode {mode}")
    return array.view(f"u{array.dtype.itemsize}").astype(np.uint64)


def _check_shape(name: str, array: Array, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ValueError(f"`{name}` must have shape {shape}, not {array.shape}")


def _words(config: GridUnitConfig, mode: str, lanes: Array) -> Words:
    """Join the lanes of each element; lanes on the first axis, low lane first."""
    per = lanes_per_element(config, mode)
    joined = np.zeros((lanes.shape[0] // per, *lanes.shape[1:]), np.uint64)
    for lane in range(per):
        joined |= lanes[lane::per].astype(np.uint64) << np.uint64(lane * config.lane_bits)
    return joined


def _spread(config: GridUnitConfig, mode: str, words: Words) -> Array:
    """Cut container words into lanes along the last axis, low lane first."""
    per = lanes_per_element(config, mode)
    shifts = np.arange(per, dtype=np.uint64) * np.uint64(config.lane_bits)
    lanes = words[..., np.newaxis] >> shifts
    mask = np.uint64((1 << config.lane_bits) - 1)
    return (lanes & mask).reshape(*words.shape[:-1], -1).astype(lane_dtype(config))


def _fused(
    config: GridUnitConfig, mode: Mode, pairs: list[tuple[Factor, Factor]], c: Words
) -> Words:
    bits: int = config.alignment_bits  # type: ignore[attr-defined]
    return fused_products(pairs, c, operand=mode.element, result=_FP32, alignment_bits=bits)


def _complex_products(config: GridUnitConfig, a: Words, b: Words, c: Words) -> Words:
    """Real part: Re Re - Im Im, by flipping the sign of one factor; imaginary part: the crosses."""
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    mode = MODES["fp32c"]
    re_a, im_a = factor(a & low, _FP32), factor(a >> half, _FP32)
    re_b, im_b = factor(b & low, _FP32), factor(b >> half, _FP32)
    flipped = factor((a >> half) ^ _SIGN, _FP32)
    real = _fused(config, mode, [(re_a, re_b), (flipped, im_b)], c & low)
    imaginary = _fused(config, mode, [(re_a, im_b), (im_a, re_b)], c >> half)
    return real | imaginary << half
