"""What the paper says of the same kernels.

Source: Tensaurus, section on performance. Its clock is 2 GHz, of which elements use every other
cycle; it does not say how many columns its operands have.
"""

from __future__ import annotations

from .point import Point

__all__ = ["SPEEDUPS", "class_of"]

SPEEDUPS: dict[str, tuple[float | None, float | None, float | None]] = {
    "SpMTTKRP, tensors": (22.9, 3.1, None),
    "SpTTMc, tensors": (6.0, 0.1, None),
    "SpMM, layers": (349.2, 1.8, 1.9),
    "SpMM, matrices": (125.8, 0.87, 119.7),
    "SpMV, matrices": (7.7, 0.45, None),
}
"""Over a core (SPLATT of tensors, Sparse BLAS of matrices, Xeon E7-8867, 2.4 GHz), over a Titan Xp
(ParTI, cuSPARSE), over Cambricon-X. TTMc of the GPU leaves out what its host does; with that it is
5 times as fast as the GPU. The layers' figures are of convolutions and fully connected layers
together."""

_KERNELS = {"mttkrp": "SpMTTKRP", "ttmc": "SpTTMc", "mm": "SpMM", "mv": "SpMV"}


def class_of(point: Point) -> str:
    """The line of the paper's that a point belongs to, or one like it."""
    if point.group == "layers":
        return "SpMM, layers"
    return f"{_KERNELS[point.kernel]}, {point.group}"
