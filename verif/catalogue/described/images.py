"""Matrices and tensors in memory: where the bytes of each of the sidecar's placements are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Memory = npt.NDArray[np.uint8]
Place = tuple[int, ...]
"""Row, column and, of tensors, further indices."""
Places = dict[Place, int]

_DENSE = ("matrix", "image")


@dataclass(frozen=True)
class Arrays:
    """Memory that a placement needs.

    Parameters
    ----------
    align: what bases are multiples of
    sizes: bytes by register
    strides: by register
    room: entries that a result has room for
    """

    align: int
    sizes: dict[str, int]
    strides: dict[str, int] = field(default_factory=dict)
    room: int = 0


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def _stored_rows(place: Mapping[str, Any], shape: Sequence[int]) -> int:
    by_columns = place.get("by_columns")
    return shape[1] * by_columns["lanes"] if by_columns else shape[0]


def _stored(place: Mapping[str, Any], at: tuple[int, int]) -> tuple[int, int]:
    """The stored row and column of an element."""
    by_columns = place.get("by_columns")
    if by_columns is None:
        return at
    row, column = at
    return column * by_columns["lanes"] + row % by_columns["lanes"], row // by_columns["lanes"]


def arrays(
    place: Mapping[str, Any],
    shape: Sequence[int],
    *,
    transposed: bool,
    room: int,
    behind: int = 0,
) -> Arrays:
    """The arrays of a matrix, or a tensor.

    Parameters
    ----------
    place: its placement
    shape: rows, columns and, of tensors, further sizes
    transposed: it is stored by columns
    room: entries that the arrays of a sparse matrix have room for; in C2SR each channel
    behind: elements that may be read behind the last one of a matrix
    """
    block = place.get("read_bytes", 1)
    if place["kind"] == "matrix":
        down, across = (shape[1], shape[0]) if transposed else (shape[0], prod(shape[1:]))
        element = place["element_bytes"]
        strides = {}
        stride = place.get("row_bytes", across * element)
        if "stride" in place:
            stride = int(_up(stride, np.lcm(place["align"], block)))
            strides = {place["stride"]: stride}
        size = _up(down * stride + behind * element, block)
        return Arrays(place["align"], {place["base"]: size}, strides)
    if place["kind"] == "image":
        distances = _distances(place, shape)
        strides = {
            loop["stride"]: distance
            for loop, (distance, _) in zip(place["loops"], distances, strict=True)
            if "stride" in loop
        }
        first, count = distances[0]
        return Arrays(place["align"], {place["base"]: _up(first * count, block)}, strides)
    if place["kind"] == "tokens":
        # However unevenly they are dealt out: a vector for each element, and for each tile.
        sizes = dict(zip(place["modes"], shape, strict=True))
        tiles = prod(_up(sizes[x["size"]], x["step"]) // x["step"] for x in place["levels"])
        size = (room + tiles) * place["rows"]["elements"] * place["token_bytes"]
        return Arrays(place["align"], {place["base"]: _up(size, block)}, room=room)
    if place["kind"] == "ciss":
        # However unevenly they are dealt out: an element, or a header, an entry, and the last one.
        size = (room + 1) * place["rows"] * place["slot_bytes"]
        return Arrays(place["align"], {place["base"]: _up(size, block)}, room=room)
    entries = place["entries"]
    if place["kind"] == "csr":
        sizes = {
            place["pointers"]["base"]: _up((shape[0] + 1) * place["pointers"]["bytes"], block),
            entries["base"]: _up(room * entries["bytes"], block),
        }
        return Arrays(place["align"], sizes, room=room)
    stripe = place["channels"] * place["interleave"]
    rows = _up(_stored_rows(place, shape), place["channels"]) // place["channels"]
    sizes = {
        array["base"]: _up(count * array["bytes"], place["interleave"])
        * stripe
        // place["interleave"]
        for array, count in ((place["pairs"], rows), (entries, room))
    }
    return Arrays(place["align"], sizes, room=room)


def _distances(place: Mapping[str, Any], shape: Sequence[int]) -> list[tuple[int, int]]:
    """Returns for each loop of an image its iterations and the bytes from one iteration to the
    next, if runs follow each other without gaps."""
    sizes = dict(zip(place["modes"], shape, strict=True))
    found: list[tuple[int, int]] = []
    behind = place["element_bytes"]
    for loop in reversed(place["loops"]):
        count = loop.get("count", sizes[loop["size"]] // loop["step"])
        if "stride" in loop:
            behind = _up(behind, place["align"])
        found.append((behind, count))
        behind *= count
    return found[::-1]


def _image_element(
    place: Mapping[str, Any], registers: Mapping[str, int], shape: Sequence[int], at: Place
) -> list[int]:
    """Addresses of the bytes of an element of an image."""
    indices = dict(zip(place["modes"], at, strict=True))
    first = registers[place["base"]]
    for loop, (distance, count) in zip(place["loops"], _distances(place, shape), strict=True):
        iteration = indices[loop["size"]] // loop["step"] % count
        first += iteration * registers.get(loop.get("stride", ""), distance)
    return list(range(first, first + place["element_bytes"]))


def _record(memory: Memory, where: Sequence[int], parts: Mapping[str, Any]) -> dict[str, int]:
    word = int.from_bytes(memory[list(where)].tobytes(), "little")
    return {name: word >> x["low"] & ((1 << x["bits"]) - 1) for name, x in parts.items()}


def _put(memory: Memory, where: Sequence[int], parts: Mapping[str, Any], **values: int) -> None:
    word = sum(values[name] << x["low"] for name, x in parts.items())
    memory[list(where)] = list(word.to_bytes(len(where), "little"))


def _channel_bytes(
    place: Mapping[str, Any], base: int, record_bytes: int, channel: int, number: int
) -> list[int]:
    """Addresses of the bytes of a record of an array in a channel."""
    block, channels = place["interleave"], place["channels"]
    offsets = range(number * record_bytes, (number + 1) * record_bytes)
    return [base + (x // block * channels + channel) * block + x % block for x in offsets]


class _Sparse:
    """Locates the records of a sparse matrix in memory."""

    def __init__(self, place: Mapping[str, Any], registers: Mapping[str, int]) -> None:
        self._place, self._registers = place, registers
        self.c2sr = place["kind"] == "c2sr"
        self.heads = place["pairs" if self.c2sr else "pointers"]
        self.entries = place["entries"]

    def channel(self, row: int) -> int:
        return row % self._place["channels"] if self.c2sr else 0

    def _flat(self, array: Mapping[str, Any], number: int) -> list[int]:
        first = self._registers[array["base"]] + number * array["bytes"]
        return list(range(first, first + array["bytes"]))

    def head(self, row: int) -> list[int]:
        if not self.c2sr:
            return self._flat(self.heads, row)
        base, size = self._registers[self.heads["base"]], self.heads["bytes"]
        channels = self._place["channels"]
        return _channel_bytes(self._place, base, size, row % channels, row // channels)

    def entry(self, channel: int, number: int) -> list[int]:
        if not self.c2sr:
            return self._flat(self.entries, number)
        base, size = self._registers[self.entries["base"]], self.entries["bytes"]
        return _channel_bytes(self._place, base, size, channel, number)

    def runs(self, memory: Memory, rows: int) -> Iterator[tuple[int, int, int]]:
        """Yields for each row its number, its first entry and its length."""
        if not self.c2sr:
            starts = [
                _record(memory, self.head(row), self.heads["parts"])["start"]
                for row in range(rows + 1)
            ]
            yield from ((row, starts[row], starts[row + 1] - starts[row]) for row in range(rows))
            return
        for row in range(rows):
            head = _record(memory, self.head(row), self.heads["parts"])
            yield row, head["pointer"], head["length"]


def _element(
    place: Mapping[str, Any],
    registers: Mapping[str, int],
    shape: Sequence[int],
    at: Place,
    *,
    transposed: bool = False,
) -> list[int]:
    """Addresses of the bytes of an element of a dense matrix, or tensor."""
    if place["kind"] == "image":
        return _image_element(place, registers, shape, at)
    down, across = at[0], 0
    for index, size in zip(at[1:], shape[1:], strict=True):
        across = across * size + index
    if transposed:
        down, across = across, down
    stride = place.get("row_bytes", prod(shape[1:]) * place["element_bytes"])
    if "stride" in place:
        stride = registers[place["stride"]]
    first = registers[place["base"]] + down * stride + across * place["element_bytes"]
    return list(range(first, first + place["element_bytes"]))


def _write_ciss(
    memory: Memory,
    place: Mapping[str, Any],
    registers: dict[str, int],
    matrix: Mapping[Place, int],
) -> None:
    """Assigns each matrix row to the array row with the fewest slots, and writes the stream and its
    number of entries."""
    header, no_op = int(place["header"], 16), int(place["no_op"], 16)
    indices = [part["low"] for part in (place["index"], *place.get("more", ()))]
    value = place["value"]["low"]
    rows: dict[int, list[int]] = {}
    for at, word in sorted(matrix.items()):
        # A header has this word where that is what tells it.
        if word or header:
            slot = sum(number << low for number, low in zip(at[1:], indices, strict=True))
            rows.setdefault(at[0], []).append(slot + (word << value))
    slots: list[list[int]] = [[] for _ in range(place["rows"])]
    for row, its in rows.items():
        mine = min(slots, key=len)
        mine.append(header + (row << indices[0]))
        mine += its
    entries = max(map(len, slots)) + 1
    content = b"".join(
        (its[number] if number < len(its) else no_op).to_bytes(place["slot_bytes"], "little")
        for number in range(entries)
        for its in slots
    )
    first = registers[place["base"]]
    memory[first : first + len(content)] = np.frombuffer(content, np.uint8)
    registers[place["count"]] = entries


def _write_tokens(
    memory: Memory,
    place: Mapping[str, Any],
    registers: dict[str, int],
    shape: Sequence[int],
    matrix: Mapping[Place, int],
) -> None:
    """Writes the tiles in the order of the levels, each as its entries and its end, and the number
    of vectors."""
    rows, levels, modes = place["rows"], place["levels"], place["modes"]
    sizes = dict(zip(modes, shape, strict=True))
    trips = [sizes[level["size"]] // level["step"] for level in levels]
    vectors: list[list[dict[str, int]]] = []
    entries: dict[Place, list[list[dict[str, int]]]] = {}
    for at, word in matrix.items():
        index = dict(zip(modes, at, strict=True))
        tile = tuple(index[level["size"]] // level["step"] for level in levels)
        inside = {level["size"]: index[level["size"]] % level["step"] for level in levels}
        row = inside[rows["size"]]
        token = {name: inside[size] for size, name in place["coordinates"].items()}
        token |= {"value": word, "slot": row // rows["slot_step"] % rows["slots"], "present": 1}
        streams = entries.setdefault(tile, [[] for _ in range(rows["elements"])])
        streams[row // rows["element_step"] % rows["elements"]].append(token)
    for tile in np.ndindex(*trips):
        streams = entries.get(tile, [[] for _ in range(rows["elements"])])
        for stream in streams:
            stream.sort(key=lambda token: [token[name] for name in place["order"]])
        for number in range(max(map(len, streams))):
            vectors.append([x[number] if number < len(x) else {} for x in streams])
        last = [n == count - 1 for n, count in zip(tile, trips, strict=True)]
        ends = sum(all(last[level + 1 :]) << level for level in range(len(levels)))
        vectors.append([{"ends": ends}] * rows["elements"])
    words = (
        sum(value << place["parts"][name]["low"] for name, value in token.items())
        for vector in vectors
        for token in vector
    )
    content = b"".join(word.to_bytes(place["token_bytes"], "little") for word in words)
    first = registers[place["base"]]
    memory[first : first + len(content)] = np.frombuffer(content, np.uint8)
    registers[place["count"]] = len(vectors)


def write_list(memory: Memory, place: Mapping[str, Any], registers: Mapping[str, int]) -> None:
    """Put the record of an operation where its register says; parts are among the registers."""
    word = sum(
        int(place["values"].get(name, registers.get(name, 0))) << part["low"]
        for name, part in place["parts"].items()
    )
    first = registers[place["base"]]
    record = np.frombuffer(word.to_bytes(place["bytes"], "little"), np.uint8)
    memory[first : first + len(record)] = record


def write_matrix(
    memory: Memory,
    place: Mapping[str, Any],
    registers: dict[str, int],
    shape: Place,
    matrix: Any,
    *,
    transposed: bool,
    gaps: np.random.Generator,
) -> None:
    """Put a matrix where the registers say; C2SR leaves gaps between rows, 0 or 1 entry each."""
    if place["kind"] in _DENSE:
        for at, word in np.ndenumerate(matrix):
            where = _element(place, registers, shape, at, transposed=transposed)
            memory[where] = list(int(word).to_bytes(len(where), "little"))
        return
    if place["kind"] == "ciss":
        _write_ciss(memory, place, registers, matrix)
        return
    if place["kind"] == "tokens":
        _write_tokens(memory, place, registers, shape, matrix)
        return
    sparse, rows = _Sparse(place, registers), _stored_rows(place, shape)
    content: list[Places] = [{} for _ in range(rows)]
    for at, word in matrix.items():
        row, column = _stored(place, at)
        content[row][row, column] = word
    ends: dict[int, int] = {}
    for row, its in enumerate(content):
        channel = sparse.channel(row)
        start = ends.get(channel, 0) + (int(gaps.integers(2)) if sparse.c2sr else 0)
        parts = {"length": len(its), "pointer": start} if sparse.c2sr else {"start": start}
        _put(memory, sparse.head(row), sparse.heads["parts"], **parts)
        for number, (at, word) in enumerate(sorted(its.items()), start):
            where = sparse.entry(channel, number)
            _put(memory, where, sparse.entries["parts"], value=word, column=at[1])
        ends[channel] = start + len(its)
    if not sparse.c2sr:
        _put(memory, sparse.head(rows), sparse.heads["parts"], start=ends.get(0, 0))


def read_matrix(
    memory: Memory,
    place: Mapping[str, Any],
    registers: Mapping[str, int],
    shape: Place,
    room: int,
) -> Any:
    """Reads a result from memory: words by row and column, or by position if it is sparse.

    Raises AssertionError if a row ends outside of the room, or its columns do not ascend.
    """
    if place["kind"] in _DENSE:
        words = [
            int.from_bytes(memory[_element(place, registers, shape, at)].tobytes(), "little")
            for at in np.ndindex(*shape)
        ]
        return np.array(words, np.uint64).reshape(shape)
    found: Places = {}
    sparse = _Sparse(place, registers)
    for row, start, length in sparse.runs(memory, shape[0]):
        assert start + length <= room
        columns = []
        for number in range(start, start + length):
            where = sparse.entry(sparse.channel(row), number)
            entry = _record(memory, where, sparse.entries["parts"])
            columns.append(entry["column"])
            found[row, entry["column"]] = entry["value"]
        assert columns == sorted(set(columns))
    return found


def touched(
    memory: Memory, place: Mapping[str, Any], registers: Mapping[str, int], shape: Place
) -> list[int]:
    """Addresses of the bytes of a result: all that a job may change."""
    if place["kind"] in _DENSE:
        return [byte for at in np.ndindex(*shape) for byte in _element(place, registers, shape, at)]
    sparse = _Sparse(place, registers)
    heads = range(shape[0] if sparse.c2sr else shape[0] + 1)
    found = [byte for row in heads for byte in sparse.head(row)]
    for row, start, length in sparse.runs(memory, shape[0]):
        for number in range(start, start + length):
            found += sparse.entry(sparse.channel(row), number)
    return found
