"""What takes entries keeps the rules of streams, for every sequence of inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.t2s.arithmetic import LaneSum
from tilewright.hw.spec.t2s.parts import Count
from tilewright.hw.spec.t2s.sparse_parts import GatherPart
from tilewright.hw.spec.t2s.tokens import Coordinate, TokenLayout
from tilewright.hw.t2s.sparse.gather_feeder import GatherFeeder
from tilewright.hw.t2s.sparse.merger import Merger
from tilewright.hw.t2s.sparse.sparse_pe import SparsePe
from tilewright.verif.stream.proof import never_broken
from tilewright.verif.t2s.hardware.watched import Watched

from .element_work import element_of

pytestmark = pytest.mark.long

LAYOUT = TokenLayout(FORMATS["int8"], (Coordinate("k", "kk", 2),), 1, ("i", "k"))


def gathers(*, double: bool) -> GatherFeeder:
    fill, read = (Count("kk", 2), Count("jj", 2)), (Count("jj", 2), Count("again", 2))
    part = GatherPart(
        "gathers", "B", 2, LAYOUT, fill, ("kk", "jj"), ("k",), read, ("jj",), (2, 2), double, "k"
    )
    return GatherFeeder(part)


def element(slots: int, *, halves: int) -> SparsePe:
    least = LaneSum(lanes=1, format="int8", accumulator="int32", ops=("minplus",), pipeline=1)
    return SparsePe(element_of(least, slots, halves=halves))


PARTS: dict[str, Any] = {
    "single": lambda: gathers(double=False),
    "double": lambda: gathers(double=True),
    "intersection": lambda: Merger(LAYOUT, "intersection", ("at_k",)),
    "union": lambda: Merger(LAYOUT, "union", ("at_k",), pad=3),
    "element of a half": lambda: element(2, halves=1),
    "element of two halves": lambda: element(2, halves=2),
    "element of one sum": lambda: element(1, halves=2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_rules_of_streams(name: str, tmp_path: Path) -> None:
    assert never_broken(Watched(PARTS[name]()), tmp_path)
