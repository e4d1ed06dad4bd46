"""Power of netlists: against a slow model of the same rules, against OpenSTA, and refusals."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from tilewright.cli import main
from tilewright.synth.library.liberty import liberty_content, read_library
from tilewright.synth.library.power import read_power
from tilewright.synth.power import measure as measure_module
from tilewright.synth.power import replay as replay_module
from tilewright.synth.power.flow import PowerRequest, Prepared, prepare
from tilewright.synth.power.measure import PoweredNetlist
from tilewright.synth.power.opensta import by_pins, opensta_power
from tilewright.synth.power.recording import read_vcd
from tilewright.synth.power.replay import Mismatch, Tally
from tilewright.synth.targets import KNOWN, target_library
from tilewright.synth.timing.opensta import opensta_available
from tilewright.verif.kit.data import needs_data, real_libraries
from tilewright.verif.synth.cell_libraries import ACCUMULATOR
from tilewright.verif.synth.powered_library import (
    CYCLES,
    accumulator_record,
    accumulator_signals,
    write_library,
    write_vcd,
)
from tilewright.verif.synth.slow_power import expected_sums


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    path = write_library(tmp_path_factory.mktemp("power") / "powered.lib")
    request = PowerRequest(target=f"liberty:{path}", effort="area", period=3.0)
    return prepare(ACCUMULATOR, "accumulator", request)


# Against a slow model


def _sums(netlist: PoweredNetlist, tally: Tally) -> dict[str, float]:
    groups = netlist.circuit.groups.values()
    loads = netlist.times.graph.load.reshape(-1, 2).mean(axis=1)
    nets = np.concatenate([group.nets[group.nets >= 0] for group in groups])
    return {
        "toggles": float(tally.toggles[: netlist.netlist.nets].sum()),
        "switching": float(0.5 * 0.9**2 * (loads[nets] * tally.toggles[nets]).sum()),
        "internal": float(sum(each.sum() for each in tally.internal.values())),
        "leaked": float(sum(each.sum() for each in tally.leaked.values())),
    }


def test_replay_equals_a_slow_model(prepared: Prepared, tmp_path: Path) -> None:
    tally = prepared.netlist.replay(accumulator_record(prepared, tmp_path))
    assert tally.cycles == CYCLES - 1
    found = _sums(prepared.netlist, tally)
    assert found == pytest.approx(expected_sums(prepared.netlist, accumulator_signals()), rel=1e-5)
    assert min(found.values()) > 0


def test_chunks_join(prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run in parts of 64 cycles gives the sums of the run as a whole."""
    record = accumulator_record(prepared, tmp_path)
    whole = _sums(prepared.netlist, prepared.netlist.replay(record))
    monkeypatch.setattr(replay_module, "CHUNK", 1)
    parts = prepared.netlist.replay(record)
    assert _sums(prepared.netlist, parts) == pytest.approx(whole, rel=1e-9)
    assert (parts.high[prepared.netlist.circuit.one], parts.cycles) == (CYCLES - 1, CYCLES - 1)


def test_report(prepared: Prepared, tmp_path: Path) -> None:
    """The columns of the report are sums over modules, at the period."""
    record = accumulator_record(prepared, tmp_path)
    report = prepared.measure(record, "a run", operations=10, delays="none")
    sums = _sums(prepared.netlist, prepared.netlist.replay(record))
    cycles = CYCLES - 1
    assert report.total["switching"] == pytest.approx(sums["switching"] / cycles / 3.0)
    assert report.total["internal"] == pytest.approx(sums["internal"] / cycles / 3.0)
    assert report.total["leakage"] == pytest.approx(sums["leaked"] / cycles)
    total = report.total["total"]
    assert total == pytest.approx(sum(row.total for row in report.modules))
    assert report.energy_pj == pytest.approx({"cycle": 3 * total, "operation": 3 * total * 14.9})
    assert [row.module for row in report.modules if row.instances == 2] == ["leaf"]
    assert {row.module: row.clock > 0 for row in report.modules}["accumulator"]
    console = Console(file=StringIO(), width=120)
    report.print(console)
    assert isinstance(console.file, StringIO)
    said = console.file.getvalue()
    assert f"{total:,.4g}" in said
    assert "149  cycles: a run" in said


