"""The nine workloads, reduced, on the RTL."""

from __future__ import annotations

from pathlib import Path

import pytest
from tilewright.errors import UserError
from tilewright.hw.spec.gta import GtaConfig
from tilewright.sim.gta.workloads.nine import WORKLOADS
from tilewright.sim.gta.workloads.reduced import reduced
from tilewright.tables.gta import workloads_rtl
from tilewright.tables.gta.workloads_rtl import COLUMNS, MOST, gta_workloads_rtl
from tilewright.verif.gta.devices import DEVICES
from tilewright.verif.kit.pages import page

pytestmark = pytest.mark.long


def settings(config: GtaConfig) -> list[str]:
    """As the command line has them."""
    chosen = config.resolved().items()
    return [f"{k}={','.join(v) if isinstance(v, list | tuple) else v}" for k, v in chosen]


@pytest.mark.parametrize("name", WORKLOADS)
def test_reduced_sizes(name: str) -> None:
    """Every p-GEMM has its part of the multiplications, and no size that is larger; halves of none
    would do."""
    whole = WORKLOADS[name]
    small = reduced(whole, MOST)
    each = MOST // len(whole.parts)
    assert 0 < len(small.parts) <= len(whole.parts)
    assert small.format == whole.format
    for _, part in small.parts:
        assert part.limb_products <= each
        assert max(part.m, part.n, part.k) <= 2048
    assert any(
        4 * part.limb_products > each or 4 * max(part.m, part.n, part.k) > 2048
        for _, part in small.parts
    )
    # What is small enough stays as it is.
    assert reduced(small, MOST * len(small.parts)).parts == small.parts


@pytest.mark.slow
def test_some_workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of int8 on the smallest configuration."""
    monkeypatch.setattr(workloads_rtl, "MOST", 1 << 16)
    told: list[str] = []
    table = gta_workloads_rtl("cmos", told.append, settings=settings(DEVICES["tiny"].config))
    assert told == ["building gta", "RGB", "ALI"]
    assert [row.label for row in table.rows] == ["RGB, int8", "ALI, int8"]
    for row in table.rows:
        found = {name: x or 0.0 for name, x in zip(COLUMNS, row.ours, strict=True)}
        assert found["wrong results"] == 0
        assert found["cycles of jobs"] == found["by the cycle model"]
        assert found["with the array at work"] < found["cycles of jobs"]
        products, lanes = 1e3 * found["thousand limb products"], 2
        assert products <= found["array model"] * 64 * lanes
        assert found["busy, %"] == 100 * products / (found["cycles of jobs"] * 64 * lanes)


@pytest.mark.long
def test_all_workloads() -> None:
    """As the page has them."""
    table = gta_workloads_rtl("cmos")
    assert [row.label.split(",")[0] for row in table.rows] == list(WORKLOADS)
    text = Path(page("gta-applications.md")).read_text()
    for row in table.rows:
        found = dict(zip(COLUMNS, row.ours, strict=True))
        assert found["wrong results"] == 0
        assert found["cycles of jobs"] == found["by the cycle model"]
        assert f"| {row.label} | {' | '.join(row.cells(row.ours))} |" in text


@pytest.mark.parametrize(
    ("target", "only", "message"),
    [
        ("ice40", "", "gta-workloads-rtl is measured in simulation: no --target, not 'ice40'"),
        ("cmos", "PCB", "--only must be part of one of BNM, RGB, FFE, MD, PCA, ALT, ALI, FFL, NeRF "
         "whose format the configuration has, not 'PCB'"),
    ],
)  # fmt: skip
def test_refusals(target: str, only: str, message: str) -> None:
    with pytest.raises(UserError) as refused:
        gta_workloads_rtl(target, only=only)
    assert str(refused.value) == message
