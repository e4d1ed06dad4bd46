"""Products of residues beside Python's integers, and of sparse ones beside SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...sim.tcu.words import Array
from ...sim.tcu.words.modular import Residues
from ..common.agreement import Agreement, exactly

__all__ = ["modulo", "sparse_modulo"]

_COLUMNS = 16
_LIMB = 15
"""Bits, so that sums of 2^33 products fit a word of 64 bits."""


def modulo(product: Array, a: Array, b: Array, modulus: int) -> Agreement:
    """Compares a product with ``a b`` modulo a number, in up to ``_COLUMNS`` columns."""
    columns = product.shape[1]
    places = np.unique(np.linspace(0, columns - 1, _COLUMNS).astype(int))
    expected = a.astype(object) @ b[:, places].astype(object) % modulus
    some = f", {len(places)} columns" if len(places) < columns else ""
    return exactly(f"Python's integers{some}", product[:, places], expected)


def sparse_modulo(a: Any, b: Any, words: Residues) -> Any:
    """``a b`` of SciPy's CSR matrices of residues, by SciPy's products of limbs."""
    total = 0 * (a != 0).astype(np.int64) @ (b != 0).astype(np.int64)
    count = -(-(words.modulus - 1).bit_length() // _LIMB)
    for i in range(count):
        for j in range(count):
            made = (_limb(a, i) @ _limb(b, j)).tocsr()
            weight = np.array(pow(2, _LIMB * (i + j), words.modulus))
            made.data = words.multiply(made.data % words.modulus, weight)
            total = total + made
            total.data %= words.modulus
    return total


def _limb(matrix: Any, number: int) -> Any:
    data = matrix.data >> (_LIMB * number) & ((1 << _LIMB) - 1)
    return type(matrix)((data, matrix.indices, matrix.indptr), shape=matrix.shape)
