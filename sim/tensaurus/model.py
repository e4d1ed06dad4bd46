"""A Tensaurus as software sees it: registers and a memory, jobs done in no time by the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ...hw.spec.ciss import CissLayout
from ...hw.spec.jobs.tensaurus import job_spec
from ...hw.spec.jobs.tensaurus_operations import TILE_BYTES, TILE_WORDS
from ...hw.spec.tensaurus import KERNELS, TensaurusConfig
from ..device.model import ModelDevice
from ..numbers.container_words import from_bytes, to_bytes
from ..numbers.scalars import Patterns
from ..numbers.semirings import combine
from ..sparse.ciss_stream import headers, slot_type
from .job_tiles import dense_from_bytes, output_bytes
from .result.entries import Entries, of_dense
from .result.kernel import Kernel
from .result.tile import add_tile, empty_output, slice_sums, work_of
from .work import STORES, most_slices

Ints = npt.NDArray[np.int64]
Slots = npt.NDArray[np.void]


class Fault(NamedTuple):
    """The error of a stream, and the entry that is wrong."""

    error: str
    entry: int


def read_stream(
    slots: Slots, layout: CissLayout, slices: int, sizes: tuple[int, ...]
) -> Entries | Fault:
    """The entries of a stream (entries, rows), slices ascending; or what is wrong with it.

    Of several faults it is that of the first entry, there of the lowest row, and there "stream"
    before "index" and "slice". Fields of headers that say nothing are not looked at.

    Parameters
    ----------
    slices: of the output
    sizes: of modes 1, 2, ...
    """
    heads = headers(slots, layout)
    numbers = slots["index"][..., 0].astype(np.int64) & layout.largest_index
    no_op = heads & (numbers == layout.largest_index)
    named = heads & ~no_op
    ended = _before(no_op)
    wrong_stream = ended & ~no_op
    wrong_stream |= ~heads & ~_before(named)
    wrong_stream[-1] |= ~no_op[-1]
    wrong_index = np.zeros(heads.shape, np.bool_)
    for number, size in enumerate(sizes):
        wrong_index |= slots["index"][..., number].astype(np.int64) >= size
    wrong_index &= ~heads
    in_stream = np.where(named, numbers, -1).reshape(-1)
    highest = np.maximum.accumulate(np.concatenate([[-1], in_stream[:-1]]))
    wrong_slice = named & ((numbers >= slices) | (numbers <= highest.reshape(numbers.shape)))
    found = [
        (int(np.argmax(wrong)), rank, name)
        for rank, (name, wrong) in enumerate(
            (("stream", wrong_stream), ("index", wrong_index), ("slice", wrong_slice))
        )
        if wrong.any()
    ]
    if found:
        slot, _, name = min(found)
        return Fault(name, slot // layout.rows)
    return _entries(slots, ~heads, named, numbers)


def _before(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Returns whether a flag of the same row is set in an earlier entry."""
    found = np.zeros_like(flags)
    found[1:] = np.logical_or.accumulate(flags, axis=0)[:-1]
    return found


def _entries(
    slots: Slots, values: npt.NDArray[np.bool_], named: npt.NDArray[np.bool_], numbers: Ints
) -> Entries:
    """Values with the slice that their row announced last, by slices and then as they come."""
    times = np.arange(len(slots))[:, None]
    last = np.maximum.accumulate(np.where(named, times, 0), axis=0)
    slices = np.take_along_axis(numbers, last, axis=0)
    # Row by row, so that a slice's values follow each other.
    which = values.T.reshape(-1)
    mine = np.ascontiguousarray(slices.T).reshape(-1)[which]
    stored = np.ascontiguousarray(slots.T).reshape(-1)[which]
    order = np.argsort(mine, kind="stable")
    stored = stored[order]
    return Entries(
        mine[order], stored["index"].T.astype(np.int64), stored["value"].astype(np.uint64)
    )


