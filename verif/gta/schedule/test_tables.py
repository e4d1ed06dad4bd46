"""The tables of GTA's schedules."""

from __future__ import annotations

import re
from math import prod
from pathlib import Path
from typing import Any

import pytest
from tilewright.errors import UserError
from tilewright.hw.spec.gta import GtaConfig
from tilewright.sim.gta.baseline_units import vector_unit_cost
from tilewright.sim.gta.nine_workloads import LAYERS, WORKLOADS, forward
from tilewright.sim.gta.schedule.explain import choose, space
from tilewright.synth.tables import Row
from tilewright.tables.gta.schedules import gta_schedules
from tilewright.tables.gta.workloads import COLUMNS, gta_workloads
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
        gta_workloads("cmos", only="FFL", settings=[f"float_adders={adders}"]).rows[0].ours
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
