"""The rules of streams at the outputs of hw/channels, for every sequence of inputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Mux, Shape, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.channels.beat_packer import BeatPacker
from tilewright.hw.channels.channel_of_row import ChannelOfRow
from tilewright.hw.channels.stripe_walk import StripeWalk
from tilewright.hw.channels.word_placer import WordPlacer
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.stream.proof import never_broken

pytestmark = pytest.mark.long

GEOMETRY = ChannelGeometry(channels=3, interleave=64, data_bits=128, addr_bits=32)
PARTS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    # what builds it, its outputs
    "stripe_walk": (lambda: StripeWalk(GEOMETRY), ("o",)),
    "word_placer": (lambda: WordPlacer(GEOMETRY, word_bytes=8, step=2, slots=3), ("o",)),
    "beat_packer": (lambda: BeatPacker(GEOMETRY, word_bytes=8), ("request", "o")),
    "channel_of_row": (lambda: ChannelOfRow(16, 3, 4), ("o",)),
}


class WatchedOutputs(wiring.Component):
    """A part after a source that obeys the rules of streams.

    Parameters
    ----------
    part: the component, with one input stream
    outputs: its output streams
    over_clear: the rules are to hold over ``clear``, too, which no part promises

    Members
    -------
    offer, payload: what the source offers unless it still offers something else
    take: whether each sink is ready
    wires: the part's other inputs
    broken: an output was offered, is not any more or is another, and was not taken
    """

    def __init__(self, part: Any, outputs: tuple[str, ...], *, over_clear: bool = False) -> None:
        self._part, self._outputs, self._over_clear = part, outputs, over_clear
        members = part.signature.members.items()
        self._wires = {
            name: Shape.cast(member.shape).width
            for name, member in members
            if member.is_port and member.flow == In
        }
        super().__init__(
            {
                "offer": In(1),
                "payload": In(len(Value.cast(part.i.payload))),
                "take": In(len(outputs)),
                **{name: In(width) for name, width in self._wires.items()},
                "broken": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.part = part = self._part
        waiting = Signal()
        kept = Signal(len(self.payload))
        given = Value.cast(part.i.payload)
        m.d.comb += [
            part.i.valid.eq(self.offer | waiting),
            given.eq(Mux(waiting, kept, self.payload)),
            *(getattr(part, name).eq(getattr(self, name)) for name in self._wires),
        ]
        m.d.sync += [waiting.eq(part.i.valid & ~part.i.ready), kept.eq(given)]
        for index, name in enumerate(self._outputs):
            port = getattr(part, name)
            payload = Value.cast(port.payload)
            offered = Signal(name=f"{name}_offered")
            before = Signal(len(payload), name=f"{name}_before")
            stays = port.valid & ~port.ready
            m.d.comb += port.ready.eq(self.take[index])
            m.d.sync += [
                offered.eq(stays if self._over_clear else stays & ~part.clear),
                before.eq(payload),
            ]
            with m.If(offered & (~port.valid | (payload != before))):
                m.d.comb += self.broken.eq(1)
        return m


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_no_sequence_breaks_a_rule(name: str, tmp_path: Path) -> None:
    build, outputs = PARTS[name]
    assert never_broken(WatchedOutputs(build(), outputs), tmp_path)


@pytest.mark.slow
def test_a_rule_can_be_broken(tmp_path: Path) -> None:
    """Without the exception for ``clear`` the same check finds the payload that ``clear`` drops."""
    part = WordPlacer(GEOMETRY, word_bytes=8, step=1)
    assert not never_broken(WatchedOutputs(part, ("o",), over_clear=True), tmp_path)
