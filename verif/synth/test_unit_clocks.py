"""The clock periods of units in their small configurations, mapped for speed in ``cmos``."""

from __future__ import annotations

import pytest
from tilewright.registry import entries
from tilewright.synth.flow import synthesize
from tilewright.synth.report import AsicReport

FO4 = {"c2sr_converter": 44, "m3xu": 44, "sida": 73, "simd2": 44}
"""Bars: 44 is a nanosecond, the goal; SIDA is above it and must not get slower."""


@pytest.mark.long
@pytest.mark.parametrize("unit", FO4)
def test_the_unit_keeps_its_clock(unit: str) -> None:
    report = synthesize(unit, entries()[unit].small_config, effort="speed")
    assert isinstance(report, AsicReport)
    assert report.path is not None
    assert report.path.fo4 <= FO4[unit]
