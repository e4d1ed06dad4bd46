"""The tables of GTA's schedules, and of its vectors on the RTL."""

from __future__ import annotations

import re
from math import prod
from pathlib import Path
from typing import Any

import pytest
from tilewright.errors import UserError
from tilewright.hw.spec.gta import FORMATS_OF_GTA, GtaConfig
from tilewright.hw.spec.jobs.gta_vector import octet_cycles
from tilewright.sim.gta.baseline_units import vector_unit_cost
from tilewright.sim.gta.model import GtaModel
from tilewright.sim.gta.nine_workloads import LAYERS, WORKLOADS, forward
from tilewright.sim.gta.schedule.explain import choose, space
from tilewright.synth.tables import Row
from tilewright.tables.gta import repeated
from tilewright.tables.gta.repeated import RepeatedDriver
from tilewright.tables.gta.schedules import gta_schedules
from tilewright.tables.gta.simd import COLUMNS as SIMD_COLUMNS
from tilewright.tables.gta.simd import PAPER, SEPARATE, gta_simd
from tilewright.tables.gta.workloads import COLUMNS, gta_workloads
from tilewright.verif.gta.devices import settings
from tilewright.verif.kit.pages import page
from tilewright.verif.kit.plots import panels, points
from tilewright.verif.kit.sampling import by_size, slow_but

PAGE = page("gta-schedules.md")
FEW = ["BNM", "FFE", "PCA", "FFL", "NeRF"]


def test_a_workload() -> None:
    told: list[str] = []
    table = gta_workloads("cmos", told.append, only="FFE")
    assert told == ["FFE"]
    (row,) = table.rows
    assert row.label == "FFE, int16"
    (_, part), *_ = WORKLOADS["FFE"].parts
    ours = choose(GtaConfig(), part)
    theirs = vector_unit_cost(GtaConfig(), part)
    figures = dict(zip(COLUMNS[:5], row.ours, strict=False))
    assert figures == {
        "million cycles": ours.cost.cycles / 1e6,
        "busy, %": pytest.approx(100 * ours.utilisation),
        "vector unit: at peak": 4,
        "cycles": theirs.cycles / ours.cost.cycles,
        "accesses": theirs.accesses.total / ours.cost.accesses.total,
    }
    assert len(row.ours) == len(COLUMNS)


def check(row: Row) -> None:
    """The page has this row. No workload gains more than the number of multipliers allows, and
    accesses do not increase."""
    assert f"| {row.label} | {' | '.join(row.cells(row.ours))} |" in PAGE.read_text()
    _, busy, peak, cycles, accesses, *_ = (x or 0.0 for x in row.ours)
    assert 0 < busy <= 100
    assert cycles <= peak
    assert accesses >= 0.99


@pytest.mark.parametrize("name", slow_but([], WORKLOADS, FEW))
def test_every_workload(name: str) -> None:
    (row,) = gta_workloads("cmos", only=name).rows
    check(row)


@pytest.mark.slow
def test_means_of_workloads() -> None:
    """Means are geometric: of two workloads by default, of all in the long test, as on the page."""
    only = by_size("AL", "AL", "")
    *lines, mean = gta_workloads("cmos", only=only).rows
    assert [row.label.split(",")[0] for row in lines] == [one for one in WORKLOADS if only in one]
    for row in lines:
        check(row)
    for column in range(2, len(COLUMNS)):
        each = [row.ours[column] or 0.0 for row in lines]
        assert mean.ours[column] == pytest.approx(prod(each) ** (1 / len(each)))
    if not only:
        assert mean.paper[3:5] == [6.45, 7.76]
        assert f"| {mean.label} | {' | '.join(mean.cells(mean.ours))} |" in PAGE.read_text()


def test_what_the_papers_own_gains_allow() -> None:
    """Computes the mean, over the workloads' formats, of the gains in the paper's Table 3 over a
    vector unit."""
    gains = {"int8": 8, "int16": 4, "int32": 2, "int64": 1, "bf16": 16, "fp32": 3.56, "fp64": 1.3}
    each = [gains[workload.format] for workload in WORKLOADS.values()]
    assert prod(each) ** (1 / len(each)) == pytest.approx(3.7, abs=0.05)


def test_more_adders_help_bf16() -> None:
    """More adders speed up bf16; with 64 in a lane, the two stages of each limit a chain of
    sums."""
    few, many = (
        gta_workloads("cmos", only="FFL", settings=["adder_stages=2", f"float_adders={adders}"])
        .rows[0]
        .ours
        for adders in (8, 64)
    )
    assert (few[2], many[2]) == (2, 8)
    assert (many[3] or 0) > 3 * (few[3] or 0)


def test_schedules_and_their_drawing() -> None:
    told: list[str] = []
    table = gta_schedules("cmos", told.append, only="conv5")
    assert told == ["conv5 in int8", "conv5 in bf16", "conv5 in fp32"]
    found = space(GtaConfig(), forward(LAYERS["conv5"], 1, "int8"))
    rows = [row for row in table.rows if row.label.startswith("int8 ")]
    assert len(rows) == len(found)
    assert rows[0].label == f"int8 {choose_words()}: cover 1"
    scores = [row.ours[-1] or 0.0 for row in rows]
    assert scores == sorted(scores)
    assert scores[0] >= 2
    (axes,) = panels(table)
    drawn = points(axes)
    assert len(drawn) == len(table.rows) + 3
    assert {min(side) for side in zip(*drawn, strict=True)} == {1}


def choose_words() -> str:
    return choose(GtaConfig(), forward(LAYERS["conv5"], 1, "int8")).schedule.words


