"""A work in a device's memory: operands, tiles of the tensor, outputs, and the list of tiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ...hw.spec.jobs.tensaurus_operations import TILE_BYTES, TILE_WORDS
from ...hw.spec.tensaurus import TensaurusConfig
from ..numbers.container_words import to_bytes
from ..numbers.scalars import Patterns
from ..sparse.memory_blocks import Read
from .job_tiles import TensorTiles, operand_bytes, output_bytes, output_from_bytes, pitch_of
from .work import Cut, Work

__all__ = ["JobList"]

Ints = npt.NDArray[np.int64]
Numbers = tuple[int, ...]
Item = TypeVar("Item")

_TILE = np.dtype({
    "names": list(TILE_WORDS),
    "formats": [f"<u{bits // 8}" for _, bits in TILE_WORDS.values()],
    "offsets": [low // 8 for low, _ in TILE_WORDS.values()],
    "itemsize": TILE_BYTES,
})  # fmt: skip


class _Parts(NamedTuple):
    """The parts that an operand, or the result, is cut into, those that are used.

    which: (tiles of the job,) the part of each tile
    number, group: (parts,) the range of its mode, and the group of columns
    length: (parts,) indices
    first, size: (parts,) bytes from the beginning of all, and of it
    """

    which: Ints
    number: Ints
    group: Ints
    length: Ints
    first: Ints
    size: Ints


class JobList:
    """The content of memory that a job reads, and the places of its results.

    Parameters
    ----------
    config, work, cut: what is computed, and in which tiles
    tiles: of the tensor, those that have values

    Members
    -------
    part: (tiles of the job,) which tile of the tensor each one is, in the job's order
    sizes: bytes of everything, by name: tensor, operand 1, ..., output, list. In each what it has
        parts of begins at multiples of a line
    """

    def __init__(self, config: TensaurusConfig, work: Work, cut: Cut, tiles: TensorTiles) -> None:
        self._config, self._work, self._cut, self._parts = config, work, cut, tiles
        self._groups = _walk(cut.group_counts(config, work))
        self._columns = cut.group_columns(config)
        places = _in_order(work, cut, tiles.numbers)
        turns = len(self._groups) if len(places) else 0
        order = [_turned(places, turn) for turn in range(turns)]
        self.part = np.concatenate([places[:0], *order])
        self._group = np.repeat(np.arange(turns), len(places))
        self._tensor = self._spread(np.diff(tiles.first))
        self._operands = {mode: self._operand(mode) for mode in range(1, work.order)}
        self._outputs = self._output()
        self.sizes = {
            "tensor": int(self._tensor[-1]),
            **{f"operand {mode}": _end(each) for mode, each in self._operands.items()},
            "output": _end(self._outputs),
            "list": len(self.part) * TILE_BYTES,
        }

    def _spread(self, sizes: Ints) -> Ints:
        """Returns the starts of parts of these sizes, followed by the end of the last one."""
        line = self._config.line_bytes
        lines: Ints = -(-sizes // line) * line
        found: Ints = np.concatenate([np.zeros(1, np.int64), np.cumsum(lines)])
        if len(sizes):
            found[-1] += sizes[-1] - lines[-1]
        return found

    def _used(self, mode: int, groups: Ints, count: int, row_bytes: int) -> _Parts:
        """The parts of a mode's operand, or of the output, by range and group."""
        numbers = self._parts.numbers[self.part, mode]
        used, which = np.unique(numbers * count + groups, return_inverse=True)
        number, group = np.divmod(used, count)
        step = self._cut.steps[mode]
        length: Ints = np.minimum(step, self._work.shape[mode] - number * step)
        size: Ints = length * row_bytes
        return _Parts(which, number, group, length, self._spread(size)[:-1], size)

    def _operand(self, mode: int) -> _Parts:
        one = mode - 1 if len(self._columns) > 1 else 0
        groups = np.array([group[one] for group in self._groups], np.int64)
        values = self._cut.kernel.row_values(self._config, mode)
        row_bytes = values * self._config.format.bits // 8
        return self._used(mode, groups[self._group], int(groups.max()) + 1, row_bytes)

    def _output(self) -> _Parts:
        row_bytes = output_bytes(self._config, self._cut.kernel, 1, self._cut.store)
        return self._used(0, self._group, max(1, len(self._groups)), row_bytes)

    def moved(self) -> dict[str, int]:
        """Bytes of the job, as its tiles say: tensor, operand_1, ..., output, list. Of what is
        added up in memory they say nothing."""
        tensor = np.diff(self._parts.first)
        found = {"tensor": int(tensor[self.part].sum())}
        for mode, each in self._operands.items():
            found[f"operand_{mode}"] = int(each.size[each.which[_changes(each.which)]].sum())
        output = int(self._outputs.size.sum()) if self._cut.store == "buffer" else 0
        return found | {"output": output, "list": self.sizes["list"]}

    def fields(self, base: Mapping[str, int]) -> dict[str, Ints]:
        """Returns the fields of the list, each for all tiles; fields that are not named are 0.

        Parameters
        ----------
        base: the address of each name of ``sizes``
        """
        work = self._work
        load = np.zeros(len(self.part), np.int64)
        found: dict[str, Ints] = {}
        sizes = []
        for mode, each in self._operands.items():
            load |= _changes(each.which).astype(np.int64) << (mode - 1)
            found[f"size_{mode}"] = each.length[each.which]
            found[f"operand_{mode}"] = base[f"operand {mode}"] + each.first[each.which]
            sizes.append(found[f"size_{mode}"])
        if work.dense:
            each_size = np.stack(sizes, axis=1)
            used, which = np.unique(each_size, axis=0, return_inverse=True)
            pitches = [pitch_of(self._config, tuple(each)) for each in used.tolist()]
            found["pitch"] = np.array(pitches, np.int64)[which.reshape(-1)]
        output = self._outputs
        last = np.ones(len(self.part), np.int64)
        last[:-1] = _changes(output.which)[1:]
        return {
            "load": load,
            "last": last,
            "slices": output.length[output.which],
            "entries": self._parts.entries[self.part],
            "tensor": base["tensor"] + self._tensor[self.part],
            "output": base["output"] + output.first[output.which],
            **found,
        }

    def blocks(
        self, base: Mapping[str, int], operands: Mapping[int, Patterns]
    ) -> Iterator[tuple[int, bytes]]:
        """Everything that is written before the job starts: addresses and bytes.

        Parameters
        ----------
        base: see :meth:`fields`
        operands: of each other mode, (rows, rank)
        """
        for mode, each in self._operands.items():
            columns = self._cut.kernel.row_values(self._config, mode)
            for number, group, length, at in zip(
                *(part.tolist() for part in (each.number, each.group, each.length, each.first)),
                strict=True,
            ):
                begin = number * self._cut.steps[mode]
                rows = slice(begin, begin + length)
                part = operands[mode][rows, group * columns : (group + 1) * columns]
                content = operand_bytes(self._config, part, columns)
                yield base[f"operand {mode}"] + at, content
        tiles = self._parts
        for number, at in enumerate(self._tensor[:-1].tolist()):
            content = tiles.content[tiles.first[number] : tiles.first[number + 1]].tobytes()
            yield base["tensor"] + at, content
        if self._cut.store == "memory":
            yield from self._empty_outputs(base["output"])
        table = np.zeros(len(self.part), _TILE)
        for name, field in self.fields(base).items():
            table[name] = field
        yield base["list"], table.tobytes()

    def _empty_outputs(self, base: int) -> Iterator[tuple[int, bytes]]:
        """Yields the initial contents of the outputs: the identity of (+)."""
        config = self._config
        identity = config.operators.identity_in(config.sum_format)
        assert identity is not None
        value = to_bytes(np.array([identity], np.uint64), config.sum_format)
        for at, size in zip(self._outputs.first.tolist(), self._outputs.size.tolist(), strict=True):
            yield base + at, value * (size // len(value))

    def result(self, read: Read, base: Mapping[str, int], empty: int) -> Patterns:
        """The result from the outputs in memory.

        Parameters
        ----------
        read: gives the memory's bytes
        base: see :meth:`fields`
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
        outputs = self._outputs
        for number, turn, length, at, size in zip(
            *(part.tolist() for part in outputs[1:]), strict=True
        ):
            content = read(base["output"] + at, size)
            values = output_from_bytes(config, kernel, content, self._cut.store)
            begin = number * self._cut.steps[0]
            where = [slice(begin, begin + length)]
            if work.kernel != "mv":
                where += [
                    slice(g * each, (g + 1) * each)
                    for g, each in zip(self._groups[turn], columns, strict=True)
                ]
            target = found[tuple(where)]
            target[...] = values.reshape(target.shape)
        return found[tuple(slice(size) for size in work.result_shape)].copy()


def _end(parts: _Parts) -> int:
    """Returns the end of the last part."""
    return int(parts.first[-1] + parts.size[-1]) if len(parts.first) else 0


def _changes(which: Ints) -> npt.NDArray[np.bool_]:
    """Returns which entries differ from the one before; the first one counts as different."""
    found = np.ones(len(which), np.bool_)
    found[1:] = which[1:] != which[:-1]
    return found


def _in_order(work: Work, cut: Cut, numbers: Ints) -> Ints:
    """Tiles in the order of the loops, each of which turns back at its end."""
    counts = cut.range_counts(work)
    place: Ints = np.zeros(len(numbers), np.int64)
    for mode in (0, *cut.loops):
        count, number = counts[mode], numbers[:, mode]
        place = place * count + np.where(place & 1, count - 1 - number, number)
    return np.argsort(place, kind="stable")


def _walk(counts: Numbers) -> list[Numbers]:
    """All places in loops of which each turns back at its end."""
    if not counts:
        return [()]
    inner = _walk(counts[1:])
    return [(n, *rest) for n in range(counts[0]) for rest in _turned(inner, n)]


def _turned(items: Item, turn: int) -> Item:
    """Forth on even turns, back on odd ones."""
    return items[::-1] if turn & 1 else items  # type: ignore[index]
