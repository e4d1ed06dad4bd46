"""The table of Tensaurus' area: what it adds up, and its shape on the smallest configuration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tilewright.cli import main
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.synth.memory_area import BIT_TRANSISTORS, BIT_UM2
from tilewright.synth.report import AsicReport
from tilewright.synth.tables import measure, tensaurus_area
from tilewright.synth.tables.tensaurus import SMALL
from tilewright.verif.tables.made_up import made_up, ours_of

COUNTED = {
    "processing elements": (4 * 100.0, 0),
    "crossbars and their arbiters": (3 * 10.0 + 2 * 3.0, 0),
    "scratchpads": (0.0, 3 * 4096),
    "matrix store unit": (50.0, 8192),
    "tensor load unit": (30.0, 1000),
    "matrix load unit": (20.0, 500),
}
"""Of the made-up report: logic and bits of the parts that the paper counts."""

OTHERS = {
    "rows: decoders, heads, operand windows": (2 * 40.0, 0),
    "list of tiles": (15.0, 0),
    "bus, one reader after the other": (2 * 4.0, 0),
    "registers, control and counters": (5.0 + 6.0 + 7.0, 0),
    "what joins these": (16.0, 300),
    "buffers of high fan-out": (12.0, 0),
}

EVERYTHING = {**COUNTED, **OTHERS}


def _report(unit: str, config: Any, target: str, **_: bool) -> AsicReport:
    """Each part's logic has an area of its own."""
    parts: dict[str, tuple[int, float, int]] = {
        "processing_element": (4, 100.0, 0),
        "row": (2, 40.0, 0),
        "scratchpad": (2, 10.0, 4096),
        "scratchpad_2": (1, 10.0, 4096),
        "wave_arbiter": (2, 3.0, 0),
        "matrix_store": (1, 50.0, 8192),
        "tensor_loader": (1, 30.0, 1000),
        "matrix_loader": (1, 20.0, 500),
        "tile_fetcher": (1, 15.0, 0),
        "read_interconnect": (2, 4.0, 0),
        "axi_lite_registers": (1, 5.0, 0),
        "control": (1, 6.0, 0),
        "counters": (1, 7.0, 0),
        "row_head": (2, 25.0, 0),
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
    table = tensaurus_area(target)
    assert [row.label for row in table.rows[-2:]] == ["whole", "what the paper counts"]
    assert {row.label for row in table.rows[:-2]} == set(EVERYTHING)
    scale, bit = (1.0, BIT_TRANSISTORS) if target == "cmos" else (1e-6, BIT_UM2)

    def area(parts: dict[str, tuple[float, int]]) -> float:
        return sum(logic + bits * bit for logic, bits in parts.values()) * scale

    for label, (logic, bits) in EVERYTHING.items():
        found = ours_of(table, label)
        assert found[:2] == pytest.approx([logic * scale, bits])
        assert found[3] == pytest.approx(found[0] + found[2])
        assert found[4] == pytest.approx(100 * found[3] / area(EVERYTHING))
        share = 100 * found[3] / area(COUNTED) if label in COUNTED else 0
        assert found[5] == pytest.approx(share)
    assert ours_of(table, "whole")[3:5] == pytest.approx([area(EVERYTHING), 100])
    counted = table.rows[-1]
    assert counted.ours[5] == pytest.approx(100)
    # 288 KiB of scratchpads and 256 KiB of output, where the paper's text says 512.
    assert counted.paper[1] == 544 * 1024 * 8
    assert counted.paper[3] == (None if target == "cmos" else 2.3)


def test_the_paper_s_size_is_the_default_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is not put together: no buffers of nets that cross modules."""
    seen: list[tuple[object, bool]] = []

    def synthesize(unit: str, config: Any, target: str, *, together: bool) -> AsicReport:
        seen.append((config, together))
        found = _report(unit, config, target)
        return found if together else replace(found, buffer_area=0.0, timing_by="")

    monkeypatch.setattr(measure, "synthesize", synthesize)
    labels = {row.label for row in tensaurus_area("cmos", full=True).rows}
    assert set(EVERYTHING) - labels == {"buffers of high fan-out"}
    tensaurus_area("cmos", rows=1)
    whole = TensaurusConfig()
    assert seen == [(whole, False), (TensaurusConfig(**{**SMALL, "rows": 1}), True)]
    scratchpads = (whole.cols + 1) * 2 * whole.spm_bytes
    assert scratchpads + 2 * whole.out_bytes == 544 * 1024


def test_tables_of_one_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "simd2-area", "--full"]) == 2
    assert capsys.readouterr().err == (
        "error: simd2-area takes no --full; its options are --target, --json\n"
    )


@pytest.mark.long
def test_a_small_table() -> None:
    table = tensaurus_area("cmos", cols=1, vlen=1, channels=1, rows=1, spm_bytes=512, value="fp16")
    for label in EVERYTHING:
        assert ours_of(table, label)[3] > 0, label
    parts = sum(ours_of(table, label)[3] for label in EVERYTHING)
    assert parts == pytest.approx(ours_of(table, "whole")[3])
