"""A work in a device's memory: operands, tiles of the tensor, outputs, and the list of tiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ...hw.spec.tensaurus import TensaurusConfig
from ...hw.spec.tensaurus_tiles import TILE_BYTES, tile_words
from ..numbers.scalars import Patterns
from ..sparse.ciss_tiles import cuts, tile
from ..sparse.image import Read
from ..sparse.tensor import Tensor, modes_from
from .images import dense_bytes, from_bytes, operand_bytes, output_bytes, pitch_of
from .work import Cut, Work

__all__ = ["JobList", "TilePlace", "dense_tiles", "sparse_tiles"]

Ints = npt.NDArray[np.int64]
Numbers = tuple[int, ...]
Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True, eq=False)
class TilePlace:
    """A tile of the tensor that has values.

    numbers: of its ranges, slices first
    content: its stream, or its dense slices
    entries: of the stream; 0 of a dense tile
    """

    numbers: Numbers
    content: bytes
    entries: int


def sparse_tiles(
    config: TensaurusConfig, work: Work, cut: Cut, tensor: Tensor, mode: int
) -> list[TilePlace]:
    """The streams of a tensor whose slices are those of ``mode``, in no order. Raises ValueError as
    ``ciss_tiles.tile`` does."""
    modes = modes_from(tensor.order, mode)
    edges = [cuts(size, step) for size, step in zip(work.shape, cut.steps, strict=True)]
    found = []
    for one in tile(tensor, config.layout(work.order), edges[0], edges[1:], mode):
        origin = [one.origin[each] for each in modes]
        numbers = tuple(at // step for at, step in zip(origin, cut.steps, strict=True))
        slots = np.ascontiguousarray(one.ciss.slots)
        found.append(TilePlace(numbers=numbers, content=slots.tobytes(), entries=one.ciss.entries))
    return found


def dense_tiles(config: TensaurusConfig, work: Work, cut: Cut, tensor: Patterns) -> list[TilePlace]:
    """All tiles of a dense tensor, slices first."""
    found = []
    for numbers in product(*(range(count) for count in cut.range_counts(work))):
        where = tuple(
            slice(number * step, (number + 1) * step)
            for number, step in zip(numbers, cut.steps, strict=True)
        )
        content = dense_bytes(config, tensor[where])
        found.append(TilePlace(numbers=numbers, content=content, entries=0))
    return found


class JobList:
    """What a job finds in memory.

    Parameters
    ----------
    config, work, cut: what is computed, and in which tiles
    tiles: of the tensor, those that have values
    operands: of each other mode, (rows, rank)

    Members
    -------
    tiles: of the job, in its order: group of columns, and tile of the tensor
    sizes: bytes of everything, by name
    """

    def __init__(
        self,
        config: TensaurusConfig,
        work: Work,
        cut: Cut,
        tiles: list[TilePlace],
        operands: Mapping[int, Patterns],
    ) -> None:
        self._config, self._work, self._cut, self._operands = config, work, cut, operands
        self._parts = _in_order(work, cut, tiles)
        self._groups = _walk(cut.group_counts(config, work))
        self._columns = cut.group_columns(config)
        self.tiles = [
            (group, number)
            for turn, group in enumerate(self._groups)
            for number in _turned(range(len(self._parts)), turn)
        ]
        self.sizes = self._sizes()

    def _sizes(self) -> dict[str, int]:
        config, kernel = self._config, self._cut.kernel
        sizes = {f"tensor {n}": len(part.content) for n, part in enumerate(self._parts)}
        for group, number in self.tiles:
            numbers = self._parts[number].numbers
            for mode in range(1, self._work.order):
                rows = self._length(mode, numbers[mode])
                values = rows * kernel.row_values(config, mode)
                sizes[self._operand(group, numbers, mode)] = values * config.format.bits // 8
            slices = self._length(0, numbers[0])
            sizes[self._output(group, numbers)] = output_bytes(config, kernel, slices)
        return sizes | {"list": len(self.tiles) * TILE_BYTES}

    def _length(self, mode: int, number: int) -> int:
        """Indices of a range."""
        step = self._cut.steps[mode]
        return min(step, self._work.shape[mode] - number * step)

    def _group_of(self, group: Numbers, mode: int) -> int:
        return group[mode - 1 if len(group) > 1 else 0]

    def _operand(self, group: Numbers, numbers: Numbers, mode: int) -> str:
        return f"operand {mode} {numbers[mode]} {self._group_of(group, mode)}"

    @staticmethod
    def _output(group: Numbers, numbers: Numbers) -> str:
        return f"output {numbers[0]} {' '.join(map(str, group))}"

    def blocks(self, base: Mapping[str, int]) -> Iterator[tuple[int, bytes]]:
        """Everything that is written before the job starts: addresses and bytes."""
        config, cut = self._config, self._cut
        done = set()
        for group, number in self.tiles:
            numbers = self._parts[number].numbers
            for mode in range(1, self._work.order):
                name = self._operand(group, numbers, mode)
                if name in done:
                    continue
                done.add(name)
                columns = cut.kernel.row_values(config, mode)
                first, begin = numbers[mode] * cut.steps[mode], self._group_of(group, mode)
                rows = slice(first, first + self._length(mode, numbers[mode]))
                part = self._operands[mode][rows, begin * columns : (begin + 1) * columns]
                yield base[name], operand_bytes(config, part, columns)
        for number, part_of in enumerate(self._parts):
            yield base[f"tensor {number}"], part_of.content
        yield base["list"], b"".join(tile_words(fields) for fields in self.descriptions(base))

    def descriptions(self, base: Mapping[str, int]) -> Iterator[dict[str, int]]:
        """What the list says of each tile."""
        loaded: dict[int, str] = {}
        names = [self._output(group, self._parts[n].numbers) for group, n in self.tiles]
        for at, (group, number) in enumerate(self.tiles):
            part = self._parts[number]
            load, fields = 0, {}
            for mode in range(1, self._work.order):
                name = self._operand(group, part.numbers, mode)
                load |= (loaded.get(mode) != name) << (mode - 1)
                loaded[mode] = name
                fields[f"size_{mode}"] = self._length(mode, part.numbers[mode])
                fields[f"operand_{mode}"] = base[name]
            if self._work.dense:
                sizes = tuple(fields[f"size_{mode}"] for mode in range(1, self._work.order))
                fields["pitch"] = pitch_of(self._config, sizes)
            yield {
                "load": load,
                "last": int(names[at : at + 1] != names[at + 1 : at + 2]),
                "slices": self._length(0, part.numbers[0]),
                "entries": part.entries,
                "tensor": base[f"tensor {number}"],
                "output": base[names[at]],
                **fields,
            }

    def result(self, read: Read, base: Mapping[str, int], empty: int) -> Patterns:
        """The result from the outputs in memory.

        Parameters
        ----------
        read: gives the memory's bytes
        empty: what outputs are of that no tile adds to
        """
        work, kernel, config = self._work, self._cut.kernel, self._config
        if work.kernel == "mv":
            shape: tuple[int, ...] = (work.shape[0],)
        else:
            columns = [*kernel.scalars[: len(self._columns) - 1], self._columns[-1]]
            counts = self._cut.group_counts(config, work)
            wide = [count * each for count, each in zip(counts, columns, strict=True)]
            shape = (work.shape[0], *wide)
        found = np.full(shape, empty, np.uint64)
        done = set()
        for group, number in self.tiles:
            numbers = self._parts[number].numbers
            name = self._output(group, numbers)
            if name in done:
                continue
            done.add(name)
            values = from_bytes(read(base[name], self.sizes[name]), config.sum_format)
            first = numbers[0] * self._cut.steps[0]
            where = [slice(first, first + self._length(0, numbers[0]))]
            if work.kernel != "mv":
                where += [
                    slice(g * each, (g + 1) * each) for g, each in zip(group, columns, strict=True)
                ]
            target = found[tuple(where)]
            target[...] = values.reshape(target.shape)
        return found[tuple(slice(size) for size in work.result_shape)].copy()


def _in_order(work: Work, cut: Cut, tiles: list[TilePlace]) -> list[TilePlace]:
    """Tiles in the order of the loops, each of which turns back at its end."""
    if not tiles:
        return []
    numbers = np.array([part.numbers for part in tiles], np.int64)
    counts = cut.range_counts(work)
    place: Ints = np.zeros(len(tiles), np.int64)
    for mode in (0, *cut.loops):
        count, number = counts[mode], numbers[:, mode]
        place = place * count + np.where(place & 1, count - 1 - number, number)
    return [tiles[number] for number in np.argsort(place)]


def _walk(counts: Numbers) -> list[Numbers]:
    """All places in loops of which each turns back at its end."""
    if not counts:
        return [()]
    inner = _walk(counts[1:])
    return [(n, *rest) for n in range(counts[0]) for rest in _turned(inner, n)]


def _turned(items: Sequence[Item], turn: int) -> Sequence[Item]:
    """Forth on even turns, back on odd ones."""
    return items[::-1] if turn & 1 else items
