"""A tensor unit of wide words that is one of narrow words: what the model would have to charge for
low precision, the third open question of the paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..cost import Cost, UnitWork
from ..tensor_unit import Backend, TensorUnit, stream
from ..words import Array, Words, integer
from ..words.floats import Floats
from ..words.integers import Integers, largest
from ..words.modular import Residues


def can_split(words: Words) -> bool:
    """Tells whether words are composed of integers: integers, residues, and real floats by their
    significands. Sums of cut words are sums of their parts; minima are not."""
    real = isinstance(words, Floats) and words.dtype.kind == "f"
    return real or isinstance(words, Integers | Residues)


def limbs_of(words: Words, bits: int = 8) -> int:
    """L: limbs of ``bits`` bits of a word. Raises ValueError for words that cannot be split."""
    if isinstance(words, Integers):
        return -(-words.bits // bits)
    if isinstance(words, Residues):
        return max(1, -(-(words.modulus - 1).bit_length() // bits))
    if can_split(words):
        assert isinstance(words, Floats)
        return -(-(int(1 / words.roundoff).bit_length() - 1) // bits)
    raise ValueError(
        f"words that are split must be integers, residues or real floats, not {words.name}"
    )


def cut(x: Array, count: int, bits: int) -> list[Array]:
    """``count`` limbs of each integer, from int64."""
    lower = [x >> (bits * i) & ((1 << bits) - 1) for i in range(count - 1)]
    return [*lower, x >> (bits * (count - 1))]


def joined(sums: Sequence[Array], bits: int) -> Array:
    """``sum(x << (i * bits))``: int64, or Python's integers (dtype object) if it might not fit."""
    wide = sum(largest(x) << (bits * i) for i, x in enumerate(sums)) >> 63
    parts = [x.astype(object) if wide else x for x in sums]
    return np.asarray(sum(x * (1 << (bits * i)) if wide else x << (bits * i)
                          for i, x in enumerate(parts)))  # fmt: skip


def split(cost: Cost, s: int, words: Words, weak: bool = False, bits: int = 8) -> Cost:
    """``cost`` in words of L limbs: L times the calls (on a weak unit L^2), L^2 times the rows; to
    cut a word takes a move a limb, to put one together L^2 - 1 sums and 2 (L - 1) shifts."""
    count = limbs_of(words, bits)
    streamed, loaded = cost.rows * s, cost.calls * s * s
    reduced, scaled = isinstance(words, Residues), isinstance(words, Floats)
    return cost + Cost(
        calls=cost.calls * (count * (count if weak else 1) - 1),
        rows=cost.rows * (count * count - 1),
        cpu_adds=(count * count - 1) * streamed + scaled * (streamed + loaded),
        cpu_multiplies=(2 * (count - 1) + reduced) * streamed + scaled * (2 * streamed + loaded),
        cpu_moves=count * (streamed + loaded) * (count > 1),
    )


def as_integers(x: Array, bits: int, axis: int) -> tuple[Array, Array]:
    """``x`` as integers below ``2**(bits - 1)`` in magnitude, what is below one cut off, and the
    exponents of two that they are to be multiplied by, along ``axis`` one.

    Raises ValueError for numbers that are not finite.
    """
    if not np.isfinite(x).all():
        raise ValueError("floats that are split must be finite, not nan or inf")
    wide = x.astype(np.float64)
    _, above = np.frexp(np.abs(wide).max(axis=axis, keepdims=True))
    exponents = above - (bits - 1)
    return np.trunc(np.ldexp(wide, -exponents)).astype(np.int64), exponents


def from_integers(x: Array, exponents: Array, words: Floats) -> Array:
    """Integers of any size times powers of two, rounded."""
    return np.ldexp(x.astype(np.float64), exponents).astype(words.dtype)


def split_error(a: Array, b: Array, words: Floats, bits: int = 8) -> Array:
    """Bound of each element's error in ``a b`` by limbs: what is cut off of each number, up to
    ``2**(2 - bits L)`` of the largest in its row of ``a`` or column of ``b``, and a rounding.

    It is of the row's and the column's largest magnitudes, not of the products': small numbers
    beside large ones lose what floats would keep. Neither underflow nor overflow is covered.
    """
    left = np.abs(a).max(axis=1, keepdims=True).astype(float)
    right = np.abs(b).max(axis=0, keepdims=True).astype(float)
    lost = 2.0 ** (2 - bits * limbs_of(words, bits))
    cut_off = a.shape[1] * (2 * lost + lost * lost)
    # The sum itself is rounded once, to float64 and to words.
    return np.asarray(left * right * (cut_off + a.shape[1] * 3 * words.roundoff))


