"""AlexNet's layers as p-GEMMs, of one tower: no groups."""

from __future__ import annotations

from dataclasses import dataclass

from ..schedule.pgemm import PGemm

__all__ = ["LAYERS", "Layer", "backward", "forward"]


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A convolution, or with one place a full connection.

    Parameters
    ----------
    places: of a picture's output
    outputs: channels, or neurons
    window: values that go into each
    """

    places: int
    outputs: int
    window: int


LAYERS = {
    "conv1": Layer(places=55 * 55, outputs=96, window=11 * 11 * 3),
    "conv2": Layer(places=27 * 27, outputs=256, window=5 * 5 * 96),
    "conv3": Layer(places=13 * 13, outputs=384, window=3 * 3 * 256),
    "conv4": Layer(places=13 * 13, outputs=384, window=3 * 3 * 384),
    "conv5": Layer(places=13 * 13, outputs=256, window=3 * 3 * 384),
    "fc6": Layer(places=1, outputs=4096, window=6 * 6 * 256),
    "fc7": Layer(places=1, outputs=4096, window=4096),
    "fc8": Layer(places=1, outputs=1000, window=4096),
}
"""By name."""


def forward(layer: Layer, batch: int, format_: str) -> PGemm:
    """Windows of ``batch`` pictures times weights."""
    return PGemm(m=batch * layer.places, n=layer.outputs, k=layer.window, format=format_)


def backward(layer: Layer, batch: int, format_: str) -> tuple[PGemm, PGemm]:
    """The gradients of the windows and of the weights."""
    places = batch * layer.places
    return (
        PGemm(m=places, n=layer.window, k=layer.outputs, format=format_),
        PGemm(m=layer.window, n=layer.outputs, k=places, format=format_),
    )
