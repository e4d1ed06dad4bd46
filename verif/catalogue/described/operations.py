"""Operands of operations: how large, with which words, and what the definition makes of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Number = Fraction | tuple[Fraction, Fraction] | str
"""A number, a complex one, or "inf", "-inf" or "nan"."""

_SMALL = 3


def decode(formats: Mapping[str, Any], name: str, word: int) -> Number:
    """Returns the value that a container word encodes."""
    form = formats[name]
    bits = form["container_bits"]
    if form["kind"] == "complex":
        half = formats[form["part"]]["container_bits"]
        parts = [
            decode(formats, form["part"], word >> form[which] & ((1 << half) - 1))
            for which in ("real", "imaginary")
        ]
        assert isinstance(parts[0], Fraction)
        assert isinstance(parts[1], Fraction)
        return parts[0], parts[1]
    if form["kind"] == "integer":
        return Fraction(word - (word >> (bits - 1) << bits))
    pattern = word >> form["low"]
    fraction = pattern & ((1 << form["fraction_bits"]) - 1)
    exponent = pattern >> form["fraction_bits"] & ((1 << form["exponent_bits"]) - 1)
    sign = -1 if word >> (bits - 1) else 1
    highest = exponent == (1 << form["exponent_bits"]) - 1
    if highest and form["infinities"]:
        return "nan" if fraction else ("inf" if sign > 0 else "-inf")
    if highest and fraction == (1 << form["fraction_bits"]) - 1:
        return "nan"
    significand = fraction + ((1 << form["fraction_bits"]) if exponent else 0)
    scale = max(exponent, 1) - form["bias"] - form["fraction_bits"]
    return sign * significand * Fraction(2) ** scale


def encode(formats: Mapping[str, Any], name: str, number: int | tuple[int, int]) -> int:
    """The container word of an integer, or of a complex one, that the format holds exactly."""
    form = formats[name]
    if form["kind"] == "complex":
        assert isinstance(number, tuple)
        words = (encode(formats, form["part"], part) for part in number)
        return sum(
            word << form[which] for word, which in zip(words, ("real", "imaginary"), strict=True)
        )
    assert isinstance(number, int)
    if form["kind"] == "integer":
        return number & ((1 << form["container_bits"]) - 1)
    sign = int(number < 0) << (form["container_bits"] - 1)
    if not number:
        return 0
    exponent = abs(number).bit_length() - 1
    fraction = (abs(number) << form["fraction_bits"] >> exponent) - (1 << form["fraction_bits"])
    pattern = exponent + form["bias"] << form["fraction_bits"] | fraction
    return sign | pattern << form["low"]


def small_words(
    rng: np.random.Generator, formats: Mapping[str, Any], name: str, count: int
) -> Words:
    """Words of small integers."""
    numbers = rng.integers(-_SMALL, _SMALL + 1, (count, 2)).tolist()
    if formats[name]["kind"] != "complex":
        return np.array([encode(formats, name, real) for real, _ in numbers], np.uint64)
    return np.array([encode(formats, name, (x, y)) for x, y in numbers], np.uint64)


def random_words(
    rng: np.random.Generator, formats: Mapping[str, Any], name: str, count: int
) -> Words:
    """Words of any bits, and, of floats, of numbers that are neither large nor small."""
    form = formats[name]
    if form["kind"] == "complex":
        parts = [random_words(rng, formats, form["part"], count) for _ in range(2)]
        return parts[0] << np.uint64(form["real"]) | parts[1] << np.uint64(form["imaginary"])
    words = rng.integers(0, 1 << 64, count, np.uint64) >> np.uint64(64 - form["container_bits"])
    if form["kind"] == "integer":
        return words
    low = form["low"] + form["fraction_bits"]
    mask = np.uint64(((1 << form["exponent_bits"]) - 1) << low)
    near = rng.integers(-3, 4, count) + form["bias"]
    moderate = (words & ~mask) | near.astype(np.uint64) << np.uint64(low)
    return np.where(rng.random(count) < 0.1, words, moderate)


Matrices = dict[str, Any]
"""Container words (rows, columns) by operand. Those of tensors have further indices; sparse
operands are ``{(row, column): word}``."""

Shape = tuple[int, ...]
"""Rows, columns and, of tensors, further sizes."""

_SPARSE = ("c2sr", "csr", "ciss", "tokens")


def operands_of(operation: Mapping[str, Any], direction: str) -> list[dict[str, Any]]:
    """Returns the operands with this direction, "in" or "out"."""
    return [x for x in operation["operands"] if x["direction"] == direction]


def _indices(operand: Mapping[str, Any]) -> tuple[str, ...]:
    """The sizes that an operand names."""
    return (operand["rows"], operand["columns"], *operand.get("more", ()))


def shape_of(operand: Mapping[str, Any], sizes: Mapping[str, int]) -> Shape:
    """Returns an operand's shape, given the sizes by name."""
    return tuple(sizes[name] for name in _indices(operand))


def located(operand: Mapping[str, Any]) -> dict[str, Any]:
    """An operand's placement, and the sizes of its modes as ``modes``."""
    return {**operand["placement"], "modes": _indices(operand)}


def _present(rng: np.random.Generator, operand: Mapping[str, Any], shape: Shape) -> list[Shape]:
    """Draws the positions at which a sparse operand has elements."""
    structure = operand["placement"].get("structure")
    if structure is None:
        return [tuple(at) for at in np.argwhere(rng.random(shape) < 0.4).tolist()]
    kept, group = structure["kept"], structure["group"]
    return [
        (row, first + int(place))
        for row in range(shape[0])
        for first in range(0, shape[1], group)
        for place in sorted(rng.choice(group, kept, replace=False))
    ]


