"""The clock period of the dot product unit, by its default parameters, mapped for speed."""

from __future__ import annotations

import pytest
from tilewright.hw.arith.fused.sum_stages import ExponentMaximum
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.m3xu import M3xuConfig
from tilewright.synth.flow import synthesize, synthesize_verilog
from tilewright.synth.report import AsicReport, Report

FO4 = 44
"""Bar of the clock period, a nanosecond in ``cmos``."""
REGISTERS = 6
"""Of that, clock to output and setup time of flip-flops, and the load of the first."""


def fo4(report: Report) -> float:
    assert isinstance(report, AsicReport)
    assert report.path is not None
    return report.path.fo4


def test_the_slowest_part_fits_a_stage() -> None:
    """All levels of the tree of exponents but the first, of eight products and an addend."""
    emitted = emit_component(ExponentMaximum(5, 10), name="tree")
    assert fo4(synthesize_verilog(emitted.verilog, "tree", effort="speed")) <= FO4 - REGISTERS


@pytest.mark.long
def test_the_unit_keeps_its_clock() -> None:
    """Decoders, operand registers and one dot product unit, from port to port."""
    config = M3xuConfig(rows=1, cols=1)
    assert fo4(synthesize("m3xu", config, effort="speed")) <= FO4
