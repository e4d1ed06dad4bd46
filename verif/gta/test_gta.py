"""GTA's RTL from end to end: in cocotb, on cocotbext-axi's memory and on our own; and what the
command that simulates it counts."""

from __future__ import annotations

import pytest
from tilewright.hw.spec.gta import GTA
from tilewright.verif.gta import jobs
from tilewright.verif.gta.devices import DEVICES
from tilewright.verif.gta.simulate import run
from tilewright.verif.kit.sampling import slow_but


@pytest.mark.parametrize("name", slow_but(["tiny"], ["tiny", "all"]))
def test_simulate_counts_jobs(name: str) -> None:
    """Runs the requested number of jobs, of every format, on memories of both kinds."""
    config = DEVICES[name].config
    report = run(GTA, config, seed=5, count=40)
    assert report.passed
    assert (report.jobs, sum(report.kinds.values())) == (40, 40)
    found = dict.fromkeys(config.formats, 0)
    for (_, what), count in report.coverage.items():
        if what.startswith("results of "):
            found[what.rpartition(", ")[2]] += count
    assert list(found) == list(config.formats)
    assert sum(found.values()) == report.operations > 0
    modes = {mode for mode, _ in report.coverage}
    assert modes == {"ideal", "rough"}
    assert sum(report.coverage[mode, "jobs"] for mode in modes) == report.jobs


def test_simulate_finds_a_wrong_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job with a wrong result is not counted, and no job follows it."""
    right = jobs.pgemm
    monkeypatch.setattr(jobs, "pgemm", lambda *given, **named: right(*given, **named) ^ 1)
    report = run(GTA, DEVICES["tiny"].config, seed=5, count=30)
    assert not report.passed
    assert (report.jobs, report.operations) == (1, 0)
    assert "words are wrong" in report.complaints[0]
    (wrong,) = (case for case in report.cases() if case.complaint)
    assert wrong.name.startswith("jobs: products, ")