_COUNTED = ("products", "operations", "drains", "bytes_written", "bytes_output")
_PIECE = 1 << 14
"""Units in memory that are added to at once."""


class _Stopped(Exception):
    """A job that ends with an error: its name, and ERROR_DETAIL."""

    def __init__(self, error: str, detail: int) -> None:
        super().__init__(error)
        self.error, self.detail = error, detail


class TensaurusModel(ModelDevice):
    """Works off the list of tiles in memory. What a job leaves there is the hardware's, bit for
    bit; of what it counts only that which does not depend on time, the rest being zero.

    Tiles are taken one after the other: the first one that is wrong ends the job. Outputs that were
    complete before are written; those in memory have the sums of the tiles before.

    Parameters
    ----------
    config: of the accelerator
    memory_bytes: size of the memory, which begins at address 0
    """

    def __init__(self, config: TensaurusConfig, memory_bytes: int = 1 << 20) -> None:
        self.config: Final = config
        super().__init__(job_spec(config), memory_bytes)

    def _job(self) -> tuple[str, int, dict[str, int]]:
        try:
            return "none", 0, _Job(self, self._values).run()
        except _Stopped as stop:
            return stop.error, stop.detail, {}
        except IndexError:
            return "bus_read", self.memory_bytes, {}


def kernel_of(values: Mapping[str, int]) -> Kernel:
    """The kernel that a job's registers say."""
    return Kernel(
        name=KERNELS[values["KERNEL"]],
        order=values["ORDER"],
        vectors=values["VECTORS"],
        scalars=(values["SCALARS_1"], values["SCALARS_2"]),
    )


