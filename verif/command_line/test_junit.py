"""``simulate --junit``: which test case a fault belongs to, and what the file says of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tilewright.errors import UserError
from tilewright.junit import write_junit
from tilewright.verif.kit.reports import JobsReport, Report, Timing

CONFIG = {"rows": 4, "modes": ["fp16", "fp32"]}
MISMATCH = "1 of 20 results differ, first `o` 3: 0x1, expected 0x2"
BACK_TO_BACK = "back to back: 12 cycles, not 11"
TIMING = "fp32: latency or interval is not the sidecar's"


def _timing(mode: str, latency: int) -> Timing:
    return Timing(mode=mode, latency=latency, latency_promised=5, interval=1.0, interval_promised=1)


def _report(
    *complaints: str, latency: int = 5, cycles: int = 11, failed: str = ""
) -> dict[str, str]:
    """The complaint of each case of a stream unit's report."""
    found = Report(
        unit="unit",
        simulator="verilator",
        seed=7,
        operations=20,
        cycles=cycles,
        cycles_promised=11,
        timings=[_timing("fp16", 5), _timing("fp32", latency)],
        complaints=list(complaints),
        kinds=Counter({"fp16": 6, "illegal": 4}),
        failed=failed,
    )
    found.complaints.extend(found.timing_complaints())
    cases = found.cases()
    # Every complaint is in one case.
    assert [text for case in cases for text in [case.complaint] if text] == found.complaints
    return {case.name: case.complaint for case in cases}


@pytest.mark.parametrize(
    ("given", "name", "complaint"),
    [
        ({}, "", ""),
        ({"cycles": 12}, "back to back", BACK_TO_BACK),
        ({"latency": 6}, "timing of fp32", TIMING),
    ],
)
def test_a_case_for_each_fault(given: dict[str, int], name: str, complaint: str) -> None:
    names = ["random operations", "operations: fp16", "operations: illegal", "back to back"]
    expected = dict.fromkeys([*names, "timing of fp16", "timing of fp32"], "")
    assert _report(**given) == (expected | {name: complaint} if name else expected)  # type: ignore[arg-type]


def test_wrong_results() -> None:
    """Attributes wrong results to their kind if it is known, else to the run."""
    assert _report(MISMATCH, failed="illegal")["operations: illegal"] == MISMATCH
    assert _report(MISMATCH, failed="illegal")["random operations"] == ""
    assert _report(MISMATCH)["random operations"] == MISMATCH


def test_the_file(tmp_path: Path) -> None:
    report = JobsReport(
        unit="unit",
        simulator="verilator",
        seed=7,
        jobs=3,
        operations=20,
        cycles=100,
        complaints=["word <3> & \x00 differs"],
        kinds=Counter({"rows": 2, "outer": 1}),
        failed="outer",
    )
    path = tmp_path / "found.xml"
    write_junit(path, report, CONFIG, count=30, seconds=1.5)
    root = ElementTree.parse(path).getroot()
    (suite,) = root
    totals = {"tests": "3", "failures": "1", "errors": "0", "time": "1.500"}
    assert root.attrib == {"name": "tilewright simulate", **totals}
    assert suite.attrib == {"name": "unit", **totals}
    properties = {one.get("name"): one.get("value") for one in suite.iter("property")}
    wanted = {"simulator": "verilator", "seed": "7", "count": "30", "rows": "4"}
    assert properties.items() >= {**wanted, "modes": "fp16,fp32"}.items()
    names = [one.get("name") for one in suite.iter("testcase")]
    assert names == ["random jobs", "jobs: outer", "jobs: rows"]
    (failure,) = suite.iter("failure")
    assert failure.get("message") == "word <3> & ? differs"
    assert failure.text == "word <3> & ? differs\nseed 7, --count 30"
    assert "3 jobs with 20 operations in all" in "".join(suite.itertext())


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    report = JobsReport(unit="u", simulator="icarus", seed=0, jobs=1, operations=1, cycles=1)
    path = tmp_path / "nowhere" / "found.xml"
    with pytest.raises(UserError, match=f"^{path}: cannot be written: "):
        write_junit(path, report, {}, count=1, seconds=0.0)
