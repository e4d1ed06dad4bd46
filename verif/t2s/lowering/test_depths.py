"""Depths of queues in hardware: designs go on with them, and stop with one word less."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.network import Link
from tilewright.hw.spec.t2s.parts import Design
from tilewright.hw.t2s.lowering import depths
from tilewright.hw.t2s.lowering.words_through import Network, Stopped

from ..designs import IN_HARDWARE


def _room(link: Link, sums: int, *, design: Design, less: str = "", words: int = 0) -> int:
    is_result = link.source.function == design.element.name != link.sink.function
    held = sums if is_result else 0
    return max(1, held + link.depth - (words if link.channel == less else 0))


@pytest.mark.parametrize("largest", [2, 3])
@pytest.mark.parametrize("name", sorted(IN_HARDWARE))
def test_designs_go_on(name: str, largest: int) -> None:
    design = T2sConfig(design=name, largest=largest).plan
    Network(design, partial(_room, design=design), _trips(design)).run()


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
            Network(
                design, partial(_room, design=design, less=channel, words=1), _trips(design)
            ).run()
        assert channel in caught.value.full


def _trips(design: Design) -> dict[str, int]:
    return dict.fromkeys(design.program.indices, 2)


def _within(link: Link) -> bool:
    return link.source.function == link.sink.function


SAID = """\
from tilewright.hw.t2s.language import compute, indices, tensor

i, k, ii, iii = indices("i k ii iii")
A, X = tensor("A", "fp32", i, k), tensor("X", "fp32", k)
Y = compute("Y", "fp32", i, sum_over=k)[A[i, k] * X[k]].accumulate(stall="allowed")
Y.tile(i, (iii, 2), (ii, 5)).order(i, k, iii, ii).unroll(iii)
feed_a, load_a = Y.producers(A, "feeder", "loader")
feed_x, load_x = Y.producers(X, "feeder", "loader")
Y.forward(feed_x, iii=-1)
"""
"""A feeder that walks an array of elements; what the first of them waits for comes last."""


def test_no_depth_is_enough(tmp_path: Path) -> None:
    """An element waits for words that come behind all products of another one's sums."""
    file = tmp_path / "mine.py"
    file.write_text(SAID.replace("i, k, iii, ii", "i, iii, ii, k"))
    message = "Y would stop: A_feeder and .* would have to hold more words the further indices go"
    with pytest.raises(ValueError, match=message):
        T2sConfig(design=str(file))


def test_depths_that_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They stay, others are found around them; one that is too short is told."""
    monkeypatch.setattr(depths, "_MOST", 1 << 10)
    file = tmp_path / "mine.py"
    file.write_text(SAID + "feed_x.fifo(7)\nY.fifo(5)\n")
    design = T2sConfig(design=str(file)).plan
    found = {one.channel: one.depth for one in design.links}
    assert (found["X_feeder"], found["Y"]) == (7, 5)
    enough = found["A_feeder"]
    assert enough > 2
    file.write_text(SAID + f"feed_a.fifo({enough})\n")
    design = T2sConfig(design=str(file)).plan
    Network(design, partial(_room, design=design), _trips(design)).run()
    file.write_text(SAID + "feed_a.fifo(2)\n")
    with pytest.raises(ValueError, match="with a depth of 2") as caught:
        _ = T2sConfig(design=str(file)).plan
    assert str(caught.value) == "mine.py:10: A_feeder.fifo: with a depth of 2 the design stops"


SLOWLY = """\
from tilewright.hw.t2s.language import compute, indices, tensor

a, e, f, ee, eee = indices("a e f ee eee")
P, Q = tensor("P", "int32", a, e), tensor("Q", "int32", e, a, f)
Z = compute("Z", "int32", a, e, sum_over=f)[P[a, e] * Q[e, a, f]]
Z.tile(e, (ee, 3), (eee, 2)).order(ee, e, eee, a, f).unroll(eee, ee).accumulate(stall="allowed")
drain, unload = Z.consumers("drainer", "unloader")
drain.unroll(eee).gather(eee=-1, vector=True).fifo({depth})
"""


@pytest.mark.parametrize("depth", [1, 17, 1000])
def test_registers_hide_no_growth(depth: int, tmp_path: Path) -> None:
    """Drainers wait for elements in turn, which do not get words before: the first three iterations
    of `a` go into the registers of queues. Found at random (seed 2152)."""
    file = tmp_path / "mine.py"
    file.write_text(SLOWLY.format(depth=depth))
    with pytest.raises(ValueError, match=r"^Z would stop: .* the further indices go"):
        T2sConfig(design=str(file))
