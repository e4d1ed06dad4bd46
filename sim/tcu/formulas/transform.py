"""Calls and rows of transforms (Theorem 7)."""

from __future__ import annotations

from ..blocks import multiple
from ..cost import UnitWork
from .lengths import chirp_length, radices
from .number_cost import COMPLEX_WORDS, REALS, RESIDUES, NumberCost
from .streaming import stream

__all__ = ["dft", "dft_complex", "level_rows", "ntt", "planes", "transforms"]


def dft(n: int, s: int, weak: bool = False) -> UnitWork:
    """A signal of ``n`` numbers on real words: 4 log_s n calls of n / s rows where n = s^h, h > 1:
    time 4 (n + l) log_s n."""
    return transforms(1, n, s, weak, REALS)


def dft_complex(n: int, s: int, weak: bool = False) -> UnitWork:
    """The same on complex words: log_s n calls."""
    return transforms(1, n, s, weak, COMPLEX_WORDS)


def ntt(n: int, s: int, weak: bool = False) -> UnitWork:
    """A signal of ``n`` residues modulo a prime with roots of all orders that are wanted."""
    return transforms(1, n, s, weak, RESIDUES)


def transforms(
    count: int,
    n: int,
    s: int,
    weak: bool = False,
    number: NumberCost = REALS,
    order: int = 0,
) -> UnitWork:
    """``count`` signals of ``n`` numbers each, all in the same calls.

    order: that the orders of roots divide; 0 if there are roots of any
    """
    factors = radices(n, s)
    if factors is None:
        length = chirp_length(n, s, order)
        rows = [transforms(signals, length, s, weak, number) for signals in (count, 1, count)]
        return rows[0] + rows[1] + rows[2]
    found = UnitWork()
    for factor in factors:
        found += stream(level_rows(count * n, factor, s), s, weak) * number.calls
    return found


def level_rows(numbers: int, factor: int, s: int) -> int:
    """Rows that a level of ``factor`` streams: as many transforms in a row as fit."""
    return multiple(numbers // factor, s // factor) // (s // factor)


def planes(
    count: int, n: int, s: int, weak: bool = False, number: NumberCost = REALS, order: int = 0
) -> UnitWork:
    """Transforms in two dimensions of ``count`` planes of (n, n) numbers."""
    return transforms(count * n, n, s, weak, number, order) * 2
