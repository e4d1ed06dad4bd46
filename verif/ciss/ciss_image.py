"""Sparse tensors in a device's memory: CISS, and the extended CSR that it is compared with.

Source: Tensaurus, section on the sparse format, figure 4.2.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.ciss import CissLayout
from tilewright.sim.sparse.ciss import Ciss, rounded
from tilewright.sim.sparse.ciss_stream import read_slices, slot_type
from tilewright.sim.sparse.memory_blocks import Block, Read
from tilewright.sim.sparse.rounding import values_of
from tilewright.sim.sparse.tensor import Tensor, modes_from

_WORD = 1 << 32


BEAT = 64
"""Bytes of the widest beat: a multiple of it is one of every beat."""


def image(ciss: Ciss, *, base: int, beat_bytes: int = BEAT) -> Block:
    """A stream in memory, entry behind entry. Raises ValueError if the base is not a multiple of a
    beat."""
    _check_base("base", base, beat_bytes)
    return Block(base, np.ascontiguousarray(ciss.slots).reshape(-1).view(np.uint8))


def from_image(
    read: Read,
    layout: CissLayout,
    shape: tuple[int, ...],
    *,
    base: int,
    entries: int,
    mode: int = 0,
    beat_bytes: int = BEAT,
) -> Ciss:
    """The stream at an address, after a look at every slot.

    Parameters
    ----------
    read: gives the memory's bytes
    shape: of the tensor; ``mode``: that whose indices are the slices
    entries: of the stream, that which ends it included

    Raises
    ------
    ValueError if the base is not a multiple of a beat, or for the first slot of the stream that
    cannot be; it names the entry and the slot.
    """
    _check_base("base", base, beat_bytes)
    data = _read(read, base, entries * layout.entry_bytes)
    slots = data.view(slot_type(layout)).reshape(entries, layout.rows)
    ciss = Ciss(layout=layout, shape=shape, mode=mode, slots=slots)
    read_slices(slots, layout, ciss.stream_shape)
    return ciss


def extended_csr_image(
    tensor: Tensor,
    layout: CissLayout,
    *,
    pointers_base: int,
    entries_base: int,
    mode: int = 0,
    beat_bytes: int = BEAT,
) -> tuple[Block, Block]:
    """The values of a stream in memory as extended CSR: a word of 32 bits a slice that says where
    its entries begin, one for where the last one's end, and the entries, slice after slice: value,
    index of mode 1, of mode 2, ..., packed as a slot of CISS is.

    Raises ValueError as the stream of the tensor does, or if a word does not count its entries.
    """
    _check_base("pointers_base", pointers_base, beat_bytes)
    _check_base("entries_base", entries_base, beat_bytes)
    modes = modes_from(tensor.order, mode)
    layout.check_shape(tuple(tensor.shape[one] for one in modes))
    found = rounded(tensor, layout, mode)
    if len(found.values) >= _WORD:
        raise ValueError(f"extended CSR holds at most {_WORD - 1} entries, not {len(found.values)}")
    slices = tensor.indices[found.order, mode]
    starts = np.searchsorted(slices, np.arange(tensor.shape[mode] + 1))
    entries = np.zeros(len(found.values), slot_type(layout))
    entries["value"] = found.values
    for number, one in enumerate(modes[1:]):
        entries["index"][:, number] = tensor.indices[found.order, one]
    pointers = starts.astype("<u4").view(np.uint8)
    return Block(pointers_base, pointers), Block(entries_base, entries.view(np.uint8))


def from_extended_csr_image(
    read: Read,
    layout: CissLayout,
    shape: tuple[int, ...],
    *,
    pointers_base: int,
    entries_base: int,
    mode: int = 0,
) -> Tensor:
    """The tensor at an address in extended CSR.

    Raises ValueError if the words do not ascend from 0, or indices are not within the shape.
    """
    modes = modes_from(len(shape), mode)
    layout.check_shape(tuple(shape[one] for one in modes))
    starts = _read(read, pointers_base, 4 * (shape[mode] + 1)).view("<u4").astype(np.int64)
    lengths = np.diff(starts)
    if starts[0] or (lengths < 0).any():
        wrong = int(np.argmax(lengths < 0)) if not starts[0] else 0
        raise ValueError(f"pointers must ascend from 0: slice {wrong} begins at {starts[wrong]}")
    data = _read(read, entries_base, int(starts[-1]) * layout.slot_bytes)
    entries = data.view(slot_type(layout))
    indices = np.empty((len(entries), len(shape)), np.int64)
    indices[:, mode] = np.repeat(np.arange(shape[mode]), lengths)
    for number, one in enumerate(modes[1:]):
        indices[:, one] = entries["index"][:, number]
    values = values_of(entries["value"], layout.format)
    return Tensor(shape=shape, indices=indices, values=values)


def _check_base(name: str, base: int, beat_bytes: int) -> None:
    if base < 0 or base % beat_bytes:
        raise ValueError(f"`{name}` must be a multiple of {beat_bytes}, not {base:#x}")


def _read(read: Read, address: int, count: int) -> npt.NDArray[np.uint8]:
    data = np.frombuffer(read(address, count) if count else b"", np.uint8)
    if len(data) != count:
        raise ValueError(f"memory gave {len(data)} bytes at {address:#x}, not {count}")
    return data