def test_glitches_in_the_report(prepared: Prepared, tmp_path: Path) -> None:
    """With delays more changes count; without them the report has the same figures beside."""
    record = accumulator_record(prepared, tmp_path)
    settled = prepared.measure(record, "a run", delays="none")
    report = prepared.measure(record, "a run")
    for row in report.modules:
        (same,) = (one for one in settled.modules if one.module == row.module)
        assert row.settled == pytest.approx(same.total) == pytest.approx(same.settled)
        assert (row.leakage, row.clock) == pytest.approx((same.leakage, same.clock))
        assert row.switching >= same.switching - 1e-12
    assert report.total["settled"] == pytest.approx(settled.total["total"])
    assert report.total["total"] > 1.1 * settled.total["total"]
    assert (report.settled_toggles, settled.toggles) == (settled.settled_toggles,) * 2
    assert report.toggles > 1.2 * settled.toggles
    with pytest.raises(ValueError, match=r"^`delays` must be one of library, none, not 'some'$"):
        prepared.measure(record, "a run", delays="some")


def test_glitches_of_windows(
    prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a long run windows are replayed with delays; the rest grows as they do."""
    record = accumulator_record(prepared, tmp_path)
    whole = prepared.measure(record, "a run")
    monkeypatch.setattr(measure_module, "MOST_CYCLES", 48)
    monkeypatch.setattr(measure_module, "WINDOWS", 3)
    report = prepared.measure(record, "a run")
    assert (whole.glitch_cycles, report.glitch_cycles, report.cycles) == (149, 48, 149)
    assert report.total["settled"] == pytest.approx(whole.total["settled"])
    assert report.total["total"] == pytest.approx(whole.total["total"], rel=0.1)
    assert report.total["total"] != whole.total["total"]


def test_clock_tree(prepared: Prepared) -> None:
    """20 flip-flops: two buffers at them, and one before these."""
    netlist = prepared.netlist
    tree = netlist.clock_tree()
    assert (tree.flip_flops, tree.buffers) == (20, 3)
    flip_flop = netlist.library.cells["DFFX1"].pins["CK"].capacitance[0]
    (buffer,) = {name for name in netlist.power.cells if name.startswith("BUF")} & {
        "BUFX2",
        "BUFX4",
    }
    load = netlist.library.cells[buffer].pins["A"].capacitance[0]
    nets = 0.9**2 * (20 * flip_flop + 3 * load)
    groups = [one for one in netlist.power.cells[buffer].internal if not one.when]
    slew = netlist.times.graph.clock_slew
    inside = sum(
        table.at(slew, drives)
        for group in groups for table in group.tables if table is not None
        for drives in (10 * flip_flop, 10 * flip_flop, 2 * load)
    )  # fmt: skip
    assert tree.energy == pytest.approx(nets + inside)


# Refusals


def test_another_netlist_is_refused(prepared: Prepared, tmp_path: Path) -> None:
    wrong: list[int | str] = [*accumulator_signals()["sum"][1]]
    wrong[90] = int(wrong[90]) ^ 4
    record = accumulator_record(prepared, tmp_path, sum=(20, wrong))
    message = "the netlist is not that of the record: register sum[2] differs in cycle 90"
    with pytest.raises(Mismatch, match=f"^{re.escape(message)}$"):
        prepared.netlist.replay(record)


def test_a_register_without_a_record_is_refused(prepared: Prepared, tmp_path: Path) -> None:
    record = accumulator_record(prepared, tmp_path, sum=(0, []))
    with pytest.raises(ValueError, match=r"run.vcd has no record of register sum\[\d+\]$"):
        prepared.netlist.replay(record)


def test_an_unknown_value_is_refused(prepared: Prepared, tmp_path: Path) -> None:
    values: list[int | str] = [*accumulator_signals()["x"][1]]
    values[7] = "x" * 16
    record = accumulator_record(prepared, tmp_path, x=(16, values))
    with pytest.raises(ValueError, match=r"run.vcd: signal x is not known in cycle 7$"):
        prepared.netlist.replay(record)
    assert prepared.netlist.replay(record.window(8, 50)).cycles == 49


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("library", "is not a value change dump: it has no $enddefinitions"),
        ("$scope module other $end $enddefinitions $end\n", "has no module accumulator"),
        (
            "$scope module accumulator $end $var wire 1 ! x $end $enddefinitions $end\n",
            "has no clock clk in module accumulator",
        ),
    ],
)
def test_a_file_that_is_noaccumulator_record(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "bad.vcd"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"^{re.escape(f'{path} {reason}')}$"):
        read_vcd(path, "accumulator", "clk")


def test_words_of_memories(tmp_path: Path) -> None:
    """Words of several bits and of one bit are found by the names of their bits."""
    words: dict[str, tuple[int, list[int | str]]] = {
        "words[2]": (4, [1, 2, 3]), "flags[3]": (1, [0, 1, 1]),
    }  # fmt: skip
    record = read_vcd(write_vcd(tmp_path / "a.vcd", "top", words), "top", "clk")
    assert record.cycles == 3
    assert [int(record.bits("words[2]", bit)[0]) & 7 for bit in range(3)] == [5, 6, 0]
    assert int(record.bits("flags", 3)[0]) & 7 == 6
    some = read_vcd(tmp_path / "a.vcd", "top", "clk", {"flags[3]"})
    assert int(some.bits("flags", 3)[0]) & 7 == 6
    with pytest.raises(ValueError, match=r"a.vcd has no record of register flags\[2\]$"):
        record.bits("flags", 2)


def test_libraries_without_power(tmp_path: Path) -> None:
    message = "target cmos has no tables of power: take a Liberty library that has "
    with pytest.raises(ValueError, match=f"^{message}"):
        PowerRequest(target="cmos").library()
    text = write_library(tmp_path / "all.lib").read_text()
    path = tmp_path / "none.lib"
    path.write_text(text.replace("internal_power", "other_power"))
    with pytest.raises(ValueError, match=r"^library \w+ has no tables of power$"):
        read_power(read_library(path), ["INVX1"])


# Against OpenSTA


def _agrees(netlist: PoweredNetlist, tally: Tally, period: float) -> None:
    own, other = by_pins(netlist, tally, period), opensta_power(netlist, tally, period)
    for name in ("internal", "switching", "leakage"):
        assert getattr(own, name) == pytest.approx(getattr(other, name), rel=1e-3), name


@pytest.mark.skipif(not opensta_available(), reason="OpenSTA is not installed")
@pytest.mark.parametrize("target", ["", *(pytest.param(name, marks=needs_data) for name in KNOWN)])
def test_opensta_agrees(prepared: Prepared, tmp_path: Path, target: str) -> None:
    """Every column within 0.1 %, under OpenSTA's assumptions."""
    used = prepared
    if target:
        path = real_libraries()
        request = PowerRequest(target=target, effort="area", period=3.0, liberty_path=path)
        used = prepare(ACCUMULATOR, "accumulator", request)
    _agrees(used.netlist, used.netlist.replay(accumulator_record(used, tmp_path)), used.period)


@pytest.mark.skipif(not opensta_available(), reason="OpenSTA is not installed")
def test_the_check_in_the_report(prepared: Prepared, tmp_path: Path) -> None:
    """The report has OpenSTA's figures beside ours, and fails if they differ."""
    record = accumulator_record(prepared, tmp_path)
    report = prepared.measure(record, "a run", delays="none", cross_check=True)
    assert report.check is not None
    assert report.passed
    assert report.check.by_states.total == pytest.approx(
        report.total["total"] - report.total["clock"]
    )
    console = Console(file=StringIO(), width=140)
    report.print(console)
    assert isinstance(console.file, StringIO)
    assert "(allowed: 1 %)" in console.file.getvalue()
    wrong = replace(report.check, by_pins=report.check.by_states)
    assert not replace(report, check=wrong).passed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("matraptor", "matraptor is no matrix unit, which random operations are of: give its waves "
         "by --activity"),
        ("m3xu --mode fp16 --activity x.vcd", "--mode and --activity exclude each other"),
        ("m3xu --skip 3", "--skip is of --activity"),
        ("m3xu --mode fp63", "`mode` must be one of fp16, bf16, tf32, fp32, fp32c, not 'fp63'"),
        ("m3xu --delays some", "--delays must be one of library, none, not 'some'"),
        ("m3xu --effort fast", "`effort` must be one of area, speed, not 'fast'"),
        ("m3xu --target cmos", "target cmos has no tables of power: take a Liberty library that "
         "has (asap7, gscl45nm, sg13g2, sky130hd)"),
        ("m3xu --target ice40", "target ice40 has no tables of power: take a Liberty library that "
         "has (asap7, gscl45nm, sg13g2, sky130hd)"),
    ],
)  # fmt: skip
def test_refusals(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["power", *words.split()]) == 2
    assert capsys.readouterr().err == f"error: {said}\n"


