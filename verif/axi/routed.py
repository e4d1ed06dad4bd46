"""Builds of ``RoutedReaders`` and runs of scenarios on them."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import Any

from tilewright.hw.emit.unit import Emitted, emit_component
from tilewright.verif.axi.parts_top import RoutedReaders, RoutedSizes
from tilewright.verif.bench.cocotb_build import SettingsBuild

ROUGH = {"latency": [1, 200], "stall": 0.3, "mixed": True, "modes": True, "gap": 0.2, "pause": 0.3}
"""Everything random, over a wide range."""


@cache
def emitted(sizes: RoutedSizes) -> Emitted:
    return emit_component(RoutedReaders(sizes), name="routed_readers")


@cache
def _build(sizes: RoutedSizes) -> SettingsBuild:
    return SettingsBuild(emitted(sizes))


def run(sizes: RoutedSizes, scenarios: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The summaries of scenarios (see ``routed_bench``); fails if one found a fault."""
    settings = {**asdict(sizes), "scenarios": scenarios}
    found = _build(sizes).run("tilewright.verif.axi.routed_bench", settings, seed=1)
    for scenario, result in zip(scenarios, found, strict=True):
        assert result["faults"] == [], scenario
    return list(found)
