"""The table of MatRaptor's area: what it adds up, and its shape on a small configuration."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.synth.memory_area import BIT_TRANSISTORS, BIT_UM2
from tilewright.synth.report import AsicReport
from tilewright.synth.tables import Row, Table, matraptor_area, measure
from tilewright.verif.tables.made_up import made_up, ours_of

TINY: dict[str, Any] = {
    "lanes": 1, "channels": 1, "queues": 3, "queue_depth": 64, "value": "fp16", "outstanding": 2,
}  # fmt: skip
PARTS = (
    "processing elements",
    "A loaders",
    "B loaders",
    "row writers",
    "burst writers",
    "crossbar",
    "registers and counters",
    "control and the rest",
    "buffers of high fan-out",
)


def _row(table: Table, label: str) -> Row:
    return next(row for row in table.rows if row.label == label)


def _check_shape(table: Table, target: str) -> None:
    found = json.loads(json.dumps(table.to_json()))
    assert list(found) == ["table", "target", "columns", "rows"]
    assert (found["table"], found["target"]) == ("matraptor-area", target)
    assert len(found["columns"]) == 7
    assert len({row["label"] for row in found["rows"]}) == len(found["rows"]) == 20
    for row in found["rows"]:
        assert len(row["paper"]) == len(row["ours"]) == 7
    # The parts are the whole, and so are their shares.
    for column in (0, 1, 2, 3, 4, 5):
        parts = sum(ours_of(table, label)[column] for label in PARTS)
        assert parts == pytest.approx(ours_of(table, "whole")[column])
    assert ours_of(table, "whole")[5] == pytest.approx(100)
    assert sum(ours_of(table, label)[6] for label in PARTS[:3]) == pytest.approx(100)
    assert _row(table, "processing elements").paper[6] == 88.44
    assert _row(table, "processing elements, queues").paper[1] == 8 * 10 * 8 * 2**10 * 8
    element = ours_of(table, "processing elements")
    logic, queues = (ours_of(table, f"processing elements, {x}")[3] for x in ("logic", "queues"))
    assert logic + queues == pytest.approx(element[3])


def _report(unit: str, config: Any, target: str, **_: bool) -> AsicReport:
    """A made-up report of two lanes: each part's logic has an area of its own."""
    assert (unit, config) == ("matraptor", MatRaptorConfig(lanes=2, channels=2))
    parts: dict[str, tuple[int, float, int]] = {
        "processing_element": (2, 100.0, 10000),
        "sparse_a_loader": (2, 20.0, 1000),
        "sparse_b_loader": (2, 30.0, 2000),
        "c2sr_row_writer": (2, 5.0, 0),
        "write_manager": (2, 7.0, 0),
        "read_crossbar": (1, 11.0, 0),
        "axi_lite_registers": (1, 3.0, 0),
        "counters": (1, 2.0, 0),
        "multiply_stage": (2, 40.0, 0),
        "adder_tree": (1, 8.0, 0),
        "adder_tree_2": (1, 10.0, 0),
        "row_merge": (2, 25.0, 0),
        "partial_row_merge": (2, 15.0, 0),
    }
    return made_up(unit, target, parts, area=360.0, memory_bits=26500, buffer_area=10.0)


@pytest.mark.parametrize("target", ["cmos", "liberty:made up"])
def test_the_figures_of_the_table(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.setattr(measure, "synthesize", _report)
    monkeypatch.setattr(measure, "target_library", lambda _: "made up")
    seen: list[str] = []
    table = matraptor_area(target, lanes=2, channels=2, progress=seen.append)
    assert len(seen) == 1
    _check_shape(table, target)
    scale, bit = (1.0, BIT_TRANSISTORS) if target == "cmos" else (1e-6, BIT_UM2)
    element = 200 + 20000 * bit
    loaders = 40 + 2000 * bit, 60 + 4000 * bit
    whole = 360 + 26500 * bit
    ours = ours_of(table, "processing elements")
    assert ours[:2] == pytest.approx([200 * scale, 20000])
    assert ours[2:5] == pytest.approx([20000 * bit * scale, element * scale, element * scale / 2])
    assert ours[5:] == pytest.approx(
        [100 * element / whole, 100 * element / (element + sum(loaders))]
    )
    rest = 350 - 200 - 40 - 60 - 10 - 14 - 11 - 5
    assert ours_of(table, "control and the rest")[:2] == pytest.approx([rest * scale, 500])
    assert ours_of(table, "buffers of high fan-out")[0] == pytest.approx(10 * scale)
    assert ours_of(table, "  phase II, adder tree, logic")[0] == pytest.approx(18 * scale)
    paper = _row(table, "processing elements").paper
    if target == "cmos":
        # Areas in transistors are nothing to compare with.
        assert list(paper) == [None, 5242880, None, None, None, None, 88.44]
    else:
        assert list(paper) == [0.080, 5242880, 1.901, 1.981, None, None, 88.44]


@pytest.mark.long
def test_a_small_table() -> None:
    table = matraptor_area("cmos", **TINY)
    _check_shape(table, "cmos")
    # Two sets of three queues of entries of six bytes.
    assert ours_of(table, "processing elements")[1] == 2 * 3 * 64 * 48
    for label in PARTS:
        assert ours_of(table, label)[0] > 0
    logic = ours_of(table, "processing elements, logic")[0]
    names = ("multiplication", "phase I, merging", "sorting queues, both sets", "phase II")
    inside = [ours_of(table, f"  {name}, logic")[0] for name in names]
    assert all(x > 0 for x in inside)
    assert sum(inside) < logic


def test_a_wrong_parameter() -> None:
    with pytest.raises(ValueError, match=r"^`queues` must be an integer in 3\.\.16, not 2$"):
        matraptor_area("cmos", queues=2)
