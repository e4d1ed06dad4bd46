"""What holds results against references: it finds what is wrong, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.apps.common.agreement import together, within
from tilewright.apps.gta.operands import compare_product, numbers_in, operand_of, result_format
from tilewright.errors import UserError
from tilewright.hw.spec.formats import FORMATS, IntFormat
from tilewright.hw.spec.gta import FORMATS_OF_GTA
from tilewright.sim.gta.golden.pgemm import pgemm
from tilewright.verif.kit.sampling import by_size

FLOATS = ("bf16", "fp16", "fp32", "fp64")


@pytest.mark.parametrize("format", FLOATS)
def test_rounding_is_within_its_bound(format: str) -> None:
    """Of sums that cancel, too; an error some times as large is not."""
    rng = np.random.default_rng(31)
    for _ in range(by_size(3, 10, 100)):
        depth = int(rng.integers(1, 60))
        a = operand_of("A", rng.standard_normal((7, depth)) * 2.0 ** rng.integers(-9, 9), format)
        b = operand_of("B", rng.standard_normal((depth, 6)), format)
        c = operand_of("C", -(a.values @ b.values), result_format(format))
        words = pgemm(format, a.words, b.words, c.words)
        agreement = compare_product(format, words, a.values, b.values, c.values)
        assert (agreement.wrong, agreement.left_out) == (0, 0)
        assert 0 <= agreement.worst < 1
        found = numbers_in(words, result_format(format)).astype(np.float64)
        size = np.abs(a.values) @ np.abs(b.values) + np.abs(c.values)
        unit = 2.0 ** -(53 if format == "fp64" else 24)
        found[3, 4] += 3 * (depth + 2) * unit * size[3, 4]
        wrong = operand_of("D", found, result_format(format)).words
        assert compare_product(format, wrong, a.values, b.values, c.values).wrong == 1


def test_integers_are_equal_or_wrong() -> None:
    a = operand_of("A", np.array([[-(1 << 63), 5]]), "int64")
    b = operand_of("B", np.array([[(1 << 63) - 1], [-7]]), "int64")
    words = pgemm("int64", a.words, b.words)
    assert compare_product("int64", words, a.values, b.values).wrong == 0
    found = compare_product("int64", words ^ np.uint64(1 << 63), a.values, b.values)
    assert (found.wrong, found.verdict) == (
        1, "NumPy, modulo the width of sums: 1 value, 1 DIFFERENT",
    )  # fmt: skip


def test_what_is_not_finite_is_left_out() -> None:
    found = within("it", np.array([np.inf, 1.0, np.nan, 2.0]), np.array([np.inf, 1.0, 3.0, 3.0]),
                   np.full(4, 0.5))  # fmt: skip
    assert (found.wrong, found.left_out, found.largest, found.worst) == (1, 2, 1.0, 2.0)
    assert found.verdict == (
        "it: largest error 1.00e+00, 200.00% of what rounding explains, 1 BEYOND it; "
        "2 not finite, left out"
    )
    assert together([found, found]).wrong == 2
    nothing = within("it", np.array([1.0]), np.array([1.0]), np.array([0.0]))
    assert (nothing.wrong, nothing.worst) == (0, 0.0)


@pytest.mark.parametrize("format", [name for name in FORMATS_OF_GTA if name.startswith("int")])
def test_ends_of_integers(format: str) -> None:
    """As integers of any type, and as floats where they are whole."""
    fmt = FORMATS[format]
    assert isinstance(fmt, IntFormat)
    ends = np.array([fmt.lowest, fmt.highest, -1, 0], np.int64)
    assert operand_of("A", ends, format).values.tolist() == ends.tolist()
    small = np.array([-5.0, 7.0])
    assert operand_of("A", small, format).words.tolist() == [(1 << fmt.bits) - 5, 7]
    assert operand_of("A", np.array([True]), format).words.tolist() == [1]
    beyond = {
        "uint64": np.array([fmt.highest + 1, 1], np.uint64),
        "float64": np.array([2.0 ** (fmt.bits - 1), 1.0]),
        "nan": np.array([np.nan, 1.0]),
        "below": np.array([np.nextafter(float(fmt.lowest), -np.inf) - 1, 1.0]),
    }
    for name, array in beyond.items():
        with pytest.raises(UserError) as caught:
            operand_of(name, array, format)
        assert str(caught.value) == (
            f"{name}: 1 of 2 values are not in {fmt.lowest}..{fmt.highest}, the range of {format}"
        )
    with pytest.raises(UserError, match=f"^x: 1 of 2 values are not integers, which {format} "
                                        f"needs$"):  # fmt: skip
        operand_of("x", np.array([0.5, 1.0]), format)


def test_floats_are_rounded_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    found = operand_of("x", np.array([1.0, 0.1, 1e9, 1e-30]), "fp16")
    assert found.rounded == 3
    assert found.values.tolist() == [1.0, float(np.float16(0.1)), np.inf, 0.0]
    assert capsys.readouterr().err.splitlines() == [
        "warning: x: 1 of 4 values exceed the largest fp16 value 65504 and become infinite",
        "warning: x: 1 of 4 values are too small for fp16 and become zero",
    ]
