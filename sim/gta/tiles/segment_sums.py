"""Sums of segments of K, added up by the array: each is multiplied by one.

The partial sums of a result, one a segment, are in memory. They come back as operands of the format
that is as wide as they are, in WS: along the rows the segments of some columns of D, along the
columns these columns of D, and the weights are ones where both are of the same column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ....hw.spec.gta import LEFT_WORD_BYTES, GtaConfig, limbs
from ....hw.spec.jobs.gta import beat_bytes
from ....hw.spec.jobs.gta_commands import lane_words
from ..regions import Region

Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class StreamImage:
    """Streams one below the other, each a row of elements in pieces that begin with a beat.

    Parameters
    ----------
    streams: how many
    count: elements of a stream
    piece: elements of a piece; the last one is filled up with zeros
    element: bytes of an element, a power of two up to 16
    beat: bytes of a beat
    apart: a stream begins so many streams' room behind the one before: others lie between them
    """

    streams: int
    count: int
    piece: int
    element: int
    beat: int
    apart: int = 1

    @property
    def pieces(self) -> int:
        """Pieces of a stream."""
        return -(-self.count // self.piece)

    @property
    def piece_bytes(self) -> int:
        """Bytes from a piece to the next."""
        return -(-self.piece * self.element // self.beat) * self.beat

    @property
    def stream_bytes(self) -> int:
        """Bytes of a stream."""
        return self.pieces * self.piece_bytes

    @property
    def stride(self) -> int:
        """Bytes from a stream to the next."""
        return self.apart * self.stream_bytes

    @property
    def size(self) -> int:
        """Bytes of all."""
        return self.streams * self.stride

    def offset(self, stream: int, piece: int) -> int:
        """Returns the offset of a piece, in bytes."""
        return stream * self.stride + piece * self.piece_bytes

    def to_bytes(self, words: Words) -> bytes:
        """Packs elements into bytes: (streams, count) words, or (streams, count, 2) of 16 bytes."""
        element = self.element
        parts = np.ascontiguousarray(words).astype(f"<u{min(element, 8)}")
        content = np.zeros((self.streams, self.pieces * self.piece, element), np.uint8)
        content[:, : self.count] = parts.view(np.uint8).reshape(self.streams, self.count, element)
        found = np.zeros((self.streams, self.apart, self.pieces, self.piece_bytes), np.uint8)
        rows = content.reshape(self.streams, self.pieces, self.piece * element)
        found[:, 0, :, : self.piece * element] = rows
        return found.tobytes()

    def from_bytes(self, content: bytes) -> Words:
        """The elements again."""
        shape = self.streams, self.apart, self.pieces, -1
        rows = np.frombuffer(content, np.uint8).reshape(shape)[:, 0]
        used = np.ascontiguousarray(rows[:, :, : self.piece * self.element])
        flat = used.reshape(self.streams, -1).view(f"<u{min(self.element, 8)}").astype(np.uint64)
        if self.element == 16:
            return flat.reshape(self.streams, -1, 2)[:, : self.count].copy()
        return flat[:, : self.count].copy()


def bank_words(count: int) -> int:
    """Words of a bank that so many bytes take."""
    return -(-count // LEFT_WORD_BYTES)


@dataclass
class Slot:
    """A part of a memory.

    Members
    -------
    word: where it begins in each bank
    tile: what it holds; None: nothing
    filled: what has to be complete before it is read, by kind of command
    used: what has to be complete before it is written
    turn: when it was used last
    """

    word: int
    tile: Any = None
    filled: dict[str, int] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    turn: int = 0


class Slots:
    """Some equal parts of a memory, which hold tiles.

    Parameters
    ----------
    words: words of each bank of the memory
    count: parts
    """

    def __init__(self, words: int, count: int) -> None:
        self._slots = [Slot(number * (words // count)) for number in range(count)]
        self._turn = 0

    def take(self, tile: Any) -> tuple[Slot, bool]:
        """The part that holds a tile, and whether it has to be filled first: then it is that which
        was used longest ago."""
        self._turn += 1
        held = [slot for slot in self._slots if slot.tile == tile]
        slot = held[0] if held else min(self._slots, key=lambda slot: slot.turn)
        slot.turn, slot.tile = self._turn, tile
        return slot, not held


WIDTH = 8
"""Bytes of a sum of sums in the lanes."""

_RETURN = 100
"""Cycles from the end of the last partial sum to the first result, about."""


def format_of_sums(config: GtaConfig, width: int) -> str | None:
    """The format as which sums of so many bytes are operands; None if there is none."""
    name = {4: "int32", 8: "int64"}.get(width)
    return name if name in config.integers else None


@dataclass(frozen=True)
class SumsPlace:
    """Results that an EXECUTE adds up: from a column on, some of a piece of each."""

    first: int
    cols: int
    piece: int
    begin: int
    count: int


@dataclass(frozen=True, kw_only=True)
class SegmentSums:
    """The plan for adding up partial sums.

    Parameters
    ----------
    config: see :class:`GtaConfig`
    segments: partial sums of a result
    format: of them
    regions: where; the mask of each is its number
    cols: columns of D that are added up by an EXECUTE
    most: results of a column that an EXECUTE adds up at most
    slots: parts of the memories that operands and results take turns in
    """

    config: GtaConfig
    segments: int
    format: str
    regions: tuple[Region, ...]
    cols: int
    most: int
    slots: int

    @property
    def element(self) -> int:
        """Bytes of a partial sum."""
        return limbs(self.format)

    @property
    def fits(self) -> bool:
        """True if the memories hold as many operands and results as the plan asks for."""
        left, result = (lane_words(self.config, side) // self.slots for side in ("left", "result"))
        return (
            self.row_folds * bank_words(self.most * self.element) <= left
            and self.result_words(self.most) <= result // 2 * 2
        )

    def result_words(self, count: int) -> int:
        """Words of a bank with so many results of a column, an even number."""
        return -(-bank_words(-(-count // limbs(self.format)) * WIDTH) // 2) * 2

    @property
    def rows(self) -> int:
        """Rows that the array needs."""
        return self.cols * self.segments

    @property
    def row_folds(self) -> int:
        """Folds of rows of an EXECUTE."""
        return -(-self.rows // self.regions[0].array[0])

    @property
    def ones(self) -> StreamImage:
        """The image of the weights, by columns."""
        depth = self.row_folds * self.regions[0].array[0]
        return StreamImage(
            streams=self.cols,
            count=depth,
            piece=depth,
            element=self.element,
            beat=beat_bytes(self.config),
        )

    def weights(self) -> npt.NDArray[np.uint64]:
        """Returns the weights, the contents of ``ones``."""
        found = np.zeros((self.cols, self.ones.count), np.uint64)
        for col in range(self.cols):
            found[col, col * self.segments : (col + 1) * self.segments] = 1
        return found

    def places(self, results: StreamImage) -> Iterator[SumsPlace]:
        """All of D, by columns, as its regions add it up in turn."""
        for first in range(0, results.streams, self.cols):
            cols = min(self.cols, results.streams - first)
            for piece in range(results.pieces):
                size = min(results.piece, results.count - piece * results.piece)
                for begin in range(0, size, self.most):
                    yield SumsPlace(first, cols, piece, begin, min(self.most, size - begin))

    def cycles(self, rows: int, cols: int) -> int:
        """About how many cycles it takes to add up the results of ``rows`` x ``cols``: of the array
        or of the bus, and of the way to memory and back."""
        beat = beat_bytes(self.config)
        count = -(-cols // self.cols) * -(-rows // self.most)
        each = max(min(rows, self.most) * limbs(self.format), 2 * self.regions[0].array[0])
        worked = -(-count // len(self.regions)) * self.row_folds * each
        moved = (self.segments + 1) * cols * -(-rows * self.element // beat)
        return max(worked, moved) + _RETURN


def segment_sums(
    config: GtaConfig, segments: int, width: int, regions: Sequence[Region]
) -> SegmentSums | None:
    """Plans the addition of partial sums of so many bytes; None if the device has no format for
    them, or its memories are too small."""
    name = format_of_sums(config, width)
    if name is None:
        return None
    rows, cols = regions[0].array
    # A part of a column begins with a beat, also of results of 4 bytes.
    step = beat_bytes(config) // 4
    for slots in (2, 1):
        made = SegmentSums(
            config=config,
            segments=segments,
            format=name,
            regions=tuple(regions),
            cols=min(max(1, rows // segments), cols // limbs(name)),
            most=step,
            slots=slots,
        )
        if made.ones.count // LEFT_WORD_BYTES > lane_words(config, "top"):
            return None
        if not made.fits:
            continue
        while (more := replace(made, most=made.most + step)).fits:
            made = more
        return made
    return None
