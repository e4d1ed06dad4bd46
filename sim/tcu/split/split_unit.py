"""A tensor unit of wide words that is one of narrow words: what the model would have to charge for
low precision, the third open question of the paper."""

from __future__ import annotations

from ..backend import Backend
from ..cost import UnitWork
from ..tensor_unit import TensorUnit
from ..words import Array, Words, integer
from .limbs import limbs_of
from .split_backend import SplitBackend

__all__ = ["SplitUnit"]


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
