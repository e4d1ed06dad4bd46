"""Depths of queues in hardware: designs go on with them, and stop with one word less."""

from __future__ import annotations

from functools import partial

import pytest
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.network import Link
from tilewright.hw.spec.t2s.parts import Design
from tilewright.hw.t2s.lowering.words_through import Network, Stopped

from ..designs import DESIGNS


def _room(link: Link, sums: int, *, design: Design, less: str = "", words: int = 0) -> int:
    is_result = link.source.function == design.element.name != link.sink.function
    held = sums if is_result else 0
    return max(1, held + link.depth - (words if link.channel == less else 0))


@pytest.mark.parametrize("largest", [2, 3])
@pytest.mark.parametrize("name", sorted(DESIGNS))
def test_designs_go_on(name: str, largest: int) -> None:
    design = T2sConfig(design=name, largest=largest).plan
    Network(design, partial(_room, design=design)).run()


@pytest.mark.parametrize(
    ("name", "largest"),
    [("conv2d", 3), ("stencil3d", 3), ("ttv", 3), ("ttv", 0), ("fir", 0), ("gemv", 0)],
)
def test_one_word_less(name: str, largest: int) -> None:
    design = T2sConfig(design=name, largest=largest).plan
    usual = {one.channel: 1 if _within(one) else 2 for one in design.links}
    longer = {one.channel for one in design.links if one.depth > usual[one.channel]}
    assert longer
    for channel in sorted(longer):
        with pytest.raises(Stopped, match="waits") as caught:
            Network(design, partial(_room, design=design, less=channel, words=1)).run()
        assert channel in caught.value.full


def _within(link: Link) -> bool:
    return link.source.function == link.sink.function