def test_a_layer_as_a_word_of_its_own() -> None:
    told: list[str] = []
    gta_schedules("cmos", told.append, files=[Path("fc8")], settings=["formats=int8"])
    assert told == ["fc8 in int8"]


@pytest.mark.parametrize(
    ("table", "given", "said"),
    [
        (gta_workloads, {"target": "ice40"},
         "gta-workloads is computed by a model: no --target, not 'ice40'"),
        (gta_workloads, {"only": "LLM"},
         "--only must be part of one of BNM, RGB, FFE, MD, PCA, ALT, ALI, FFL, NeRF, not 'LLM'"),
        (gta_workloads, {"only": "PCA", "settings": ["formats=int8"]},
         "gta: PCA needs fp64, which the configuration has not"),
        (gta_workloads, {"settings": ["lanes=3"]},
         "gta: `lanes` must be a power of two in 1..64, not 3"),
        (gta_schedules, {"only": "conv9"},
         "--only must be one of conv1, conv2, conv3, conv4, conv5, fc6, fc7, fc8, not 'conv9'"),
        (gta_schedules, {"files": [Path("conv9")]},
         "the layer must be one of conv1, conv2, conv3, conv4, conv5, fc6, fc7, fc8, not 'conv9'"),
        (gta_schedules, {"files": [Path("conv1")], "only": "conv2"},
         "gta-schedules takes one layer, not conv1 and conv2"),
        (gta_schedules, {"settings": ["formats=fp64"]},
         "gta-schedules needs one of int8, bf16, fp32"),
    ],
)  # fmt: skip
def test_what_is_refused(table: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=f"^{re.escape(said)}$"):
        table(**{"target": "cmos", **given})


def test_separate_units() -> None:
    """Separate units fill a datapath of 64 bits."""
    widths = {name: int(re.sub(r"\D", "", name)) for name in FORMATS_OF_GTA}
    assert {name: 64 // width for name, width in widths.items()} == SEPARATE
    assert tuple(PAPER) == FORMATS_OF_GTA


def test_the_page() -> None:
    """The page's figures follow from the formula, which other tests compare with the RTL."""
    text = page("gta-vectors.md").read_text()
    labels = re.findall(r"^\| (\w+(?:, \d+ adders)?) \| [\d.]+ \| [\d.]+ \| [\d.]+ \|", text, re.M)
    assert len(labels) == 4 + 2 * 4
    for label in labels:
        name, _, adders = label.removesuffix(" adders").partition(", ")
        config = GtaConfig(lanes=1, float_adders=int(adders or 8))
        mul, fma = (64 * octet_cycles(config, function, name) for function in ("mul", "fma"))
        paper = f"{PAPER[name]:g}" if adders != "8" else "-"
        gains = [f"{4096 / cycles / SEPARATE[name]:.2f}" for cycles in (mul, fma)]
        row = (
            f"| {label} | {4096 / mul:.2f} | {4096 / fma:.2f} | {gains[0]} | {paper} | {gains[1]} "
        )
        assert f"\n{row}| {mul:,} | " in text


@pytest.mark.slow
def test_the_narrowest_format() -> None:
    """Multiplications are the paper's to 1 %; what a vector takes by itself is a formula's."""
    told: list[str] = []
    table = gta_simd("cmos", told.append, settings=settings("tiny")[1::2])
    assert told == ["int8"]
    (row,) = table.rows
    assert row.label == "int8"
    assert row.paper[2] == 8
    assert len(row.ours) == len(SIMD_COLUMNS) == len(row.paper)
    assert row.ours == [64, 64, 8, 8, 32, 32, 32 + 16]


@pytest.mark.long
def test_all_formats() -> None:
    """The bar: multiplications with 64 adders are the paper's to 1 %; cycles are the formula's."""
    rows = {row.label: row for row in gta_simd("cmos").rows}
    assert len(rows) == 4 + 2 * 4
    for name in FORMATS_OF_GTA:
        floats = name not in ("int8", "int16", "int32", "int64")
        row = rows[f"{name}, 64 adders" if floats else name]
        assert row.ours[2] == pytest.approx(PAPER[name], rel=0.01)
        for adders in (8, 64) if floats else (8,):
            found = rows[f"{name}, {adders} adders"] if floats else row
            config = GtaConfig(float_adders=adders)
            expected = [64 * octet_cycles(config, function, name) for function in ("mul", "fma")]
            assert [*found.ours[4:6]] == expected


def test_a_wrong_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device with a wrong result is not measured."""
    driver = RepeatedDriver(GtaModel(GtaConfig(lanes=2), 1 << 16))
    assert driver.cycles("fma", "int16", 2, 3)["operations"] == 3
    right = repeated.octet_results
    monkeypatch.setattr(repeated, "octet_results", lambda *given: right(*given) ^ 1)
    with pytest.raises(RuntimeError, match=r"^mul of fp32 differs from the golden model$"):
        driver.cycles("mul", "fp32", 1, 2)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"target": "ice40"}, "gta-simd is simulated: no --target, not 'ice40'"),
        ({"only": "tf32"}, f"--only must be one of {', '.join(FORMATS_OF_GTA)}, not 'tf32'"),
        ({"settings": ["lanes=3"]}, "gta: `lanes` must be a power of two in 1..64, not 3"),
        (
            {"only": "int16", "settings": ["vector_bytes=16384"]},
            "`vector_bytes` must be enough for 4096 elements of int16, not 16384",
        ),
    ],
)
def test_what_is_refused_of_vectors(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=f"^{re.escape(said)}$"):
        gta_simd(**{"target": "cmos", **given})