def operands(
    rng: np.random.Generator,
    sidecar: Mapping[str, Any],
    operation: Mapping[str, Any],
    sizes: Mapping[str, int],
    *,
    small: bool,
) -> Matrices:
    """Random operands; ``small``: of small integers, on which no rounding can show."""
    words = small_words if small else random_words
    found: Matrices = {}
    for operand in operands_of(operation, "in"):
        shape = shape_of(operand, sizes)
        place = operand["placement"]
        drawn = words(rng, sidecar["formats"], operand["format"], prod(shape))
        if place["kind"] in _SPARSE or place.get("structure"):
            present = _present(rng, operand, shape)
            found[operand["name"]] = dict(zip(present, drawn.tolist(), strict=False))
        else:
            found[operand["name"]] = drawn.reshape(shape)
    return found


def padded(operation: Mapping[str, Any], given: Matrices) -> tuple[Matrices, Matrices]:
    """Replaces c by padding, and the last k of a and b if they have several. Returns the operands,
    and, by position, the elements that are not padding."""
    words = {x["name"]: int(x["padding"], 16) for x in operation["operands"] if "padding" in x}
    filled, left = dict(given), {}
    dense = not any(isinstance(given[name], Mapping) for name in "ab")
    several = dense and {"a", "b"} <= set(words) and given["b"].shape[0] > 1
    for name, matrix in given.items():
        left[name] = matrix if isinstance(matrix, Mapping) else dict(np.ndenumerate(matrix))
        if name == "c" and name in words:
            filled[name], left[name] = np.full_like(matrix, words[name]), {}
        elif several and name in ("a", "b"):
            last = (slice(None), -1) if name == "a" else -1
            filled[name] = matrix.copy()
            filled[name][last] = words[name]
            axis, end = int(name == "a"), given["b"].shape[0] - 1
            left[name] = {at: word for at, word in left[name].items() if at[axis] < end}
    return filled, left


def numbers_of(
    sidecar: Mapping[str, Any], operand: Mapping[str, Any], matrix: Any
) -> dict[Shape, Any]:
    """The numbers of a matrix or tensor by place."""
    if not isinstance(matrix, Mapping):
        matrix = dict(np.ndenumerate(matrix))
    return {
        tuple(map(int, at)): decode(sidecar["formats"], operand["format"], int(word))
        for at, word in matrix.items()
    }


def _complex(name: str, x: Any, y: Any) -> Any:
    if name == "mul":
        return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]
    assert name == "add"
    return x[0] + y[0], x[1] + y[1]


def _truth(x: Any) -> Fraction:
    return Fraction(int(x != 0))


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "mul": operator.mul,
    "min": min,
    "max": max,
    "and": lambda x, y: _truth(x) * _truth(y),
    "or": lambda x, y: max(_truth(x), _truth(y)),
    "square_difference": lambda x, y: (x - y) ** 2,
}


def _apply(name: str, x: Any, y: Any) -> Any:
    return _complex(name, x, y) if isinstance(x, tuple) else _OPERATORS[name](x, y)


def by_definition(
    operation: Mapping[str, Any], numbers: Mapping[str, Mapping[Shape, Any]]
) -> dict[Shape, Any]:
    """A product of the numbers of a, b and perhaps c, by place; exact."""
    plus, times = operation["compute"]["plus"], operation["compute"]["times"]
    terms: dict[Shape, list[Any]] = {}
    for place, number in numbers.get("c", {}).items():
        terms[place] = [number]
    columns: dict[int, list[tuple[int, Any]]] = {}
    for (k, n), number in numbers["b"].items():
        columns.setdefault(k, []).append((n, number))
    for (m, k), left in numbers["a"].items():
        for n, right in columns.get(k, []):
            terms.setdefault((m, n), []).append(_apply(times, left, right))
    return {
        place: reduce(lambda x, y: _apply(plus, x, y), several) for place, several in terms.items()
    }


def contracted(
    operation: Mapping[str, Any],
    numbers: Mapping[str, Mapping[Shape, Any]],
    sizes: Mapping[str, int],
) -> dict[Shape, float]:
    """A contraction of the numbers of operands that go in, by place, of small integers."""
    compute = operation["compute"]
    assert compute["kind"] == "contraction"
    (result,) = operands_of(operation, "out")
    kept = _indices(result)
    # All indices are axes, those of the result first; operands are as they are along the others.
    axes = [*kept, *(name for name in sizes if name not in kept)]
    terms = []
    for operand in operands_of(operation, "in"):
        dense = np.zeros(shape_of(operand, sizes))
        for at, number in numbers[operand["name"]].items():
            dense[at] = number
        modes = _indices(operand)
        order = np.argsort([axes.index(name) for name in modes])
        shape = [sizes[name] if name in modes else 1 for name in axes]
        terms.append(dense.transpose(order).reshape(shape))
    products = np.broadcast_to(reduce(_UFUNCS[compute["times"]], terms), [sizes[x] for x in axes])
    summed = tuple(range(len(kept), len(axes)))
    found = _UFUNCS[compute["plus"]].reduce(products, axis=summed)
    return {at: float(number) for at, number in np.ndenumerate(found)}


_UFUNCS: dict[str, Any] = {
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.logical_and,
    "or": np.logical_or,
}
