"""Functions that move words keep the rules of streams, for every sequence of inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.spec.t2s.parts import Count, FeederPart, MoverPart
from tilewright.hw.t2s.feeder import Feeder
from tilewright.hw.t2s.mover import Mover
from tilewright.verif.stream.proof import never_broken

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


class Watched(wiring.Component):
    """A part between sources and sinks that keep the rules of streams.

    Parameters
    ----------
    part: the component
    steady: whether trip counts stay as they are, as they must

    Members
    -------
    offer_<i>, payload_<i>: what a source offers, unless it still offers something else
    take_<o>: whether a sink is ready
    copies, trips: of the first cycle count, if they are steady
    broken: something that was offered has gone, or has changed
    """

    def __init__(self, part: Any, *, steady: bool = True) -> None:
        self._part = part
        self._steady = steady
        names = [name for name in part.signature.members if hasattr(getattr(part, name), "valid")]
        self._inputs = [name for name in names if name.startswith("i")]
        self._outputs = [name for name in names if name.startswith("o")]
        super().__init__(
            {
                **{f"offer_{name}": In(1) for name in self._inputs},
                **{f"payload_{name}": In(BITS) for name in self._inputs},
                **{f"take_{name}": In(1) for name in self._outputs},
                "copies": In(1),
                "trips": In(1),
                "broken": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.part = part = self._part
        began = Signal()
        copies = Signal()
        trips = Signal()
        m.d.sync += began.eq(int(self._steady))
        with m.If(~began):
            m.d.sync += [copies.eq(self.copies), trips.eq(self.trips)]
            m.d.comb += [part.copies.eq(self.copies), part.trips_summed.eq(1 + self.trips)]
        with m.Else():
            m.d.comb += [part.copies.eq(copies), part.trips_summed.eq(1 + trips)]
        for name in self._inputs:
            port, waiting = getattr(part, name), Signal(name=f"{name}_waiting")
            kept = Signal(BITS, name=f"{name}_kept")
            payload = Value.cast(port.payload)
            m.d.comb += [
                port.valid.eq(waiting | getattr(self, f"offer_{name}")),
                payload.eq(getattr(self, f"payload_{name}")),
            ]
            with m.If(waiting):
                m.d.comb += payload.eq(kept)
            m.d.sync += [waiting.eq(port.valid & ~port.ready), kept.eq(payload)]
        for name in self._outputs:
            port, offered = getattr(part, name), Signal(name=f"{name}_offered")
            payload = Value.cast(port.payload)
            before = Signal.like(payload, name=f"{name}_before")
            m.d.comb += port.ready.eq(getattr(self, f"take_{name}"))
            m.d.sync += [offered.eq(port.valid & ~port.ready), before.eq(payload)]
            with m.If(offered & (~port.valid | (payload != before))):
                m.d.comb += self.broken.eq(1)
        return m


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_rules_of_streams(name: str, tmp_path: Path) -> None:
    assert never_broken(Watched(PARTS[name]()), tmp_path)


@pytest.mark.slow
def test_a_rule_can_be_broken(tmp_path: Path) -> None:
    """The same check finds that flags change if trip counts do."""
    assert not never_broken(Watched(PARTS["scatters"](), steady=False), tmp_path)
