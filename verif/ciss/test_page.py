"""The page of CISS: its examples run, its tables and its drawing say what is so."""

from __future__ import annotations

import re

import numpy as np
from tilewright.hw.spec.ciss import CissLayout
from tilewright.verif.kit.pages import examples, page

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
