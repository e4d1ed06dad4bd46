"""The clock period of the small accelerator, mapped for speed."""

from __future__ import annotations

import pytest
from tilewright.registry import entries
from tilewright.synth.flow import synthesize
from tilewright.synth.report import AsicReport

FO4 = 73
"""Bar of the clock period in ``cmos``."""


@pytest.mark.long
def test_the_accelerator_keeps_its_clock() -> None:
    """Paths of the whole, by models of its modules."""
    entry = entries()["sida"]
    report = synthesize("sida", entry.unit.config(**entry.small), effort="speed")
    assert isinstance(report, AsicReport)
    assert report.path is not None
    assert report.path.fo4 <= FO4
