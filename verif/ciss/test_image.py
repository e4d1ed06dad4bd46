"""CISS and extended CSR in memory, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
from tilewright.hw.spec.ciss import VALUES, CissLayout
from tilewright.sim.sparse.ciss import Ciss, from_tensor, rounded, to_tensor
from tilewright.sim.sparse.ciss_stream import read_slices, slot_type
from tilewright.sim.sparse.memory_blocks import Block, Read
from tilewright.sim.sparse.rounding import values_of
from tilewright.sim.sparse.tensor import Tensor, from_csr, modes_from, to_csr
from tilewright.verif.ciss.cases import layout, random_case, tensor
from tilewright.verif.ciss.csf import Csf, from_csf, to_csf
from tilewright.verif.ciss.oracle import BITS, add_up, decode, pattern, stream
from tilewright.verif.kit.pages import examples, page
from tilewright.verif.kit.sampling import by_size

# Sparse tensors in a device's memory: CISS, and the extended CSR that it is compared with.
#
# Source: Tensaurus, section on the sparse format, figure 4.2.

_WORD = 1 << 32


BEAT = 64
"""Bytes of the widest beat: a multiple of it is one of every beat."""


def image(ciss: Ciss, *, base: int, beat_bytes: int = BEAT) -> Block:
    """Returns a stream in memory, one entry after the other. Raises ValueError if the base is not a
    multiple of a beat."""
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
    """Writes the bytes of the rules, at any multiple of a beat and for any entry size, and reads
    them."""
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


# Entries: sizes, headers, ranges.


def test_the_example_of_the_rules() -> None:
    """Order 3, eight rows, a value and two indices of 32 bits: 96 bytes."""
    where = CissLayout()
    assert (where.slot_bits, where.slot_bytes) == (96, 12)
    assert (where.entry_bits, where.entry_bytes) == (768, 96)


def test_every_size_is_whole_bytes() -> None:
    """(dw + (order - 1) iw) P bits, for all parameters; the array's element is as large."""
    for value, width, order, rows in product(VALUES, (16, 32), range(2, 7), (1, 3, 8, 16)):
        where = layout(rows, order, value, width)
        bits = (BITS[value] + (order - 1) * width) * rows
        assert where.entry_bits == bits == 8 * where.entry_bytes
        assert slot_type(where).itemsize * rows == where.entry_bytes


@pytest.mark.parametrize(
    ("width", "marker", "slices", "others"),
    [
        (16, "zero", 0xFFFE, 0xFFFF),
        (16, "bit", 0x7FFE, 0x7FFF),
        (32, "zero", 0xFFFF_FFFE, 0xFFFF_FFFF),
        (32, "bit", 0x7FFF_FFFE, 0x7FFF_FFFF),
    ],
)
def test_headers(width: int, marker: str, slices: int, others: int) -> None:
    where = layout(value="bf16", index_bits=width, marker=marker)
    assert (where.largest_slice, where.largest_index) == (slices, others)
    assert [where.largest_of(mode) for mode in (0, 1, 2)] == [slices, others, others]
    top = 1 << (width - 1) if marker == "bit" else 0
    assert where.header_bit == top
    assert where.header(5) == (top | 5) << 16
    assert where.no_op == ((1 << width) - 1) << 16 == (top | slices + 1) << 16
    with pytest.raises(ValueError, match=rf"^`index` must be in 0\.\.{slices}, not {slices + 1}$"):
        where.header(slices + 1)
    where.check_shape((slices + 1, others + 1, others + 1))
    for mode, most in enumerate((slices + 1, others + 1, others + 1)):
        shape = [1, 1, 1]
        shape[mode] = most + 1
        with pytest.raises(ValueError, match="must have at most") as caught:
            where.check_shape(tuple(shape))
        assert str(caught.value) == (
            f"mode {mode} of a stream must have at most {most} indices with {width} bits and "
            f"marker {marker}, not {most + 1}"
        )


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"rows": 17}, ValueError, "`rows` must be an integer in 1..16, not 17"),
        ({"order": 1}, ValueError, "`order` must be an integer in 2..6, not 1"),
        ({"order": 3.0}, TypeError, "`order` must be an integer in 2..6, not 3.0"),
        ({"value": "tf32"}, ValueError,
         "`value` must be one of fp16, bf16, fp32, fp64, int8, int32, not 'tf32'"),
        ({"index_bits": 24}, ValueError, "`index_bits` must be a multiple of 16 in 16..32, not 24"),
        ({"marker": "one"}, ValueError, "`marker` must be one of zero, bit, not 'one'"),
    ],
)  # fmt: skip
def test_layout_refusals(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        CissLayout(**changes)
    assert str(caught.value) == message


def test_shape_of_another_order() -> None:
    with pytest.raises(ValueError, match=r"^`shape` must have 3 modes, not 2$"):
        layout().check_shape((1, 1))


# The page of CISS: its examples run, its tables and its drawing say what is so.

PAGE = page("ciss.md")


def test_examples_of_the_page_run_and_are_drawn() -> None:
    found = examples(PAGE, "python")
    assert len(found) >= 5
    names: dict[str, object] = {}
    for example in found:
        exec(compile(example, str(PAGE), "exec"), names)
    slots = names["ciss"].slots  # type: ignore[attr-defined]
    expected = []
    for slot in slots.reshape(-1):
        first, second = slot["index"].tolist()
        value = int(slot["value"].view(np.float32))
        if value:
            expected.append(f"{value}; {first}; {second}")
        else:
            expected.append("no-op" if first == 2**32 - 1 else f"header, i = {first}")
    # The stream in memory, slot by slot.
    lines = re.findall(r"^    (0x[0-9a-f]+): ((?:[0-9a-f]{2} ){12})", PAGE.read_text(), re.M)
    assert [int(address, 16) for address, _ in lines] == [0x1000 + 12 * n for n in range(16)]
    assert bytes.fromhex("".join(content for _, content in lines)) == slots.tobytes()
    drawn = re.findall(r'class="m slot">([^<]*)<', page("ciss.svg").read_text())
    assert drawn == expected


def test_largest_indices_of_the_page() -> None:
    rows = re.findall(
        r"^\| (\d+) bits, `(\w+)` \| ([\d,]+) \| ([\d,]+) \|$", PAGE.read_text(), re.M
    )
    assert len(rows) == 4
    for width, marker, slices, others in rows:
        layout = CissLayout(index_bits=int(width), marker=marker)
        assert f"{layout.largest_slice:,}" == slices
        assert f"{layout.largest_index:,}" == others
