"""CISS and extended CSR in memory, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from tilewright.sim.sparse.ciss import Ciss, from_tensor, to_tensor
from tilewright.sim.sparse.ciss_stream import slot_type
from tilewright.sim.sparse.memory_blocks import Block
from tilewright.sim.sparse.tensor import Tensor, from_csr, to_csr
from tilewright.verif.ciss.cases import layout, random_case, tensor
from tilewright.verif.ciss.ciss_image import (
    extended_csr_image,
    from_extended_csr_image,
    from_image,
    image,
)
from tilewright.verif.ciss.csf import Csf, from_csf, to_csf
from tilewright.verif.ciss.oracle import BITS, add_up, decode, pattern, stream
from tilewright.verif.kit.sampling import by_size

SMALL = tensor((4, 2, 2), [((0, 0, 1), 1.0), ((3, 1, 0), 2.0), ((1, 1, 1), 3.0)])


def memory_of(*blocks: Block) -> Callable[[int, int], bytes]:
    """A memory that has these blocks alone."""

    def read(address: int, count: int) -> bytes:
        for block in blocks:
            offset = address - block.address
            if 0 <= offset <= len(block.data) - count:
                return block.data[offset : offset + count].tobytes()
        raise AssertionError(f"{count} bytes at {address:#x} are outside of the image")

    return read


@pytest.mark.parametrize("seed", range(6200, 6200 + by_size(10, 60, 600)))
def test_streams_in_memory(seed: int) -> None:
    """The rules' bytes, at any multiple of a beat, whatever the entry's size; and back."""
    case = random_case(seed)
    where = case.layout
    beat = 8 << seed % 4
    ciss = from_tensor(case.tensor, where, case.mode)
    block = image(ciss, base=beat * 5, beat_bytes=beat)
    assert block.address == beat * 5
    assert block.data.tobytes() == stream(case.entries, order=where.order, **case.oracle)[0]
    again = from_image(
        memory_of(block), where, case.shape,
        base=beat * 5, entries=ciss.entries, mode=case.mode, beat_bytes=beat,
    )  # fmt: skip
    assert np.array_equal(again.slots, ciss.slots)
    assert again.shape == case.shape
    assert np.array_equal(to_tensor(again).indices, to_tensor(ciss).indices)


@pytest.mark.parametrize("seed", range(6300, 6300 + by_size(10, 60, 600)))
def test_extended_csr(seed: int) -> None:
    """Word by word and entry by entry from the entries themselves; and back."""
    case = random_case(seed)
    where, mode = case.layout, case.mode
    sizes = {"pointers_base": 64, "entries_base": 1 << 20}
    blocks = extended_csr_image(case.tensor, where, mode=mode, **sizes)
    values = {p: pattern(x, where.value) for p, x in add_up(case.entries, where.value).items()}
    if where.marker == "zero":
        values = {p: bits for p, bits in values.items() if decode(bits, where.value) != 0}
    starts, entries = [0], b""
    for i in range(case.shape[mode]):
        slices = {p[:mode] + p[mode + 1 :]: x for p, x in values.items() if p[mode] == i}
        starts.append(starts[-1] + len(slices))
        for rest in sorted(slices):
            entries += slices[rest].to_bytes(BITS[where.value] // 8, "little")
            entries += b"".join(n.to_bytes(where.index_bits // 8, "little") for n in rest)
    assert [block.address for block in blocks] == list(sizes.values())
    assert blocks[0].data.tobytes() == b"".join(n.to_bytes(4, "little") for n in starts)
    assert blocks[1].data.tobytes() == entries
    back = from_extended_csr_image(memory_of(*blocks), where, case.shape, mode=mode, **sizes)
    expected = to_tensor(from_tensor(case.tensor, where, mode))
    assert np.array_equal(back.indices, expected.indices)
    assert np.array_equal(back.values, expected.values, equal_nan=True)


def words(*values: int) -> Callable[[int, int], bytes]:
    """A memory of words of 32 bits from address 0 on."""
    content = b"".join(value.to_bytes(4, "little") for value in values)
    return lambda address, count: content[address : address + count]


def small_csf(**changes: Any) -> Csf:
    return to_csf(SMALL)._replace(**changes)


def small_ciss(**changes: Any) -> Ciss:
    kept = {"layout": layout(), "shape": (4, 2, 2), "mode": 0}
    slots = np.zeros((1, 2), slot_type(layout()))
    return Ciss(**{**kept, "slots": slots, **changes})


BAD: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "values": (lambda: Tensor(shape=(2,), indices=np.zeros((1, 1), np.int64),
        values=np.zeros(1, np.float32)), ValueError,
        "`values` must be one dimension of float64 or int64, not (1,) float32"),
    "indices": (lambda: Tensor(shape=(2, 2), indices=np.zeros((1, 1), np.int64),
        values=np.zeros(1)), ValueError, "`indices` must be (1, 2) of int64, not (1, 1) int64"),
    "index": (lambda: tensor((2, 3), [((1, 3), 1.0)]), ValueError,
        "`indices` of mode 1 must be in 0..2, not 3"),
    "negative index": (lambda: tensor((2, 3), [((-1, 0), 1.0)]), ValueError,
        "`indices` of mode 0 must be in 0..1, not -1"),
    "mode": (lambda: from_tensor(SMALL, layout(), 3), ValueError, "`mode` must be in 0..2, not 3"),
    "mode below": (lambda: to_csf(SMALL, -1), ValueError, "`mode` must be in 0..2, not -1"),
    "order": (lambda: from_tensor(SMALL, layout(order=2)), ValueError,
        "`shape` must have 2 modes, not 3"),
    "slices": (lambda: from_tensor(tensor((65536, 2), []), layout(2, 2, index_bits=16)), ValueError,
        "mode 0 of a stream must have at most 65535 indices with 16 bits and marker zero, "
        "not 65536"),
    "no slices": (lambda: from_tensor(tensor((65536, 32769), []),
        layout(2, 2, index_bits=16, marker="bit"), 1), ValueError,
        "mode 0 of a stream must have at most 32767 indices with 16 bits and marker bit, "
        "not 32769"),
    "not finite": (lambda: from_tensor(tensor((1, 1), [((0, 0), float("nan"))]),
        layout(2, 2, "int8")), ValueError, "int8 does not hold nan"),
    "not sparse": (lambda: from_csr(np.eye(2)), TypeError,
        "`matrix` must be a sparse matrix of SciPy, not ndarray"),
    "complex": (lambda: from_csr(sp.csr_array(np.eye(2) * 1j)), TypeError,
        "`matrix` must be of real numbers, not complex128"),
    "no matrix": (lambda: to_csr(SMALL), ValueError, "a matrix has 2 modes, not 3"),
    "csf levels": (lambda: from_csf(small_csf(indices=())), ValueError,
        "`indices` must be of 3 levels, not 0"),
    "csf pointers": (lambda: from_csf(small_csf(pointers=())), ValueError,
        "`pointers` must be of 2 levels, not 0"),
    "csf order": (lambda: from_csf(small_csf(pointers=(np.array([0, 2, 1, 3]),
        np.array([0, 1, 2, 3])))), ValueError,
        "`pointers` of level 0 must be 4 that ascend from 0 to 3"),
    "csf leaves": (lambda: from_csf(small_csf(values=np.zeros(2))), ValueError,
        "`values` must be 3, not 2"),
    "slots": (lambda: small_ciss(slots=np.zeros((1, 3), slot_type(layout()))), ValueError,
        "`slots` must be (entries, 2) of [('value', '<u4'), ('index', '<u4', (2,))], "
        "not (1, 3) [('value', '<u4'), ('index', '<u4', (2,))]"),
    "base": (lambda: image(small_ciss(), base=32), ValueError,
        "`base` must be a multiple of 64, not 0x20"),
    "image base": (lambda: from_image(words(), layout(), (4, 2, 2), base=8, entries=1,
        beat_bytes=16), ValueError, "`base` must be a multiple of 16, not 0x8"),
    "short": (lambda: from_image(words(1), layout(), (4, 2, 2), base=0, entries=1), ValueError,
        "memory gave 4 bytes at 0x0, not 24"),
    "no entry": (lambda: from_image(words(), layout(), (4, 2, 2), base=0, entries=0), ValueError,
        "a stream must have an entry that ends it"),
    "not ended": (lambda: from_image(words(0, 0, 0, 0, 1, 0), layout(), (4, 2, 2), base=0,
        entries=1), ValueError, "entry 0, slot 0: the last entry must be of no-ops"),
    "twice": (lambda: from_image(words(*[0, 1, 0] * 2, *[0, 2**32 - 1, 0] * 2), layout(),
        (4, 2, 2), base=0, entries=2), ValueError,
        "entry 0, slot 1: slice 1 is named a second time"),
    "csr base": (lambda: extended_csr_image(SMALL, layout(), pointers_base=0, entries_base=4),
        ValueError, "`entries_base` must be a multiple of 64, not 0x4"),
    "csr pointers base": (lambda: extended_csr_image(SMALL, layout(), pointers_base=-64,
        entries_base=0), ValueError, "`pointers_base` must be a multiple of 64, not -0x40"),
    "csr first": (lambda: from_extended_csr_image(words(1, 1), layout(2, 2), (1, 2),
        pointers_base=0, entries_base=8), ValueError,
        "pointers must ascend from 0: slice 0 begins at 1"),
    "csr order": (lambda: from_extended_csr_image(words(0, 2, 1), layout(2, 2), (2, 2),
        pointers_base=0, entries_base=8), ValueError,
        "pointers must ascend from 0: slice 1 begins at 2"),
    "csr index": (lambda: from_extended_csr_image(words(0, 1, 9, 2), layout(2, 2), (1, 2),
        pointers_base=0, entries_base=8), ValueError,
        "`indices` of mode 1 must be in 0..1, not 2"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_refusals(case: str) -> None:
    call, error, message = BAD[case]
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == message
