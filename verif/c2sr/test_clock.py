"""The clock period of the converter in its small configuration, mapped for speed."""

from __future__ import annotations

import pytest
from tilewright.hw.spec.c2sr_converter import C2srConverterConfig
from tilewright.registry import entries
from tilewright.synth.flow import synthesize
from tilewright.synth.report import AsicReport

FO4 = 44
"""Bar of the clock period, a nanosecond in ``cmos``."""


@pytest.mark.long
def test_the_small_converter_keeps_its_clock() -> None:
    config = C2srConverterConfig(**entries()["c2sr_converter"].small)
    report = synthesize("c2sr_converter", config, effort="speed")
    assert isinstance(report, AsicReport)
    assert report.path is not None
    assert report.path.fo4 <= FO4
