"""Checks the layout of an entry, and the page of CISS: sizes, headers, ranges, examples, tables."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.ciss import VALUES, CissLayout
from tilewright.sim.sparse.ciss_stream import slot_type
from tilewright.verif.ciss.cases import layout
from tilewright.verif.ciss.oracle import BITS
from tilewright.verif.kit.pages import examples, page


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
def test_refusals(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        CissLayout(**changes)
    assert str(caught.value) == message


def test_shape_of_another_order() -> None:
    with pytest.raises(ValueError, match=r"^`shape` must have 3 modes, not 2$"):
        layout().check_shape((1, 1))


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
    drawn = re.findall(r'class="m slot"[^>]*>([^<]*)<', page("ciss.svg").read_text())
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
