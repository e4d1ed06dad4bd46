"""Container words and the numbers that they stand for, as the sidecar's ``formats`` say."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
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
