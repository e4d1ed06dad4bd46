"""Compares, in order, the payloads that a stream produced with the expected ones."""

from __future__ import annotations

from collections.abc import Sequence


class Scoreboard:
    """Compares payloads in order and keeps the first mismatches.

    Parameters
    ----------
    expected: payloads in the order in which they must leave
    keep: mismatches to keep in full

    Members
    -------
    checked, wrong: payloads compared, payloads that differed
    mismatches: (index, got, expected) of the first ones
    """

    def __init__(self, expected: Sequence[int], keep: int = 10) -> None:
        self._expected = expected
        self._keep = keep
        self.checked = 0
        self.wrong = 0
        self.mismatches: list[tuple[int, int, int]] = []

    def accept(self, payload: int) -> None:
        """Compare the next payload; one too many raises IndexError."""
        expected = self._expected[self.checked]
        if payload != expected:
            self.wrong += 1
            if len(self.mismatches) < self._keep:
                self.mismatches.append((self.checked, payload, expected))
        self.checked += 1

    @property
    def complete(self) -> bool:
        """True if every expected payload has arrived without a difference."""
        return self.checked == len(self._expected) and self.wrong == 0
