"""Filters of pictures, as rows of weights; not mirrored: a weight's place is that of its pixel."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["FILTERS"]

Taps = tuple[tuple[float, ...], ...]


def _outer(down: Sequence[float], across: Sequence[float], divisor: float = 1.0) -> Taps:
    return tuple(tuple(x * y / divisor for y in across) for x in down)


_BINOMIAL = (1.0, 4.0, 6.0, 4.0, 1.0)
_SMOOTH, _SLOPE = (1.0, 2.0, 1.0), (-1.0, 0.0, 1.0)

FILTERS: dict[str, Taps] = {
    "gaussian": _outer(_BINOMIAL, _BINOMIAL, 256.0),
    "box": ((1 / 9,) * 3,) * 3,
    "sobel_x": _outer(_SMOOTH, _SLOPE),
    "sobel_y": _outer(_SLOPE, _SMOOTH),
    "laplacian": ((0.0, 1.0, 0.0), (1.0, -4.0, 1.0), (0.0, 1.0, 0.0)),
    "sharpen": ((0.0, -1.0, 0.0), (-1.0, 5.0, -1.0), (0.0, -1.0, 0.0)),
    "emboss": ((-2.0, -1.0, 0.0), (-1.0, 1.0, 1.0), (0.0, 1.0, 2.0)),
}
"""Filters by name."""
