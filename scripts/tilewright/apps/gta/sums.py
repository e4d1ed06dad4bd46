"""What users keep of sums of products of integers, and the reference of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.gta import is_float, result_bytes
from ...hw.spec.host.words import not_one_of
from .agreement import Agreement, exactly
from .operands import Operand, numbers_in, result_format

__all__ = ["SUMS", "addend_words", "check_sums", "compare_sums", "kept_numbers"]

Patterns = NDArray[np.uint64]

SUMS = ("wrap", "saturate", "long")

_BITS = 16
_LONG_BITS = 128


def check_sums(sums: str, format: str) -> None:
    """Raise UserError for what a format's sums are not kept as."""
    known = SUMS[:1] if is_float(format) else SUMS if result_bytes(format) == 8 else SUMS[:2]
    if sums not in known:
        raise UserError(not_one_of("--sums", known, sums, f" in {format}"))


def addend_words(addend: Operand | None, sums: str) -> Patterns | None:
    """C as the accelerator takes it: of "long" sums each number is two words, the low one first."""
    if addend is None or sums != "long":
        return addend.words if addend else None
    signs = np.where(addend.values < 0, np.uint64(0xFFFF_FFFF_FFFF_FFFF), np.uint64(0))
    return np.stack([addend.words, signs], axis=-1)


def kept_numbers(words: Patterns, format: str, sums: str) -> NDArray[Any]:
    """Results as they are written: "long" ones as patterns of 64 bits, (M, N, 2)."""
    return words if sums == "long" else numbers_in(words, result_format(format))


@dataclass(frozen=True, kw_only=True)
class _Range:
    """Of two's complement of ``bits``."""

    bits: int

    @property
    def highest(self) -> int:
        return (1 << (self.bits - 1)) - 1

    def beyond(self, numbers: NDArray[Any]) -> int:
        """How many are not in it."""
        return int(np.count_nonzero((numbers > self.highest) | (numbers < ~self.highest)))


def compare_sums(
    path: Path, format: str, sums: str, words: Patterns, a: Operand, b: Operand, c: Operand | None
) -> tuple[Agreement, int]:
    """A product, and C, in integers that are saturated or long, against NumPy's products of pieces
    of 16 bits, added up in Python's integers; and how many sums the usual width does not hold.

    ``path`` is A's to messages. Raises UserError if sums that are clamped have more than 128 bits:
    what the accelerator clamps it has modulo 2^128.
    """
    exact = _exact(a, b, format)
    if c is not None:
        exact = exact + c.values.astype(object)
    usual, whole = _Range(bits=8 * result_bytes(format)), _Range(bits=_LONG_BITS)
    if sums == "long":
        pairs = words.astype(object)
        found = pairs[..., 0] | pairs[..., 1] << 64
        expected = exact & ((1 << _LONG_BITS) - 1)
        return exactly("Python's integers, modulo 2^128", found, expected), usual.beyond(exact)
    if count := whole.beyond(exact):
        raise UserError(f"{path}: {count} of {exact.size} sums have more than {_LONG_BITS} bits, "
                        "and are clamped modulo 2^128")  # fmt: skip
    found = numbers_in(words, result_format(format)).astype(object)
    expected = np.clip(exact, ~usual.highest, usual.highest)
    return exactly(f"Python's integers, clamped to {usual.bits} bits", found, expected), (
        usual.beyond(exact)
    )


def _exact(a: Operand, b: Operand, format: str) -> NDArray[Any]:
    """Sums of products of two pieces fit int64 for any K that memory holds."""
    bits = int(format.removeprefix("int"))
    total: NDArray[Any] = np.zeros((len(a.values), b.values.shape[1]), object)
    for i, left in enumerate(_pieces(a.values, bits)):
        for j, right in enumerate(_pieces(b.values, bits)):
            total = total + ((left @ right).astype(object) << (_BITS * (i + j)))
    return total


def _pieces(values: NDArray[np.int64], bits: int) -> list[NDArray[np.int64]]:
    """The lowest first; the top one has the sign."""
    count = max(1, bits // _BITS)
    low = [values >> (_BITS * n) & ((1 << _BITS) - 1) for n in range(count - 1)]
    return [*low, values >> (_BITS * (count - 1))]
