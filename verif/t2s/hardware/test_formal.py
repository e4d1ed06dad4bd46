"""Functions that move words keep the rules of streams, for every sequence of inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tilewright.hw.spec.t2s.parts import Count, FeederPart, MoverPart
from tilewright.hw.t2s.feeder import Feeder
from tilewright.hw.t2s.mover import Mover
from tilewright.verif.stream.proof import never_broken

from .watched import Watched

pytestmark = pytest.mark.long

BITS = 2
TRIP_BITS = 2

TURN = Count("turn", None, turn=True)
DIGIT = Count("digit", 3)
SUMMED = Count("summed", None)
"""Its trip count is held to at least 1 by the bench."""


def feeder(double: bool, *, digit: Count) -> Feeder:
    fill, read = (TURN, digit), (digit, Count("again", 2))
    part = FeederPart(
        "feeds", BITS, fill, (digit.name,), (SUMMED,), read, (digit.name,), (digit.extent or 1,),
        double, (SUMMED.name,), flagged=True,
    )  # fmt: skip
    return Feeder(part, TRIP_BITS)


def moves(**how: Any) -> Mover:
    part = MoverPart("moves", "drainer", BITS, (SUMMED, TURN, DIGIT), **how)
    return Mover(part, TRIP_BITS)


PARTS: dict[str, Any] = {
    "gathers": lambda: moves(gathers=True),
    "scatters": lambda: moves(scatters=True, flags=(SUMMED.name,), flagged=True),
    "single": lambda: feeder(False, digit=DIGIT),
    "double": lambda: feeder(True, digit=DIGIT),
    "register": lambda: feeder(False, digit=Count("digit", 1)),
    "registers": lambda: feeder(True, digit=Count("digit", 1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_rules_of_streams(name: str, tmp_path: Path) -> None:
    assert never_broken(Watched(PARTS[name]()), tmp_path)


@pytest.mark.slow
def test_a_rule_can_be_broken(tmp_path: Path) -> None:
    """The same check finds that flags change if trip counts do."""
    assert not never_broken(Watched(PARTS["scatters"](), steady=False), tmp_path)