class _Job:
    """A job that obeys the rules of its registers."""

    def __init__(self, device: TensaurusModel, values: dict[str, int]) -> None:
        self._device, self._config = device, device.config
        self._tiles, self._list = values["TILES"], values["LIST"]
        self._dense = bool(values["DENSE"])
        self._store = STORES[values["DIRECT"]]
        self._regions = [values[f"REGION_{mode}"] for mode in (1, 2, 3)]
        self.kernel = kernel_of(values)
        self._loaded: dict[int, Patterns] = {}
        self._output: Patterns | None = None
        self._counts = dict.fromkeys(_COUNTED, 0)

    def run(self) -> dict[str, int]:
        """Work off the tiles; returns what is counted."""
        for number in range(self._tiles):
            self._tile(number, self._described(number))
        return self._counts

    def _described(self, number: int) -> dict[str, int]:
        """Returns the fields of a tile from the list."""
        content = self._device.read_memory(self._list + number * TILE_BYTES, TILE_BYTES)
        whole = int.from_bytes(content, "little")
        found = {name: whole >> low & ((1 << bits) - 1) for name, (low, bits) in TILE_WORDS.items()}
        if not self._fits(found) or (number == self._tiles - 1 and not found["last"] & 1):
            raise _Stopped("tile", number)
        return found

    def _modes(self) -> range:
        return range(1, self.kernel.order)

    def _fits(self, tile: dict[str, int]) -> bool:
        config, kernel = self._config, self.kernel
        line = config.line_bytes
        bases = ["tensor", "output"]
        bases += [f"operand_{mode}" for mode in self._modes() if tile["load"] >> mode - 1 & 1]
        if any(tile[name] % line or tile[name] >> config.addr_bits for name in bases):
            return False
        if (self._dense and tile["pitch"] % line) or not (self._dense or tile["entries"]):
            return False
        indices = 1 << config.index_bits
        if not 0 < tile["slices"] <= min(most_slices(config, kernel, self._store), indices):
            return False
        return all(
            self._holds(mode, tile[f"size_{mode}"], indices) and self._is_loaded(mode, tile)
            for mode in self._modes()
        )

    def _is_loaded(self, mode: int, tile: dict[str, int]) -> bool:
        """Returns whether an operand's rows are loaded when the tile starts."""
        loads = tile["load"] >> mode - 1 & 1
        return bool(loads) or tile[f"size_{mode}"] <= len(self._loaded.get(mode, ()))

    def _holds(self, mode: int, size: int, indices: int) -> bool:
        """Returns whether an operand's rows fit its scratchpad."""
        config, kernel, region = self._config, self.kernel, self._regions[mode - 1]
        if mode in kernel.array_modes:
            fits = region + size * kernel.vectors <= config.spm_units
        else:
            end = region + size * kernel.row_values(config, mode)
            fits = end <= config.spm_scalars and not region % config.vlen
        return fits and 0 < size <= indices

    def _tile(self, number: int, tile: dict[str, int]) -> None:
        config, kernel = self._config, self.kernel
        for mode in self._modes():
            if tile["load"] >> mode - 1 & 1:
                row = kernel.row_values(config, mode)
                count = tile[f"size_{mode}"] * row
                content = self._read(tile[f"operand_{mode}"], count * config.format.bits // 8)
                self._loaded[mode] = from_bytes(content, config.format).reshape(-1, row)
        entries = self._entries(number, tile)
        found = work_of(config, kernel, entries)
        for name, count in (
            ("products", found.products), ("operations", found.operations),
            ("drains", found.drains),
        ):  # fmt: skip
            self._counts[name] += count
        if self._store == "memory":
            self._add_in_memory(tile["output"], entries)
            return
        if self._output is None:
            self._output = empty_output(config, kernel, most_slices(config, kernel))
        add_tile(config, kernel, self._output, entries, self._loaded)
        if tile["last"] & 1:
            content = to_bytes(self._output[: tile["slices"]], config.sum_format)
            try:
                self._device.write_memory(tile["output"], content)
            except IndexError:
                raise _Stopped("bus_write", self._device.memory_bytes) from None
            self._counts["bytes_written"] += output_bytes(config, kernel, tile["slices"])
            self._output = None

    def _add_in_memory(self, base: int, entries: Entries) -> None:
        """Units are read, added to, and written. Raises IndexError where there is no memory."""
        config, kernel, fmt = self._config, self.kernel, self._config.sum_format
        slices, sums = slice_sums(config, kernel, entries, self._loaded)
        units = (slices[:, None] * kernel.units + np.arange(kernel.units)).reshape(-1)
        vectors = sums.reshape(len(units), config.unit_values)
        memory, size = self._device.memory, config.result_unit_bytes
        if len(units) and base >= len(memory):
            raise IndexError
        for first in range(0, len(units), _PIECE):
            some = slice(first, first + _PIECE)
            places = base + units[some, None] * config.memory_unit_bytes + np.arange(size)
            held = from_bytes(memory[places].tobytes(), fmt).reshape(-1, config.unit_values)
            total = to_bytes(combine(config.operators, held, vectors[some], fmt), fmt)
            memory[places] = np.frombuffer(total, np.uint8).reshape(places.shape)
        self._counts["bytes_written"] += len(units) * size
        self._counts["bytes_output"] += len(units) * config.unit_block_bytes

    def _read(self, address: int, count: int) -> bytes:
        return self._device.read_memory(address, count)

    def _entries(self, number: int, tile: dict[str, int]) -> Entries:
        config, order = self._config, self.kernel.order
        sizes = tuple(tile[f"size_{mode}"] for mode in self._modes())
        if self._dense:
            size = int(np.prod(sizes)) * config.format.bits // 8
            count = (tile["slices"] - 1) * tile["pitch"] + size
            content = self._read(tile["tensor"], count)
            shape = (tile["slices"], *sizes)
            return of_dense(dense_from_bytes(config, content, shape, tile["pitch"]))
        layout = config.layout(order)
        content = self._read(tile["tensor"], tile["entries"] * layout.entry_bytes)
        slots = np.frombuffer(content, slot_type(layout)).reshape(-1, layout.rows)
        found = read_stream(slots, layout, tile["slices"], sizes)
        if isinstance(found, Fault):
            raise _Stopped(found.error, found.entry | number << 32)
        return found
