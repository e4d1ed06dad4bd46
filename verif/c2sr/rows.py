"""C2SR once more, row by row and byte by byte, and matrices to compare it on."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from tilewright.hw.spec.c2sr import C2srLayout
from tilewright.sim.sparse.c2sr import C2sr, from_patterns
from tilewright.sim.sparse.image import from_image, image, image_sizes
from tilewright.sim.sparse.memory_blocks import Block

NUMPY: dict[str, Any] = {
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp32": np.float32,
    "fp64": np.float64,
    "int32": np.int32,
}
BITS = {"fp16": 16, "bf16": 16, "fp32": 32, "fp64": 64, "int32": 32}


def layout(
    channels: int = 2, interleave: int = 64, value: str = "fp32", index_bits: int = 32
) -> C2srLayout:
    return C2srLayout(channels=channels, interleave=interleave, value=value, index_bits=index_bits)


def patterns_of(values: npt.ArrayLike, name: str) -> list[int]:
    """Bit patterns by NumPy or ml_dtypes; integers modulo 2**32."""
    numbers = np.asarray(values)
    if name == "int32":
        return [int(x) & 0xFFFFFFFF for x in numbers]
    return [int(x) for x in rounded(numbers, name).view(f"u{BITS[name] // 8}")]


def rounded(numbers: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Rounded by NumPy or ml_dtypes; the latter sees float32 and would round twice, unless what
    float32 drops leaves its last bit odd."""
    with np.errstate(over="ignore"):
        if name == "bf16":
            single = numbers.astype(np.float32)
            even = (single.view(np.uint32) & 1) == 0
            towards = np.where(single < numbers, np.inf, -np.inf).astype(np.float32)
            inexact = np.isfinite(numbers) & (single != numbers) & even
            numbers = np.where(inexact, np.nextafter(single, towards), single)
        found: npt.NDArray[Any] = numbers.astype(NUMPY[name])
    return found


def some_matrix(rng: np.random.Generator, rows: int, cols: int, density: float) -> Any:
    """Integers and zeros that are stored, in rows of very different lengths."""
    dense = rng.integers(-9, 10, (rows, cols))
    kept = rng.random((rows, cols)) < density * rng.choice([0, 0.5, 1, 2], (rows, 1))
    r, c = np.nonzero(kept)
    return sp.csr_array((dense[r, c].astype(float), (r, c)), shape=(rows, cols))


class Memory:
    """Bytes by address; reads outside of what was written are an error."""

    def __init__(self, blocks: tuple[Block, ...]) -> None:
        self.blocks = blocks

    def read(self, address: int, count: int) -> bytes:
        for block in self.blocks:
            offset = address - block.address
            if offset >= 0 and offset + count <= len(block.data):
                return block.data[offset : offset + count].tobytes()
        raise AssertionError(f"{count} bytes at {address:#x} are outside of the image")


def check_rows(c2sr: C2sr, expected: Any) -> None:
    """Row by row, pattern by pattern."""
    channels = c2sr.layout.channels
    assert c2sr.shape == expected.shape
    for row in range(expected.shape[0]):
        mine = slice(expected.indptr[row], expected.indptr[row + 1])
        channel = row % channels
        # The entries of a channel before this row's.
        before = sum(int(c2sr.lengths[r]) for r in range(channel, row, channels))
        found = slice(before, before + int(c2sr.lengths[row]))
        assert c2sr.columns[channel][found].tolist() == expected.indices[mine].tolist()
        wanted = patterns_of(expected.data[mine], c2sr.layout.value)
        assert c2sr.values[channel][found].tolist() == wanted


def slow_image(c2sr: C2sr, pairs_base: int, entries_base: int) -> dict[int, int]:
    """Every byte that means something, by address, from the format's words."""
    shape = c2sr.layout
    channels, interleave = shape.channels, shape.interleave
    value_bytes = BITS[shape.value] // 8
    index_bytes = shape.index_bits // 8
    entry_bytes = next(n for n in (4, 8, 16) if n >= value_bytes + index_bytes)
    found: dict[int, int] = {}

    def put(base: int, channel: int, offset: int, data: bytes) -> None:
        for x, byte in enumerate(data, offset):
            block = x // interleave
            found[base + block * channels * interleave + channel * interleave + x % interleave] = (
                byte
            )

    taken = [0] * channels
    for row in range(c2sr.shape[0]):
        channel, length, pointer = row % channels, int(c2sr.lengths[row]), int(c2sr.pointers[row])
        pair = length.to_bytes(4, "little") + pointer.to_bytes(4, "little")
        put(pairs_base, channel, row // channels * 8, pair)
        for n in range(length):
            value = int(c2sr.values[channel][taken[channel]]).to_bytes(value_bytes, "little")
            column = int(c2sr.columns[channel][taken[channel]]).to_bytes(index_bytes, "little")
            taken[channel] += 1
            entry = (value + column).ljust(entry_bytes, b"\0")
            put(entries_base, channel, (pointer + n) * entry_bytes, entry)
    return found


def check_image(c2sr: C2sr) -> None:
    """Every byte is where the formula says, the rest are zeros; and back."""
    stripe = c2sr.layout.channels * c2sr.layout.interleave
    sizes = image_sizes(c2sr)
    pairs_base = 3 * stripe
    entries_base = pairs_base + sizes[0] + 5 * stripe
    blocks = image(c2sr, pairs_base=pairs_base, entries_base=entries_base)
    assert [(b.address, len(b.data)) for b in blocks] == [
        (pairs_base, sizes[0]),
        (entries_base, sizes[1]),
    ]
    assert all(size % stripe == 0 for size in sizes)
    expected = slow_image(c2sr, pairs_base, entries_base)
    found = {b.address + int(x): int(b.data[x]) for b in blocks for x in np.flatnonzero(b.data)}
    assert found == {address: byte for address, byte in expected.items() if byte}
    if expected:
        assert max(expected) < entries_base + sizes[1]
    again = from_image(
        Memory(blocks).read,
        c2sr.layout,
        c2sr.shape,
        pairs_base=pairs_base,
        entries_base=entries_base,
        channel_entries=c2sr.channel_entries,
    )
    assert again.same_as(c2sr)
    assert np.array_equal(again.pointers, c2sr.pointers)


def with_gaps(rng: np.random.Generator, c2sr: C2sr) -> C2sr:
    """The same rows, each somewhere else in its channel, not in order."""
    pointers = c2sr.pointers.copy()
    for channel in range(c2sr.layout.channels):
        place = 0
        for row in rng.permutation(np.arange(channel, c2sr.shape[0], c2sr.layout.channels)):
            place += int(rng.choice([0, 1, 3, 100]))
            pointers[row] = place
            place += int(c2sr.lengths[row])
    return from_patterns(c2sr.patterns(), c2sr.shape, c2sr.layout, pointers=pointers)
