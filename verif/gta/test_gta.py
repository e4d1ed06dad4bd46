"""GTA's RTL from end to end: in cocotb, on cocotbext-axi's memory and on our own; and what the
command that simulates it counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.gta import GTA, GtaConfig
from tilewright.hw.spec.jobs.gta import job_spec
from tilewright.sim.gta.model import GtaModel
from tilewright.verif.bench.device import AxiDevice
from tilewright.verif.gta import jobs
from tilewright.verif.gta.devices import DEVICES
from tilewright.verif.gta.jobs import check_product, random_case
from tilewright.verif.gta.simulate import run
from tilewright.verif.kit.job_checks import register_answers
from tilewright.verif.kit.sampling import slow_but

MEMORY_BYTES = 1 << 17
CONFIGS = {
    "tiny": DEVICES["tiny"].config,
    "two channels": GtaConfig(
        lanes=1,
        formats=("int8", "int32", "fp16"),
        vector_bytes=2048,
        outstanding=4,
        mask_bits=1,
        data_bits=64,
    ),
}
BENCHES = [("tiny", True), ("tiny", False), ("two channels", True), ("two channels", False)]


@pytest.mark.parametrize("bench", slow_but([], BENCHES, BENCHES[:2]))
def test_products(bench: tuple[str, bool]) -> None:
    """Registers are those of the table; products on a memory that pauses, bit for bit, and of ours
    in any order, with READY that waits for VALID."""
    name, axi_ram = bench
    config, rng = CONFIGS[name], np.random.default_rng(1)
    settings: dict[str, Any] = {"stall": 0.3, "lite_stall": 0.3, "axi_ram": axi_ram}
    with AxiDevice(
        emit(GTA, config),
        config,
        outstanding=config.outstanding,
        memory_bytes=MEMORY_BYTES,
        **settings,
    ) as device:
        registers = job_spec(config).registers
        found = register_answers(device, registers)
        assert found == register_answers(GtaModel(config, MEMORY_BYTES), registers)
        flows = (("int8", "ws"), ("int32", "is"), ("int32", "os"), ("fp16", "os"))
        for seed, (format, flow) in enumerate(flows):
            if not axi_ram:
                stall = 0.3 * (seed % 2)
                device.behave(seed=seed, latency=(1, 30), stall=stall, mixed=True, modes=True)
            format = format if format in config.formats else "int8"
            check_product(device, random_case(rng, config, most=20, format=format, dataflow=flow))
        assert device.faults == []


@pytest.mark.parametrize("name", slow_but(["tiny"], ["tiny", "all"]))
def test_simulate_counts_jobs(name: str) -> None:
    """As many as asked for, of every format, on memories of both kinds."""
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
    """Nothing is counted of a job that errs, and no job follows it."""
    right = jobs.pgemm
    monkeypatch.setattr(jobs, "pgemm", lambda *given, **named: right(*given, **named) ^ 1)
    report = run(GTA, DEVICES["tiny"].config, seed=5, count=30)
    assert not report.passed
    assert (report.jobs, report.operations) == (1, 0)
    assert "words are wrong" in report.complaints[0]
    (wrong,) = (case for case in report.cases() if case.complaint)
    assert wrong.name.startswith("jobs: products, ")
