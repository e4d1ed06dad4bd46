"""The lane with separate units: model against others' arithmetic, RTL against the model."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.clocks import ReachedClock
from tilewright.errors import UserError
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.gta.float.row_adder import RowAdder
from tilewright.hw.gta.separate.separate import IntegerMultiplyAdd
from tilewright.hw.spec.formats import FORMATS, FloatFormat
from tilewright.hw.spec.gta import FORMATS_OF_GTA
from tilewright.hw.spec.gta_lane.separate import GTA_SEPARATE, GtaSeparateConfig, elements, sum_bits
from tilewright.registry import entries
from tilewright.sim.gta.separate import golden, multiply_add
from tilewright.sim.rtl.streams import NativeSimulation, Pauses
from tilewright.synth.report import AsicReport, PathReport
from tilewright.synth.tables import gta_parts, measure
from tilewright.synth.tables.gta import gta_area
from tilewright.tables.gta import verdict
from tilewright.tables.gta.simd import area
from tilewright.tables.gta.verdict import gta_verdict
from tilewright.tables.gta.workloads import gta_workloads
from tilewright.verif.gta.float.exact_sums import accumulated, exactly
from tilewright.verif.gta.separate.simulate import mixed_operations, packed, run
from tilewright.verif.gta.separate.stimuli import KINDS, operands, operations
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import cases, slow_but
from tilewright.verif.tables.made_up import made_up, ours_of

ENTRY = entries()["gta_separate"]

BUILDS: dict[str, dict[str, Any]] = {
    "small": dict(ENTRY.small),
    **{f"stages {stages}": {"pipeline": stages} for stages in (1, 2, 3)},
    **{name: {"formats": (name,), "pipeline": 3} for name in FORMATS_OF_GTA},
}


def signed(word: int, bits: int) -> int:
    """A word in two's complement."""
    return int.from_bytes(word.to_bytes(bits // 8, "little"), "little", signed=True)


@pytest.mark.parametrize("name", FORMATS_OF_GTA)
@pytest.mark.parametrize("kind", KINDS)
def test_the_model_by_arithmetic_of_others(name: str, kind: str) -> None:
    """Python's integers; SoftFloat, and exact fractions for some."""
    fmt = FORMATS[name]
    a, b, c = operands(name, kind, cases(10_000), np.random.default_rng(61))
    found = multiply_add(name, a, b, c)
    if isinstance(fmt, FloatFormat):
        wrong = np.flatnonzero(found[0] != accumulated(a, b, c[0], fmt))
        assert not len(wrong), [hex(x[wrong[0]]) for x in (a, b, c[0])]
        for x, y, z, got in zip(a[:500], b[:500], c[0], found[0], strict=False):
            expected = exactly(int(x), int(y), int(z), fmt)
            assert expected in (None, int(got))
        return
    word = sum_bits(name) // len(c)
    for x, y, z, got in zip(a.tolist(), b.tolist(), c.T.tolist(), found.T.tolist(), strict=True):
        addend = sum(part << (word * place) for place, part in enumerate(z))
        total = (signed(x, fmt.bits) * signed(y, fmt.bits) + addend) % (1 << sum_bits(name))
        assert sum(part << (word * place) for place, part in enumerate(got)) == total


def test_results_by_hand() -> None:
    """Checks both halves of an int64 product, int8 in the upper bits, and rounding to fp32, not
    fp16."""
    config = GtaSeparateConfig()
    lowest = 1 << 63
    d = golden(config, "int64", {}, {"a": [[lowest]], "b": [[lowest]], "c": [[5], [0]]})["d"]
    assert d.tolist() == [[5], [1 << 62]]
    d = golden(config, "int8", {}, {"a": [[0x80] * 8], "b": [[0x7F] * 8], "c": [[1] * 8]})["d"]
    assert d.tolist() == [[(1 - 128 * 127) % (1 << 32)] * 8]
    # (1 + 2**-10)**2 has 21 bits.
    d = golden(config, "fp16", {}, {"a": [[0x3C01] * 4], "b": [[0x3C01] * 4], "c": [[0] * 4]})["d"]
    assert d.tolist() == [[0x3F804008] * 4]


@cache
def emitted(build: str) -> tuple[GtaSeparateConfig, Emitted]:
    config = GtaSeparateConfig(**BUILDS[build])
    return config, emit(GTA_SEPARATE, config)


def check(config: GtaSeparateConfig, made: Emitted, count: int, seed: int) -> npt.NDArray[Any]:
    """Operations through gaps and stalls, then back to back; returns the latencies of these."""
    simulation = NativeSimulation(made)
    for pauses in (Pauses(seed=seed, gap=0.2, stall=0.3), Pauses()):
        sent = operations(config, count, seed)
        inputs, expected = packed(config, sent, made.sidecar)
        done = simulation.run(inputs, pauses=pauses)
        wrong = np.flatnonzero((done.payloads != expected).any(axis=1))
        assert not len(wrong), (
            sent.format[wrong[0]],
            sent.kind[wrong[0]],
            *(hex(int(x[wrong[0]])) for x in (sent.a, sent.b)),
            [hex(x) for x in sent.c[wrong[0]].tolist()],
            done.payloads[wrong[0]],
            expected[wrong[0]],
        )
        simulation.reset()
    return done.output_cycles - done.input_cycles


@pytest.mark.parametrize("build", slow_but(["small"], BUILDS, ["stages 2"]))
def test_rtl(build: str) -> None:
    """Mixes formats, kinds of values, and illegal formats; one operation per cycle."""
    config, made = emitted(build)
    latencies = check(config, made, cases(20_000), seed=62)
    assert (latencies == config.pipeline).all()
    assert made.sidecar["latency"] == dict.fromkeys(config.formats, config.pipeline)


@pytest.mark.long
def test_cocotb() -> None:
    report = run(GTA_SEPARATE, GtaSeparateConfig(**BUILDS["small"]), seed=63, count=200)
    assert report.complaints == []
    assert {what for _, what in report.coverage} == set(KINDS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Another format's number; an addend that is left out; a format that is not known.
        ("== 3'h3", "== 3'h2"),
        (".c(i__payload[386:131])", ".c(256'h0)"),
        ("|{selects_2, selects_1, selects_0}", "|{selects_2, selects_1}"),
    ],
)
def test_a_wrong_unit_is_found(old: str, new: str) -> None:
    config, made = emitted("small")
    assert old in made.verilog
    with pytest.raises(AssertionError):
        check(config, Emitted(made.verilog.replace(old, new), made.sidecar), 500, seed=64)


def test_formats_of_no_unit() -> None:
    """Zeros and the flag."""
    config = GtaSeparateConfig(formats=("int16",))
    numbers = [0, 1, 7]
    d, error = mixed_operations(config, numbers, [3] * 3, [5] * 3, np.ones((3, 4), np.uint32))
    assert error.tolist() == [1, 0, 1]
    assert d.tolist() == [[0] * 4, [16, 1, 1, 1], [0] * 4]


def test_widths() -> None:
    """The datapath's and the results' widths are those of the page."""
    assert [elements(name) for name in FORMATS_OF_GTA] == [8, 4, 2, 1, 4, 4, 2, 1]
    assert [sum_bits(name) for name in FORMATS_OF_GTA] == [32, 32, 64, 128, 32, 32, 32, 64]
    assert GtaSeparateConfig().result_words == 8
    assert GtaSeparateConfig(formats=("fp64",)).result_words == 2


def test_refusals() -> None:
    formats = ", ".join(FORMATS_OF_GTA)
    said = refusal(lambda: GtaSeparateConfig(formats=("fp8",)))
    assert said == f"`formats` must be a non-empty subset of {formats}, not 'fp8'"
    said = refusal(lambda: GtaSeparateConfig(pipeline=4))
    assert said == "`pipeline` must be an integer in 1..3, not 4"
    said = refusal(lambda: IntegerMultiplyAdd(16, 24))
    assert said == "`sum_bits` must be at least 32, not 24"
    said = refusal(lambda: IntegerMultiplyAdd(16, 32, stages=3))
    assert said == "`stages` must be in 0..2, not 3"


# The table of the area of GTA's lane: what it adds up, and its shape on few formats.

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
    table = gta_area("cmos", progress=said.append, float_adders=16, adder_stages=2)
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
    assert ours_of(table, "the same with the lane interconnect") == share(array + 400 + control + 3)
    assert ours_of(table, "of the lane: elements") == share(64 * 2)
    assert ours_of(table, "of the lane: rows' adders") == share(8 * 5)
    assert ours_of(table, "of the lane: selection of products, registers of sums") == share(
        8 * (6 - 5)
    )
    assert ours_of(table, "of the lane: connections of rows' adders") == share(50 - 8 * 6)
    others = 300 - 64 * 2 - 30 - 50
    assert ours_of(table, "of the lane: others") == share(others)
    assert not [row.label for row in table.rows if "feeders of" in row.label]
    for stages in range(1, 6):
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


def test_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gains are ratios of rates over those of areas, and of clocks; a memory port of its own width
    stays as it is where separate units have more lanes."""
    monkeypatch.setattr(measure, "synthesize", _separate)
    monkeypatch.setattr(gta_parts, "measure_component", _component)
    rates = {"gta": 1.0, "gta_separate": 0.5}
    clocks = {unit: [ReachedClock("cmos", rate, {})] for unit, rate in rates.items()}
    monkeypatch.setattr(verdict, "reached_clocks", lambda unit, *_: clocks[unit])
    settings = ["formats=int8,int16,bf16"]
    found = gta_verdict("cmos", settings=settings)
    areas, *tables = found.parts
    base = UNITS["int8"] + UNITS["int16"] + UNITS["bf16"] + 300
    array = 64 * 4 + 33 + 400
    whole = array + (300 - 64 * 2 - 30 - 50) + 3
    assert ours_of(areas, "separate units, 3 stages") == pytest.approx([base / 1e6, 100, 500])
    for adders in (8, 64):
        share = [array / 1e6, 100 * array / base, 0]
        assert ours_of(areas, f"GTA, {adders} adders, arithmetic") == pytest.approx(share)
        share = [whole / 1e6, 100 * whole / base, 1000]
        assert ours_of(areas, f"GTA, {adders} adders, whole lane") == pytest.approx(share)
    formats, workloads = tables[:2]
    gain = 8 * base / array
    dense = [8e6 / base, 64e6 / array]
    assert ours_of(formats, "int8") == pytest.approx([8, 64, *dense, 8, gain, 2 * gain])
    assert [ours_of(one, "bf16")[1] for one in tables[::2]] == [8, 16]
    names = [row.label for row in workloads.rows]
    assert names == ["RGB, int8", "FFE, int16", "ALI, int8", "FFL, bf16", "geometric mean"]
    (model,) = gta_workloads("cmos", only="FFE", settings=settings).rows
    _, _, _, cycles, accesses, time, *_ = model.ours
    assert cycles is not None
    of_area = cycles * base / array
    row = ours_of(workloads, "FFE, int16")
    assert row[:5] == pytest.approx([4, 4 * cycles, cycles, accesses, time])
    assert row[5] == row[6] == pytest.approx(of_area)
    assert row[7:] == pytest.approx([2 * of_area, *(x * array / whole for x in row[5:8:2])])
    # The port limits RGB, whatever the lanes.
    limited = ours_of(workloads, "RGB, int8")
    assert limited[4] == pytest.approx(1, abs=0.01)
    assert limited[6] == pytest.approx(limited[4])
    *each, mean = (row.ours[5] or 0.0 for row in workloads.rows)
    assert mean == pytest.approx(prod(each) ** (1 / len(each)))
    assert [*workloads.rows[-1].paper[3:6:2]] == [7.76, 6.45]
    with pytest.raises(UserError, match=r"^gta-verdict needs a format of integers$"):
        gta_verdict("cmos", settings=["formats=fp32"])


def test_a_verdict_without_floats_or_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without floats there is one number of adders, and without clocks no figures at clocks."""
    monkeypatch.setattr(measure, "synthesize", _separate)
    monkeypatch.setattr(gta_parts, "measure_component", _component)
    monkeypatch.setattr(verdict, "reached_clocks", lambda *_: [])
    areas, formats, workloads = gta_verdict("cmos", settings=["formats=int16"]).parts
    assert len(areas.rows) == 3
    assert formats.table == "gta-verdict, 0 adders, formats"
    assert {row.ours[-1] for row in formats.rows} == {None}
    assert {row.ours[7] for row in workloads.rows} == {None}


@pytest.mark.long
def test_a_small_table() -> None:
    """A table with few formats: absent parts cost nothing."""
    table = gta_area("cmos", formats=("int8", "bf16"), lanes=1, partial_bits=20, vector_bytes=2048)
    whole = ours_of(table, "the same with the lane interconnect")[0]
    assert 0 < ours_of(table, "array and multi-precision accumulator")[0] < whole
    element, array = (
        ours_of(table, label)[0] for label in ("an element of the array", "array of 64 elements")
    )
    assert array == 64 * element
    without = [ours_of(table, f"array and adders without {name}")[0] for name in ("int8", "bf16")]
    assert min(without) > 0
    assert ours_of(table, "separate units without int8")[0] > 0
