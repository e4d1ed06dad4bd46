"""Workloads at a size that the RTL computes in seconds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from .schedule.cost import PGemm


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
"""Layers by name."""


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


@dataclass(frozen=True, kw_only=True)
class Workload:
    """P-GEMMs one after the other.

    Parameters
    ----------
    what: one line
    parts: how often which
    """

    what: str
    parts: tuple[tuple[int, PGemm], ...]

    @property
    def format(self) -> str:
        """The format of all its parts."""
        return self.parts[0][1].format

    @property
    def products(self) -> int:
        """Multiplications in all."""
        return sum(count * part.products for count, part in self.parts)


def _one(m: int, n: int, k: int, format_: str, count: int = 1) -> tuple[int, PGemm]:
    return count, PGemm(m=m, n=n, k=k, format=format_)


_BLOCK, _MATRIX = 64, 512


def _decomposition() -> tuple[tuple[int, PGemm], ...]:
    """Behind each block on the diagonal: both panels times the inverse of its triangles, then what
    is left is updated. The blocks on the diagonal are no p-GEMMs."""
    found = []
    for size in range(_MATRIX - _BLOCK, 0, -_BLOCK):
        found.append(_one(size, _BLOCK, _BLOCK, "int32"))
        found.append(_one(_BLOCK, size, _BLOCK, "int32"))
        update = PGemm(m=size, n=size, k=_BLOCK, format="int32", accumulate=True)
        found.append((1, update))
    return tuple(found)


def _training(batch: int) -> tuple[tuple[int, PGemm], ...]:
    layers = LAYERS.values()
    found = [forward(layer, batch, "fp32") for layer in layers]
    for layer in layers:
        found += backward(layer, batch, "fp32")
    return tuple((1, part) for part in found)


WORKLOADS = {
    "BNM": Workload(
        what="a product of integers of 65,536 bits, in pieces of 28, 64 pieces a column",
        parts=(_one(2431, 37, 64, "int64"),),
    ),
    "RGB": Workload(
        what="sRGB to XYZ of a picture of 427 x 640", parts=(_one(427 * 640, 3, 3, "int8"),)
    ),
    "FFE": Workload(
        what="an equaliser of 64 taps, 16 channels", parts=(_one(4096, 16, 64, "int16"),)
    ),
    "MD": Workload(
        what="LU decomposition of 512 x 512 in blocks of 64, modulo 2^32", parts=_decomposition()
    ),
    "PCA": Workload(
        what="the covariance of 1,797 pictures of digits", parts=(_one(64, 64, 1797, "fp64"),)
    ),
    "ALT": Workload(what="AlexNet, 16 pictures forward and both gradients", parts=_training(16)),
    "ALI": Workload(
        what="AlexNet, one picture forward",
        parts=tuple((1, forward(layer, 1, "int8")) for layer in LAYERS.values()),
    ),
    "FFL": Workload(
        what="GPT-3's feed-forward layer, 128 tokens",
        parts=(_one(128, 49152, 12288, "bf16"), _one(128, 12288, 49152, "bf16")),
    ),
    "NeRF": Workload(
        what="8 layers of 256, 65,536 samples", parts=(_one(65536, 256, 256, "fp32", count=8),)
    ),
}
"""Workloads by the paper's names."""


_LONGEST = 2048


def reduced(workload: Workload, most: int) -> Workload:
    """The same p-GEMMs, smaller, those that are alike once.

    Of each p-GEMM the longest of M, N and K is halved, rounded up, until it is at most 2,048 and
    the p-GEMM has its part of ``most`` multiplications of limbs; all have the same part.
    """
    parts = [part for _, part in workload.parts]
    each = most // len(parts)
    found = Counter(_halved(part, each) for part in parts)
    return Workload(what=workload.what, parts=tuple((1, part) for part in found))


def _halved(part: PGemm, most: int) -> PGemm:
    while True:
        sizes = [part.m, part.n, part.k]
        longest = max(sizes)
        if longest <= _LONGEST and (part.limb_products <= most or longest == 1):
            return part
        sizes[sizes.index(longest)] = -(-longest // 2)
        part = replace(part, m=sizes[0], n=sizes[1], k=sizes[2])
