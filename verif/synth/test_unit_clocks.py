"""The clock periods of units, mapped for speed in ``cmos``."""

from __future__ import annotations

import pytest
from tilewright.hw.arith.fused.sum_stages import ExponentMaximum
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.m3xu import M3xuConfig
from tilewright.registry import entries
from tilewright.synth.flow import synthesize, synthesize_verilog
from tilewright.synth.report import AsicReport, Report

GOAL = 44
"""A nanosecond, in FO4."""
FO4 = {"c2sr_converter": GOAL, "m3xu": GOAL, "sida": 73, "simd2": GOAL}
"""Bars of the small configurations: SIDA had 72.2 before its adders were shortened, and must not
get slower."""
REGISTERS = 6
"""FO4 of a stage that are no logic: clock to output and setup time of flip-flops, and the load of
the first."""


def fo4(report: Report) -> float:
    assert isinstance(report, AsicReport)
    assert report.path is not None
    return report.path.fo4


def test_the_slowest_part_of_a_dot_product_fits_a_stage() -> None:
    """All levels of the tree of exponents but the first, of eight products and an addend."""
    emitted = emit_component(ExponentMaximum(5, 10), name="tree")
    assert fo4(synthesize_verilog(emitted.verilog, "tree", effort="speed")) <= GOAL - REGISTERS


@pytest.mark.long
def test_a_dot_product_unit_keeps_its_clock() -> None:
    """Decoders, operand registers and one dot product unit of M3XU by its default parameters, from
    port to port."""
    config = M3xuConfig(rows=1, cols=1)
    assert fo4(synthesize("m3xu", config, effort="speed")) <= GOAL


@pytest.mark.long
@pytest.mark.parametrize("unit", FO4)
def test_a_small_unit_keeps_its_clock(unit: str) -> None:
    assert fo4(synthesize(unit, entries()[unit].small_config, effort="speed")) <= FO4[unit]
