"""The unit of the model: its counts, its refusals, and rows of any number."""

import re
from typing import Any

import numpy as np
import pytest
from tilewright.sim.tcu import Cost, NumpyBackend, TensorUnit, UnitWork, require, side_of
from tilewright.sim.tcu.formulas import streaming as formulas
from tilewright.sim.tcu.tensor_unit import (
    add,
    block,
    divide,
    multiple,
    multiply,
    padded,
    stream,
    subtract,
)
from tilewright.sim.tcu.words import BOOLEAN, FP32, FP64, INT64, MINPLUS, Words, modular

pytestmark = pytest.mark.quick


class Narrow(NumpyBackend):
    """Holds fp32 alone."""

    name = "narrow"
    held = ("fp32",)

    def holds(self, words: Words) -> bool:
        return words == FP32


def unit_of(s: int, words: Words = INT64, latency: float = 0, weak: bool = False) -> TensorUnit:
    return TensorUnit(NumpyBackend(s), words, latency, weak)


def test_calls_and_rows_are_counted() -> None:
    unit = unit_of(4, latency=100)
    a, b = np.arange(40).reshape(10, 4), np.arange(16).reshape(4, 4)
    np.testing.assert_array_equal(unit.multiply(a, b), a @ b)
    before = unit.cost.copy()
    np.testing.assert_array_equal(unit.multiply_add(a[:4], b, b), a[:4] @ b + b)
    unit.cpu(adds=1, multiplies=2, moves=3)
    assert unit.cost == Cost(
        calls=2, rows=14, fused_calls=1, cpu_adds=1, cpu_multiplies=2, cpu_moves=3
    )
    assert unit.cost - before == Cost(1, 4, 1, 1, 2, 3)
    assert unit.cost.cpu == 6
    assert unit.cost.work == UnitWork(2, 14)
    assert unit.unit_time == unit.cost.unit_time(4, 100) == 14 * 4 + 2 * 100
    assert (unit.s, unit.m) == (4, 16)


def test_other_words_beside() -> None:
    """Costs are those of one unit; time is of each kind of words with its latency."""
    unit = unit_of(4, FP64, latency=100)
    assert unit.beside(INT64).unit_time == 0
    counting = unit.beside(INT64, latency=7)
    b = np.arange(16).reshape(4, 4)
    counting.multiply(np.ones((10, 4), int), b)
    assert (unit.own, counting.own) == (UnitWork(), UnitWork(1, 10))
    unit.multiply(np.ones((5, 4)), b.astype(float))
    unit.cpu(adds=1)
    counting.cpu(adds=2)
    assert unit.cost == counting.cost == Cost(calls=2, rows=15, cpu_adds=3)
    assert unit.units == (unit, counting)
    assert unit.unit_time == 5 * 4 + 100 + 10 * 4 + 7
    with pytest.raises(ValueError, match=r"^words of backend narrow must be fp32, not int64$"):
        TensorUnit(Narrow(4), FP32).beside(INT64)


def test_work_adds_up() -> None:
    assert UnitWork(1, 4) * 3 + UnitWork(2, 8) == UnitWork(5, 20)
    assert UnitWork(5, 20).unit_time(4) == 80


@pytest.mark.parametrize("weak", [False, True])
@pytest.mark.parametrize("s", [1, 4, 8])
def test_streams_of_any_length(s: int, weak: bool) -> None:
    b = np.arange(s * s).reshape(s, s)
    for n in range(1, 71):
        unit = unit_of(s, weak=weak)
        a = np.arange(n * s).reshape(n, s) - 7
        np.testing.assert_array_equal(stream(unit, a, b), a @ b)
        assert unit.cost.work == formulas.stream(n, s, weak)
        short = n % s if weak else n < s
        assert unit.cost.cpu_moves == (unit.cost.rows * s if short else 0)
    assert formulas.stream(4 * s, s) == UnitWork(1, 4 * s)
    assert formulas.stream(4 * s, s, weak=True) == UnitWork(4, 4 * s)


def test_padding_is_counted_views_are_not() -> None:
    unit = unit_of(4, MINPLUS)
    x = np.arange(12.0).reshape(3, 4)
    assert padded(unit, x, 3, 4) is x
    assert unit.cost == Cost()
    wide = padded(unit, x, 4, 8)
    np.testing.assert_array_equal(wide[:3, :4], x)
    assert np.isinf(wide[3]).all()
    assert np.isinf(wide[:, 4:]).all()
    assert unit.cost == Cost(cpu_moves=32)
    assert [multiple(n, 4) for n in (0, 1, 4, 5)] == [4, 4, 4, 8]
    assert np.shares_memory(block(wide, 0, 1, 4), wide)
    np.testing.assert_array_equal(block(wide, 0, 0, 4), wide[:, :4])


