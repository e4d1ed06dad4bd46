"""Elements that are chosen and moved, against Python's lists."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.gta import FORMATS_OF_GTA
from tilewright.sim.gta.golden.moves import select, slide_down, slide_up


@pytest.mark.parametrize("format", FORMATS_OF_GTA)
def test_slides(format: str) -> None:
    """Slides patterns by no place, by some, by all and by more."""
    rng = np.random.default_rng(91)
    top = (1 << FORMATS[format].bits) - 1
    for length in (1, 2, 17):
        a = rng.integers(0, top, length, dtype=np.uint64, endpoint=True)
        fill = int(rng.integers(0, top, dtype=np.uint64, endpoint=True))
        for places in {0, 1, length - 1, length, length + 3}:
            filled = [fill] * places
            up = (filled + a.tolist())[:length]
            assert slide_up(format, a, places, fill).tolist() == up
            down = (a.tolist() + filled)[places:]
            assert slide_down(format, a, places, fill).tolist() == down


def test_slides_along_the_last_axis() -> None:
    a = np.arange(1, 7, dtype=np.uint64).reshape(2, 3)
    assert slide_up("int8", a, 1).tolist() == [[0, 1, 2], [0, 4, 5]]
    assert slide_down("int8", a, 2, 9).tolist() == [[3, 9, 9], [6, 9, 9]]
    assert a.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("format", FORMATS_OF_GTA)
def test_select(format: str) -> None:
    """Bits stay, those of a NaN too; any mask but 0 counts."""
    top = (1 << FORMATS[format].bits) - 1
    a, b = np.array([1, top, 2, top - 1], np.uint64), np.array([top, 5, 6, 7], np.uint64)
    assert select(format, [1, 0, top, 0], a, b).tolist() == [1, 5, 2, 7]
    assert select(format, 0, a, b).tolist() == b.tolist()
    assert select(format, 1, a, 3).tolist() == a.tolist()


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^`places` must be at least 0, not -1$"):
        slide_up("int8", [1], -1)
    with pytest.raises(ValueError, match=r"^words must be of 16 bits, not 65536$"):
        slide_down("fp16", [1], 1, 1 << 16)
    with pytest.raises(ValueError, match=r"^words must be of 8 bits, not -1$"):
        select("int8", 1, [-1], [0])
