"""The order of additions once more, value by value, in exact arithmetic: lists and whole numbers.

Nothing here knows the models; arithmetic is that of ``verif.oracles``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import groupby

from tilewright.hw.spec.formats import FloatFormat, Format, IntFormat
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.verif.oracles.semirings import exact_product, rounded_difference, widened
from tilewright.verif.oracles.softfloat import decode, round_exact

Vector = list[int]
Items = Iterable[tuple[Sequence[int], int]]
"""The other indices of a slice's entries, and their values, as the stream has them."""

Rows = Sequence[Sequence[int]]
"""An operand."""


class Oracle:
    """A device's arithmetic.

    Parameters
    ----------
    config: of the device; of it formats, semiring and latency of the adder are used
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self.name = config.semiring
        self.element: Format = config.format
        self.sums: Format = config.sum_format
        self.adder = config.adder_stages + 1

    def identity(self) -> int:
        """Initial value of the output."""
        word = {"min": "+inf", "max": "-inf"}.get(self.name[:3], "0")
        found = self.sums.constant(word)
        assert found is not None
        return found

    def times(self, x: int, y: int, first: Format | None = None) -> int:
        """``x (x) y``: x of the format of elements or of ``first``."""
        fmt = first or self.element
        row = SEMIRINGS[self.name]
        if isinstance(fmt, FloatFormat):
            if row.times != "square_difference":
                return exact_product(row, x, y, fmt, fmt)
            value = decode(rounded_difference(x, y, fmt), widened(fmt))
            if value.kind != "finite":
                return fmt.nan if value.kind == "nan" else fmt.infinity
            return round_exact(value.integer**2, 2 * value.exponent, fmt)
        assert isinstance(self.element, IntFormat)
        a, b = _signed(x, fmt.bits), _signed(y, self.element.bits)
        low, high = -(1 << (self.sums.bits - 1)), (1 << (self.sums.bits - 1)) - 1
        # Only int32 has semirings with ends, and there both formats are one.
        ends = {"+inf": high, "-inf": low}
        if row.plus in ("min", "max") and (a, b) == tuple(ends[word] for word in row.padding):
            found = ends[row.identity]
        else:
            found = {
                "mul": a * b,
                "add": max(low, min(high, a + b)),
                "min": min(a, b),
                "max": max(a, b),
                "and": int(a != 0 and b != 0),
                "square_difference": (a - b) ** 2,
            }[row.times]
        return found % (1 << self.sums.bits)

    def plus(self, x: int, y: int) -> int:
        """``x (+) y``."""
        operation = SEMIRINGS[self.name].plus
        fmt = self.sums
        if isinstance(fmt, FloatFormat):
            if operation == "or":
                true = any(
                    decode(pattern, fmt).kind != "finite" or decode(pattern, fmt).integer
                    for pattern in (x, y)
                )
                return fmt.one if true else 0
            # A semiring whose (x) is that (+).
            same = {"add": "minplus", "min": "maxmin", "max": "minmax"}[operation]
            return exact_product(SEMIRINGS[same], x, y, fmt, fmt)
        a, b = _signed(x, fmt.bits), _signed(y, fmt.bits)
        found = {"add": a + b, "min": min(a, b), "max": max(a, b), "or": int(bool(a or b))}
        return found[operation] % (1 << fmt.bits)

    def add(self, x: Vector, y: Vector) -> Vector:
        return [self.plus(a, b) for a, b in zip(x, y, strict=True)]

    def group_sum(self, summands: list[Vector], vectors: int) -> Vector:
        """Adds summands to several partial sums, so that no sum waits for the one before; then adds
        these in pairs."""
        count = -(-self.adder // vectors)
        sums = [
            reduce(self.add, summands[first::count]) for first in range(min(count, len(summands)))
        ]
        while len(sums) > 1:
            pairs = [self.add(*sums[n : n + 2]) for n in range(0, len(sums) - 1, 2)]
            sums = pairs + sums[len(sums) - len(sums) % 2 :]
        return sums[0]

    def scaled(self, a: int, row: Sequence[int]) -> Vector:
        return [self.times(a, value) for value in row]

    def hadamard(self, t: Vector, row: Sequence[int]) -> Vector:
        return [self.times(a, b, self.sums) for a, b in zip(t, row, strict=True)]

    def kronecker(self, t: Vector, row: Sequence[int]) -> Vector:
        return [self.times(a, b, self.sums) for b in row for a in t]

    def slice_sum(
        self,
        kernel: str,
        order: int,
        items: Items,
        operands: Mapping[int, Rows],
        vectors: int,
        scalars: tuple[int, int],
    ) -> Vector:
        """The sum of one slice, which has entries."""
        entries = [(list(indices), value) for indices, value in items]
        last = operands[order - 1]
        if order == 2:
            return self.group_sum([self.scaled(a, last[j]) for (j,), a in entries], vectors)
        finish = self.hadamard if kernel == "mttkrp" else self.kronecker
        nf1, nf2 = scalars
        if order == 3:
            summands = []
            for j, fiber in groupby(entries, key=lambda entry: entry[0][0]):
                t = self.group_sum([self.scaled(a, last[k]) for (_, k), a in fiber], vectors)
                summands.append(finish(t, operands[1][j]))
            return self.group_sum(summands, nf1 * vectors)
        outer = []
        for j, matrix in groupby(entries, key=lambda entry: entry[0][0]):
            inner = []
            for k, fiber in groupby(matrix, key=lambda entry: entry[0][1]):
                t = self.group_sum([self.scaled(a, last[m]) for (_, _, m), a in fiber], vectors)
                inner.append(finish(t, operands[2][k]))
            outer.append(finish(self.group_sum(inner, nf2 * vectors), operands[1][j]))
        return self.group_sum(outer, nf1 * nf2 * vectors)


def _signed(pattern: int, bits: int) -> int:
    return pattern - (1 << bits) if pattern >> (bits - 1) else pattern
