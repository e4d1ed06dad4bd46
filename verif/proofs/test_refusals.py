"""An offer of a lazy fork that an output refuses has no effect on its accelerator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.stream.fork import Fork
from tilewright.registry import entries
from tilewright.verif.kit.units import emitted_unit
from tilewright.verif.proofs.refusals import Offers, offers_with_effect

OUTPUTS = {"engine_m3xu": (10, 10), "engine_simd2": (10, 10), "matraptor": (12, 12), "t2s": (12, 8)}
"""Outputs of lazy forks in each small accelerator, and those that lead to something: an element at
an edge of T2S' array has no neighbour."""

LATER = "engine_simd2"
"""Its forks are those of ``engine_m3xu``, but its unit is always ready."""

VARIANTS = [(name, n) for name in OUTPUTS for n in range(len(entries()[name].variants))]


def offers(name: str, directory: Path, *, each: bool = False, **changed: Any) -> Offers:
    verilog = emitted_unit(name, **{**entries()[name].small, **changed}).verilog
    return offers_with_effect(verilog, name, directory, each=each)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name == LATER else pytest.mark.slow)
        for name in OUTPUTS
    ],
)
def test_a_refused_offer_has_no_effect(name: str, tmp_path: Path) -> None:
    """In no state of the registers, reachable or not; an accepted offer has one."""
    found = offers(name, tmp_path)
    assert len(found.examined) == OUTPUTS[name][0]
    assert found.refused == set()
    assert found.accepted


@pytest.mark.long
@pytest.mark.parametrize(("name", "number"), VARIANTS)
def test_a_refused_offer_has_no_effect_in_a_variant(name: str, number: int, tmp_path: Path) -> None:
    changed = entries()[name].variants[number]
    found = offers(name, tmp_path, **changed)
    assert found.refused == set()
    # Only the sparse design of T2S has no lazy forks.
    assert bool(found.accepted) == (not str(changed.get("design")).startswith("sparse"))


@pytest.mark.long
@pytest.mark.parametrize("name", OUTPUTS)
def test_an_accepted_offer_of_each_output_has_an_effect(name: str, tmp_path: Path) -> None:
    assert len(offers(name, tmp_path, each=True).accepted) == OUTPUTS[name][1]


class Counting(wiring.Component):
    """A lazy fork with a bit at each output that changes with each transfer, or if it is hasty at
    output 1 with each offer."""

    def __init__(self, *, hasty: bool) -> None:
        self._hasty = hasty
        super().__init__(
            {
                "i": wiring.In(stream.Signature(1)),
                "ready": wiring.In(2),
                "odd": wiring.Out(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.lazy = lazy = Fork(1, 2)
        wiring.connect(m, wiring.flipped(self.i), lazy.i)
        for number, o in enumerate(lazy.o):
            m.d.comb += o.ready.eq(self.ready[number])
            counted = o.valid if self._hasty and number == 1 else o.valid & o.ready
            with m.If(counted):
                m.d.sync += self.odd[number].eq(~self.odd[number])
        return m


@pytest.mark.slow
@pytest.mark.parametrize("hasty", [False, True])
def test_a_sink_that_reacts_to_valid_alone_is_named(hasty: bool, tmp_path: Path) -> None:
    verilog = emit_component(Counting(hasty=hasty), name="counting").verilog
    found = offers_with_effect(verilog, "counting", tmp_path, each=True)
    assert found.examined == found.accepted == {"lazy.o__0", "lazy.o__1"}
    assert found.refused == ({"lazy.o__1"} if hasty else set())
