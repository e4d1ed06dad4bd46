"""A p-GEMM of any size, in memory."""

from __future__ import annotations

from dataclasses import dataclass

from ....hw.spec.gta import element_bytes, limbs, result_bytes

__all__ = ["PGemm"]


@dataclass(frozen=True, kw_only=True)
class PGemm:
    """D = A B (+ C) of M x K and K x N elements of one format.

    Parameters
    ----------
    m, n, k: sizes, from 1
    format: of A and B; ValueError names the known ones
    accumulate: whether there is a C
    """

    m: int
    n: int
    k: int
    format: str
    accumulate: bool = False

    def __post_init__(self) -> None:
        for name in ("m", "n", "k"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"`{name}` must be an integer, not {value!r}")
            if value < 1:
                raise ValueError(f"`{name}` must be at least 1, not {value}")
        limbs(self.format)

    @property
    def products(self) -> int:
        """Multiplications of whole elements."""
        return self.m * self.n * self.k

    @property
    def limb_products(self) -> int:
        """Multiplications of limbs: cycles of one element of the array, all in all."""
        return self.products * limbs(self.format) ** 2

    @property
    def element_bytes(self) -> int:
        """Of an element of A or B."""
        return element_bytes(self.format)

    @property
    def result_bytes(self) -> int:
        """Of an element of C or D."""
        return result_bytes(self.format)
