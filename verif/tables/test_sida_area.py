"""The table of SIDA's area: what it adds up, and its shape on a small configuration."""

from __future__ import annotations

from typing import Any

import pytest
from tilewright.hw.spec.sida import SidaConfig
from tilewright.synth.memory_area import BIT_TRANSISTORS, BIT_UM2
from tilewright.synth.report import AsicReport
from tilewright.synth.tables import measure, sida_area
from tilewright.synth.tables.sida import SMALL
from tilewright.verif.tables.made_up import made_up, ours_of

EVERYTHING: dict[str, tuple[float, int]] = {
    "columns from memory": (100.0, 500),
    "rows from memory again": (90.0, 400),
    "x and z, and who reads them": (80.0, 4096),
    "sums of columns, both products": (70.0, 0),
    "elements that wait, and w": (60.0, 8192),
    "element-wise core": (50.0 + 5.0 + 4.0 + 3.0, 300),
    "vectors and programs from and to memory": (30.0 + 20.0 + 10.0, 0),
    "registers, control and counters": (1.0 + 2.0 + 3.0 + 4.0, 0),
    "what joins these": (16.0, 100),
    "buffers of high fan-out": (12.0, 0),
}
"""Of the made-up report: logic and bits of the parts."""


def _report(unit: str, config: Any, target: str, **_: bool) -> AsicReport:
    """Each part's logic has an area of its own."""
    parts: dict[str, tuple[int, float, int]] = {
        "column_loader": (1, 100.0, 500),
        "row_loader": (1, 90.0, 400),
        "gather": (1, 80.0, 4096),
        "both_sums": (1, 70.0, 0),
        "held_elements": (1, 60.0, 8192),
        "ewise_core": (1, 50.0, 300),
        "row_packer": (1, 5.0, 0),
        "sum_rows": (1, 4.0, 0),
        "scalar_port": (1, 3.0, 0),
        "vector_loader": (1, 30.0, 0),
        "vector_writer": (1, 20.0, 0),
        "program_loader": (1, 10.0, 0),
        "axi_lite_registers": (1, 1.0, 0),
        "control": (1, 2.0, 0),
        "pass_control": (1, 3.0, 0),
        "counters": (1, 4.0, 0),
        "row_lane": (8, 7.0, 0),
    }
    area = sum(logic for logic, _ in EVERYTHING.values())
    bits = sum(bits for _, bits in EVERYTHING.values())
    return made_up(
        unit, target, parts, area=area, memory_bits=bits, buffer_area=12.0, config=config.resolved()
    )


@pytest.mark.parametrize("target", ["cmos", "liberty:made up"])
def test_the_figures_of_the_table(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.setattr(measure, "synthesize", _report)
    monkeypatch.setattr(measure, "target_library", lambda _: "made up")
    table = sida_area(target)
    assert {row.label for row in table.rows[:-2]} == set(EVERYTHING)
    scale, bit = (1.0, BIT_TRANSISTORS) if target == "cmos" else (1e-6, BIT_UM2)
    whole = sum(logic + bits * bit for logic, bits in EVERYTHING.values()) * scale
    for label, (logic, bits) in EVERYTHING.items():
        found = ours_of(table, label)
        assert found[:2] == pytest.approx([logic * scale, bits])
        assert found[3] == pytest.approx(found[0] + found[2])
        assert found[4] == pytest.approx(100 * found[3] / whole)
    assert ours_of(table, "whole")[3:] == pytest.approx([whole, 100])
    memories = table.rows[-1]
    assert memories.ours[1] == 4096 + 8192
    assert memories.paper[3] == (None if target == "cmos" else 200)
    assert memories.paper[4] == pytest.approx(57.47, abs=0.01)


def test_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless something else is asked for; of the default modules are not put together."""
    seen: list[tuple[object, bool]] = []

    def synthesize(unit: str, config: Any, target: str, *, together: bool) -> AsicReport:
        seen.append((config, together))
        return _report(unit, config, target)

    monkeypatch.setattr(measure, "synthesize", synthesize)
    sida_area("cmos", full=True)
    sida_area("cmos", pes=8)
    assert seen == [(SidaConfig(), False), (SidaConfig(**{**SMALL, "pes": 8}), True)]


@pytest.mark.long
def test_a_small_table() -> None:
    table = sida_area("cmos", channels=1, value="fp16", semirings=("mma",))
    for label in EVERYTHING:
        assert ours_of(table, label)[3] > 0, label
    parts = sum(ours_of(table, label)[3] for label in EVERYTHING)
    assert parts == pytest.approx(ours_of(table, "whole")[3])