def test_a_record_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is missed before anything is mapped."""
    library, record = write_library(tmp_path / "all.lib"), tmp_path / "no.vcd"
    words = ["simd2", "--target", f"liberty:{library}", "--activity", str(record)]
    assert main(["power", *words]) == 2
    assert capsys.readouterr().err == f"error: {record}: No such file or directory\n"


# Real libraries


@needs_data
@pytest.mark.parametrize(("name", "volts"), [("gscl45nm", 1.1), ("sg13g2", 1.2), ("sky130hd", 1.8)])
def test_all_cells_are_read(name: str, volts: float) -> None:
    """Every group of power that is in the text of a library is read."""
    library = target_library(name, liberty_path=real_libraries())
    assert library is not None
    power = read_power(library, library.cells)
    assert power.volts == volts
    text = "".join(liberty_content(path).decode() for path in library.files)
    groups = re.split(r"\binternal_power\s*\(\s*\)", text)[1:]
    related = [
        re.search(r'related_pin\s*:\s*"([^"]*)"', each.split("values")[0]) for each in groups
    ]
    count = sum(len(found[1].split()) if found else 1 for found in related)
    assert sum(len(cell.internal) for cell in power.cells.values()) >= count > 0
    leaks = len(re.findall(r"\bleakage_power\s*\(\s*\)", text))
    assert sum(len(cell.leakage) for cell in power.cells.values()) == leaks


@needs_data
def test_a_flip_flop_by_its_text() -> None:
    """Figures of a cell as its Liberty text has them."""
    library = target_library("gscl45nm", liberty_path=real_libraries())
    assert library is not None
    cell = read_power(library, ["DFFPOSX1"]).cells["DFFPOSX1"]
    assert cell.average_leakage == pytest.approx(54.9774e-6)
    clock, data, output = cell.internal
    assert (clock.pin, data.pin, output.pin, output.related) == ("CLK", "D", "Q", "CLK")
    rise, fall = clock.tables
    assert rise is not None
    assert fall is not None
    assert (rise.at(0.06, 0.0), fall.at(0.24, 0.0)) == pytest.approx((0.001076, 0.01855))
    of_q = output.tables[0]
    assert of_q is not None
    assert of_q.at(0.06, 0.1) == pytest.approx(0.008501)
    assert of_q.at(0.24, 0.1) == pytest.approx(0.013099)