def test_elementwise_work_is_counted() -> None:
    unit = unit_of(4, modular(7))
    x, y = np.array([[1, 2], [3, 4]]), np.array([5, 6])
    assert add(unit, x, y).tolist() == [[6, 1], [1, 3]]
    assert subtract(unit, x, y).tolist() == [[3, 3], [5, 5]]
    assert multiply(unit, x, y).tolist() == [[5, 5], [1, 3]]
    assert divide(unit, x, x).tolist() == [[1, 1], [1, 1]]
    assert unit.cost == Cost(cpu_adds=8, cpu_multiplies=8)


@pytest.mark.parametrize(
    ("a", "b", "error", "message"),
    [
        ((4, 4), (4, 5), ValueError, "`b` must be of shape (4, 4), not (4, 5)"),
        ((3, 4), (4, 4), ValueError, "`a` must be of shape (n, 4), n >= 4, not (3, 4)"),
        ((8, 5), (4, 4), ValueError, "`a` must be of shape (n, 4), n >= 4, not (8, 5)"),
        ((16,), (4, 4), ValueError, "`a` must be of shape (n, 4), n >= 4, not (16,)"),
    ],
)
def test_shapes_are_refused(a: Any, b: Any, error: type[Exception], message: str) -> None:
    unit = unit_of(4)
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        unit.multiply(np.zeros(a, int), np.zeros(b, int))
    assert unit.cost == Cost()


def test_other_operands_are_refused() -> None:
    unit, x = unit_of(4), np.zeros((4, 4), np.int64)
    with pytest.raises(TypeError, match=r"^`a` must be an array, not list$"):
        unit.multiply(x.tolist(), x)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^`b` must be of int64, not float64$"):
        unit.multiply(x, x.astype(float))
    with pytest.raises(ValueError, match=r"^`c` must be of shape \(8, 4\), not \(4, 4\)$"):
        unit.multiply_add(np.zeros((8, 4), np.int64), x, x)
    with pytest.raises(TypeError, match=r"^`c` must be of int64, not bool$"):
        unit.multiply_add(x, x, x.astype(bool))
    weak = unit_of(4, weak=True)
    message = r"^`a` of a weak unit must be of shape \(4, 4\), not \(8, 4\)$"
    with pytest.raises(ValueError, match=message):
        weak.multiply(np.zeros((8, 4), np.int64), x)
    assert unit.cost == weak.cost == Cost()


def test_an_overflow_is_not_counted() -> None:
    unit = unit_of(2)
    x = np.full((2, 2), 2**62)
    with pytest.raises(ValueError, match=r"^words must have 127 bits to hold the result, not 64$"):
        unit.multiply(x, x)
    assert unit.cost == Cost()


def test_parameters_are_refused() -> None:
    with pytest.raises(TypeError, match=r"^`words` must be Words, not str$"):
        TensorUnit(NumpyBackend(4), "fp32")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^`latency` must be 0 or more, and finite, not -1$"):
        unit_of(4, latency=-1)
    with pytest.raises(TypeError, match=r"^`latency` must be a number, not str$"):
        unit_of(4, latency="1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^words of backend narrow must be fp32, not fp64$"):
        TensorUnit(Narrow(4), FP64)
    assert TensorUnit(Narrow(4), FP32).s == 4
    with pytest.raises(ValueError, match=r"^`side` must be 1 or more, not 0$"):
        NumpyBackend(0)
    with pytest.raises(TypeError, match=r"^`side` must be an integer, not float$"):
        NumpyBackend(4.0)  # type: ignore[arg-type]


def test_requirements() -> None:
    unit = unit_of(4, BOOLEAN)
    require(unit, "closure", kinds=("int64", "boolean"), exact=True)
    for options, message in (
        ({"kinds": ("fp32", "fp64")}, "words of lu must be fp32 or fp64, not boolean"),
        ({"subtraction": True}, "words of lu must subtract, which boolean does not"),
        ({"division": True}, "words of lu must divide, which boolean does not"),
    ):
        with pytest.raises(ValueError, match=f"^{message}$"):
            require(unit, "lu", **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^words of peeling must be exact, which fp32 is not$"):
        require(unit_of(4, FP32), "peeling", exact=True)


def test_side_of_m() -> None:
    assert [side_of(m) for m in (1, 4, 256, 65536)] == [1, 2, 16, 256]
    for m in (-4, 0, 48):
        with pytest.raises(ValueError, match=f"^`m` must be a square, 1 or more, not {m}$"):
            side_of(m)
