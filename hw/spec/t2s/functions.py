"""Functions of one word, before and after sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["FUNCTIONS", "padded_before"]

FUNCTIONS: Mapping[str, Mapping[str, str]] = {
    "absolute": {"0": "0", "+inf": "+inf"},
    "negate": {"0": "0", "+inf": "-inf", "-inf": "+inf"},
    "relu": {"0": "0", "+inf": "+inf"},
}
"""By name: of what words tiles are padded with, the word that the function makes it of."""


def padded_before(functions: Iterable[str], pad: str) -> str | None:
    """The word of which functions, the first one first, make a word; None if there is none."""
    word: str | None = pad
    for name in reversed(list(functions)):
        word = FUNCTIONS[name].get(word) if word else None
    return word
