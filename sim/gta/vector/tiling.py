"""Tiles of a product of matrices by vectors, and where its operands lie in memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....hw.spec.gta import (
    BANKS,
    COLS,
    LEFT_WORD_BYTES,
    GtaConfig,
    element_bytes,
    is_float,
    result_bytes,
)
from ....hw.spec.jobs.gta import beat_bytes
from ....hw.spec.jobs.gta_commands import lane_words
from ....hw.spec.jobs.gta_vector import OCTET
from ...numbers.values import Patterns
from ..tiles.images import StreamImage
from .octets import from_planes, to_planes
from .rules import most_chain

__all__ = ["PLANE_BYTES", "VectorTiling"]

PLANE_BYTES = OCTET
"""Of a plane of an octet: what images have as elements."""


@dataclass(frozen=True, kw_only=True)
class VectorTiling:
    """Each element of the array computes an element of D. A tile of it is as the elements stand,
    eight rows and columns a lane, or a part of a column; sums go in parts of ``k``.

    Parameters
    ----------
    config: of the accelerator
    format: of A and B
    sizes: M, N and K
    rows, cols: lanes, down and across
    along: all elements lie along a column of D
    segments: parts into which K is cut at least
    lateral: tiles go along rows of D first
    overlap: a tile begins while the one before is under way
    use_c: sums begin with C

    Raises ValueError for sums of integers that no element holds.
    """

    config: GtaConfig
    format: str
    sizes: tuple[int, int, int]
    rows: int
    cols: int
    along: bool = False
    segments: int = 1
    lateral: bool = True
    overlap: bool = True
    use_c: bool = False

    def __post_init__(self) -> None:
        if not is_float(self.format) and not most_chain(self.config, self.format):
            raise ValueError(
                f"`partial_bits` must be more for sums of products of {self.format}, not "
                f"{self.config.partial_bits}"
            )

    @property
    def octets(self) -> int:
        """Octets of rows of D."""
        return -(-self.sizes[0] // OCTET)

    @property
    def high(self) -> int:
        """Octets of rows of a tile: one for each bank, or for each row of lanes."""
        return BANKS * self.config.lanes if self.along else self.rows

    @property
    def wide(self) -> int:
        """Columns of a tile."""
        return 1 if self.along else COLS * self.cols

    @property
    def counts(self) -> tuple[int, int, int]:
        """Tiles along M and N, and parts along K."""
        _, n, k = self.sizes
        return -(-self.octets // self.high), -(-n // self.wide), -(-k // self.k)

    @property
    def refilled(self) -> tuple[bool, bool]:
        """Whether operands of A, and of B, are loaded again for each tile that takes them: as many
        parts as there are slots stay."""
        down, across, deep = self.counts
        own, other = (across, down) if self.lateral else (down, across)
        outer, inner = own > 1 and deep > self.slots, other > 1 and own * deep > self.slots
        return (outer, inner) if self.lateral else (inner, outer)

    @property
    def slots(self) -> int:
        """Parts of each memory: of two one is filled, or emptied, while the other works."""
        return 2 if self._edge(2) else 1

    @property
    def k(self) -> int:
        """Products of a part of a sum."""
        most = min(self._edge(self.slots), -(-self.sizes[2] // self.segments))
        return most if is_float(self.format) else min(most, most_chain(self.config, self.format))

    def _edge(self, slots: int) -> int:
        """Octets that a part of a memory holds."""
        octet = OCTET * element_bytes(self.format)
        return lane_words(self.config, "left") // slots * LEFT_WORD_BYTES // octet

    @property
    def moved(self) -> tuple[int, int, int]:
        """Elements of A and of B that are loaded, and of D, whole octets: a number of A goes to all
        columns of a tile, one of B eight times to each octet of rows."""
        _, n, k = self.sizes
        again_a, again_b = self.refilled
        rows = self.octets * OCTET
        a = rows * k * (n if again_a else min(self.wide, n))
        b = n * k * OCTET * (self.octets if again_b else min(self.high, self.octets))
        return a, b, rows * n

    @cached_property
    def images(self) -> dict[str, StreamImage]:
        """Of a (by octets of rows), b (by columns, each number eight times), d and, if there is
        one, c (by columns): planes."""
        _, n, k = self.sizes
        beat, octets = beat_bytes(self.config), self.octets
        size, width = element_bytes(self.format), result_bytes(self.format)
        plane = {"element": PLANE_BYTES, "beat": beat}
        found = {
            "a": StreamImage(streams=octets, count=k * size, piece=self.k * size, **plane),
            "b": StreamImage(streams=n, count=k * size, piece=self.k * size, **plane),
            "d": StreamImage(streams=n, count=octets * width, piece=width, **plane),
        }
        return found | ({"c": found["d"]} if self.use_c else {})

    def contents(self, a: Patterns, b: Patterns, c: Patterns | None) -> dict[str, Patterns]:
        """What the images take, of (M, K), (K, N) and (M, N)."""
        m, n, k = self.sizes
        rows = np.zeros((self.octets * OCTET, k), np.uint64)
        rows[:m] = a
        left = rows.reshape(-1, OCTET, k).swapaxes(1, 2)
        top = np.broadcast_to(b.T[..., None], (n, k, OCTET))
        size, width = element_bytes(self.format), result_bytes(self.format)
        found = {"a": to_planes(left, size).view("<u8"), "b": to_planes(top, size).view("<u8")}
        if c is not None:
            addend = np.zeros((n, len(rows)), np.uint64)
            addend[:, :m] = c.T
            found["c"] = to_planes(addend.reshape(n, -1, OCTET), width).view("<u8")
        return found

    def result(self, planes: Patterns) -> Patterns:
        """D of what its image has."""
        m, n, _ = self.sizes
        content = np.ascontiguousarray(planes, np.dtype("<u8")).view(np.uint8)
        found = from_planes(content, result_bytes(self.format)).reshape(n, -1)
        return np.ascontiguousarray(found[:, :m].T)