class SplitBackend:
    """Multiplies for a `SplitUnit`; it charges all its work to the narrow unit.

    Parameters
    ----------
    narrow: a unit whose words hold sums of products of limbs
    bits: of a limb
    """

    held: tuple[str, ...] = ("integers", "residues", "real floats")

    def __init__(self, narrow: TensorUnit, bits: int) -> None:
        self.narrow, self.bits = narrow, bits

    @property
    def name(self) -> str:
        return f"{self.narrow.backend.name} in limbs of {self.bits} bits"

    @property
    def side(self) -> int:
        return self.narrow.s

    @property
    def cycles(self) -> int | None:
        return self.narrow.backend.cycles

    def holds(self, words: Words) -> bool:
        return can_split(words)

    def multiply(self, a: Array, b: Array, words: Words) -> Array:
        count, narrow = limbs_of(words, self.bits), self.narrow
        if isinstance(words, Floats):
            left, of_rows = as_integers(a, self.bits * count, axis=1)
            right, of_columns = as_integers(b, self.bits * count, axis=0)
            # The largest are looked for, numbers are scaled, and so are results.
            narrow.cpu(adds=a.size + b.size, multiplies=2 * a.size + b.size)
            return from_integers(self._exact(left, right, count), of_rows + of_columns, words)
        if isinstance(words, Residues):
            narrow.cpu(multiplies=a.size)
        return words.array(self._exact(a, b, count))

    def multiply_add(self, a: Array, b: Array, c: Array, words: Words) -> Array:
        self.narrow.cpu(adds=a.size)
        return words.add(self.multiply(a, b, words), c)

    def _exact(self, a: Array, b: Array, count: int) -> Array:
        """The product of integers. Limbs of A stand below each other, in a call for each limb of B;
        results whose limbs have one sum of places are added, shifted, and added."""
        narrow, n = self.narrow, len(a)
        if count == 1:
            return narrow.multiply(a, b)
        tall = np.concatenate(cut(a, count, self.bits))
        narrow.cpu(moves=count * (a.size + b.size))
        sums = [np.zeros(a.shape, np.int64) for _ in range(2 * count - 1)]
        for j, limb in enumerate(cut(b, count, self.bits)):
            made = stream(narrow, tall, limb)
            for i in range(count):
                sums[i + j] += made[i * n : (i + 1) * n]
        narrow.cpu(adds=(count * count - 1) * a.size, multiplies=2 * (count - 1) * a.size)
        return joined(sums, self.bits)


class SplitUnit(TensorUnit):
    """Any algorithm runs on it, and pays for limbs.

    A word of L limbs makes a call of n rows L calls of L n rows: limbs of A stand below each other,
    and those of B are loaded one after the other; on a weak unit it is L^2 calls. So L^2 n s + L l
    is charged, and what the CPU does to cut and to add. Integers and residues are exact, floats as
    `split_error` says.

    Parameters
    ----------
    backend: of narrow words: products of limbs, of either sign, in sums of ``sums`` bits
    words: wide ones: integers, residues or real floats
    latency, weak: as of a TensorUnit
    bits: of a limb
    sums: bits of what the unit adds limbs' products up in

    Members
    -------
    limbs: L
    narrow: the unit of narrow words

    Raises what a TensorUnit raises, and ValueError for other words.
    """

    def __init__(
        self,
        backend: Backend,
        words: Words,
        latency: float = 0,
        weak: bool = False,
        bits: int = 8,
        sums: int = 32,
    ) -> None:
        self.limbs = limbs_of(words, bits)
        self._bits, self._sums = bits, sums
        self.narrow = TensorUnit(backend, integer(sums), latency, weak)
        super().__init__(SplitBackend(self.narrow, bits), words, latency, weak)
        self.cost = self.narrow.cost

    @property
    def own(self) -> UnitWork:
        return self.narrow.own

    def beside(self, words: Words, latency: float | None = None) -> TensorUnit:
        other = super().beside(words, latency)
        assert isinstance(other, SplitUnit)
        other.narrow.cost = self.cost
        return other

    def multiply_add(self, a: Array, b: Array, c: Array) -> Array:
        """``a b (+) c``, the sum by the CPU: no fused call."""
        found = super().multiply_add(a, b, c)
        self.cost.fused_calls -= 1
        return found

    def _of(self, words: Words, latency: float) -> TensorUnit:
        return SplitUnit(
            self.narrow.backend, words, latency, self.weak, bits=self._bits, sums=self._sums
        )

    def _count(self, a: Array) -> None:
        """The narrow unit has counted its calls."""
        if self.on_call is not None:
            self.on_call()
