"""Products of residues beside Python's integers."""

from __future__ import annotations

import numpy as np

from ...sim.tcu.words import Array
from ..gta.agreement import Agreement, exactly

__all__ = ["modulo"]

_COLUMNS = 16


def modulo(product: Array, a: Array, b: Array, modulus: int) -> Agreement:
    """What should be ``a b`` modulo a number, in at most as many columns as a block may have."""
    columns = product.shape[1]
    places = np.unique(np.linspace(0, columns - 1, _COLUMNS).astype(int))
    expected = a.astype(object) @ b[:, places].astype(object) % modulus
    some = f", {len(places)} columns" if len(places) < columns else ""
    return exactly(f"Python's integers{some}", product[:, places], expected)
