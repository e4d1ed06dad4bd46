"""The table of the area of GTA's lane: what it adds up, and its shape on few formats."""

from __future__ import annotations

from typing import Any

import pytest
from tilewright.errors import UserError
from tilewright.hw.gta.float.row_adder import RowAdder
from tilewright.hw.spec.gta import FORMATS_OF_GTA
from tilewright.synth.report import AsicReport, PathReport
from tilewright.synth.tables import gta_parts, measure
from tilewright.synth.tables.gta import gta_area
from tilewright.tables.gta.area import area
from tilewright.verif.tables.made_up import made_up, ours_of

UNITS = {name: 100.0 + number for number, name in enumerate(FORMATS_OF_GTA)}
"""Made-up areas of the separate units of each format."""


def _report(unit: str, parts: dict[str, tuple[int, float, int]], area: float, **of: Any) -> Any:
    report = made_up(unit, "cmos", parts, area=area, memory_bits=0, buffer_area=0.0, **of)
    path = PathReport(
        kind="a kind", start="a", end="b", ns=area / 1000, fo4=area / 100, fmax_mhz=1.0, cells=1,
        opensta_ns=None,
    )  # fmt: skip
    object.__setattr__(report, "path", path)
    return report


def _separate(unit: Any, config: Any, target: str, **_: bool) -> AsicReport:
    names = ["format_unit", *(f"format_unit_{n}" for n in range(2, 9))]
    parts = {
        number: (1, UNITS[name], 0) for number, name in zip(names, config.formats, strict=False)
    }
    area = sum(area for _, area, _ in parts.values()) + 100 * config.pipeline
    return _report(unit.name, parts, area, config=config.resolved())


def _component(name: str, component: Any, target: str, *, together: bool = True) -> AsicReport:
    component._MustUse__silence = True
    config = component.config
    formats = len(config.formats)
    if name == "lane_cluster":
        inside = {"limb_element": (256, 2.0, 0), "multi_precision_accumulator": (4, 30.0, 0)}
        inside |= {"float_back": (4, 50.0, 0), "row_adder": (32, 6.0, 0)}
        inside |= {"float_accumulate": (32, 5.0, 0), "lane": (4, 300.0, 0)}
        return _report(name, inside, 4 * 300.0 + 12)
    if name == "row_adder":
        assert isinstance(component, RowAdder)
        return _report(name, {}, 10.0 * config.adder_stages - 5 * component.number)
    areas = {"limb_element": 1.0 + formats, "accumulator": 30.0 + formats, "float_back": 400.0}
    assert together == (name == "limb_element")
    return _report(name, {}, areas[name])


def test_the_figures_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "synthesize", _separate)
    monkeypatch.setattr(gta_parts, "measure_component", _component)
    said: list[str] = []
    table = gta_area("cmos", progress=said.append, float_adders=16)
    whole = sum(UNITS.values()) + 200

    def share(area: float, of: float = whole) -> list[Any]:
        return pytest.approx([area, 100 * area / of, 0, 0])  # type: ignore[return-value]

    assert ours_of(table, "separate units, 1 stage")[0] == whole - 100
    assert ours_of(table, "separate units, 3 stages")[0] == whole + 100
    timed = pytest.approx([whole, 100, whole / 1000, whole / 100])
    assert ours_of(table, "separate units, 2 stages") == timed
    assert ours_of(table, "an element of the array")[::2] == pytest.approx([9, 0.009])
    assert ours_of(table, "array of 64 elements") == share(64 * 9)
    array = 64 * 9 + 38
    assert ours_of(table, "array and multi-precision accumulator") == share(array)
    assert ours_of(table, "the same with fused adders") == share(array + 400)
    # A lane of 300, of which 64 elements of 2, an accumulator and adders are not control.
    control = 300 - 64 * 2 - 30 - 50
    label = "the same with feeders, results and control of the lane"
    assert ours_of(table, label) == share(array + 400 + control)
    assert ours_of(table, "the same with what joins the lanes") == share(array + 400 + control + 3)
    assert ours_of(table, "of the lane: elements") == share(64 * 2)
    assert ours_of(table, "of the lane: rows' adders") == share(8 * 5)
    assert ours_of(table, "of the lane: what picks products and keeps sums") == share(8 * (6 - 5))
    assert ours_of(table, "of the lane: what joins rows' adders") == share(50 - 8 * 6)
    others = 300 - 64 * 2 - 30 - 50
    assert ours_of(table, "of the lane: others") == share(others)
    assert not [row.label for row in table.rows if "feeders of" in row.label]
    for stages in (1, 2, 3):
        label = f"a fused adder of a row, {stages} stage{'s' if stages > 1 else ''}"
        assert ours_of(table, label)[0] == 10 * stages
    # Two adders a row, the second of which is smaller.
    everything = array + 8 * (20 + 15)
    for name in FORMATS_OF_GTA:
        left = ours_of(table, f"separate units without {name}")
        assert left == share(whole - UNITS[name])
        left = ours_of(table, f"array and adders without {name}")
        assert left == share(everything - 65, everything)
    paper = {row.label: row.paper[1] for row in table.rows if row.paper[1]}
    assert list(paper.values()) == [60.76, 100.0, 106.06]
    assert len(said) == len(set(said))


def test_the_table_takes_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "synthesize", _separate)
    monkeypatch.setattr(gta_parts, "measure_component", _component)
    table = area("cmos", settings=["formats=int8", "lanes=2"])
    assert ours_of(table, "array of 64 elements")[0] == 64 * 2
    labels = {row.label for row in table.rows}
    assert "separate units without int8" in labels
    assert not [label for label in labels if "int16" in label or "a fused adder" in label]
    message = "gta: `partial_bits` must be an integer in 20..64, not 70"
    with pytest.raises(UserError, match=f"^{message}$"):
        area("cmos", settings=["partial_bits=70"])


@pytest.mark.long
def test_a_small_table() -> None:
    """Of few formats: parts that there are not cost nothing."""
    table = gta_area("cmos", formats=("int8", "bf16"), lanes=1, partial_bits=20, vector_bytes=2048)
    whole = ours_of(table, "the same with what joins the lanes")[0]
    assert 0 < ours_of(table, "array and multi-precision accumulator")[0] < whole
    element, array = (
        ours_of(table, label)[0] for label in ("an element of the array", "array of 64 elements")
    )
    assert array == 64 * element
    without = [ours_of(table, f"array and adders without {name}")[0] for name in ("int8", "bf16")]
    assert min(without) > 0
    assert ours_of(table, "separate units without int8")[0] > 0
