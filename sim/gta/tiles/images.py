"""Matrices in memory as LOADs and STOREs move them: a stream a row, cut into pieces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["StreamImage"]

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
        """Where a piece begins, in bytes."""
        return stream * self.stride + piece * self.piece_bytes

    def to_bytes(self, words: Words) -> bytes:
        """Of elements, (streams, count) words, or (streams, count, 2) of 16 bytes."""
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
