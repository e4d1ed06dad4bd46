"""A system needs only its registration: the toy is in every command, in every test over all units,
and in the list of units.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import tilewright
from tilewright.cli import main
from tilewright.hw.catalogue import UNITS
from tilewright.hw.emit.unit import Emitted
from tilewright.hw.spec.unit import named_object
from tilewright.registry import commands, entries, registered, systems, tables
from tilewright.sim.rtl.accelerator import (
    AcceleratorTimeout,
    AxiBehaviour,
    AxiRuleError,
    NativeAccelerator,
)
from tilewright.systems.__main__ import catalogue_table
from tilewright.verif.catalogue.toy import simulate as toy_simulate
from tilewright.verif.catalogue.toy.spec import TOY_ADDER, ToyAdderConfig
from tilewright.verif.catalogue.toy.system import SYSTEM
from tilewright.verif.conformance.checks import Conformance, refused_jobs
from tilewright.verif.conformance.recorded import MEMORY_BYTES, Subject, subject
from tilewright.verif.kit.job_checks import Mismatch, check_interrupt
from tilewright.verif.kit.sampling import rng_of, slow_but

ROOT = Path(tilewright.__file__).resolve().parents[2]


@pytest.fixture
def toy() -> Iterator[None]:
    """The toy is registered."""
    with registered(SYSTEM):
        yield


def test_every_unit_of_the_specs_is_registered_once() -> None:
    assert sorted(entries()) == sorted(UNITS)
    assert all(entry.unit is UNITS[name] for name, entry in entries().items())


def test_what_a_registration_names_is_there() -> None:
    named = [made for entry in entries().values() for made in entry.simulate.values()]
    named += [entry.bench_job for entry in entries().values() if entry.unit.jobs]
    named += [work.function for work in [*tables().values(), *commands().values()]]
    named += [work.function for group in ("tcu", "t2s") for work in commands(group).values()]
    for name in named:
        assert callable(named_object(name)), name
    for system in systems():
        assert all((ROOT / "docs" / page).is_file() for page in system.pages)
    for entry in entries().values():
        assert set(entry.simulate) <= {"verilator", "icarus"}
        assert entry.small_config != entry.unit.config()


def test_the_page_of_units_has_the_table_of_all() -> None:
    """Print it with ``python -m tilewright.systems``."""
    assert catalogue_table() in (ROOT / "docs/units.md").read_text()


@pytest.mark.parametrize(
    ("changes", "taken"),
    [
        ({}, "system toy"),
        ({"name": "other"}, "unit toy_adder"),
        ({"name": "other", "entries": ()}, "table toy-area"),
        ({"name": "other", "entries": (), "tables": {}}, "command toy-add"),
    ],
)
@pytest.mark.usefixtures("toy")
def test_nothing_is_registered_twice(changes: dict[str, object], taken: str) -> None:
    twice = replace(SYSTEM, **changes)  # type: ignore[arg-type]
    message = f"^{re.escape(taken)} is registered twice$"
    with pytest.raises(ValueError, match=message), registered(twice):
        pass


def test_it_is_gone_afterwards(capsys: pytest.CaptureFixture[str]) -> None:
    with registered(SYSTEM):
        assert "toy_adder" in entries()
    assert "toy_adder" not in entries()
    assert main(["show", "toy_adder"]) == 2
    assert main(["run", "toy-add", "x.npy"]) == 2
    assert main(["table", "toy-area"]) == 2
    assert capsys.readouterr().err.count("toy") == 3


@pytest.mark.usefixtures("toy")
def test_list_and_the_table_of_units(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.split(maxsplit=1) == ["toy_adder", TOY_ADDER.summary]
    page = "../verif/catalogue/toy/toy.md"
    row = f"| `toy_adder` | {TOY_ADDER.summary} | [toy]({page}) | `toy-area` |"
    assert catalogue_table().splitlines()[-1] == row


@pytest.mark.usefixtures("toy")
def test_show_and_generate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "toy_adder", "--set", "data_bits=128"]) == 0
    out = capsys.readouterr().out
    assert TOY_ADDER.source in out
    assert "a power of two in 64..512" in out
    assert main(["generate", "toy_adder", "-o", str(tmp_path / "toy.v")]) == 0
    assert "\nmodule toy_adder (" in (tmp_path / "toy.v").read_text()
    sidecar = json.loads((tmp_path / "toy.json").read_text())
    assert [port["prefix"] for port in sidecar["axi"]] == ["s_axil", "m0_axi"]
    assert "BEATS_ADDED" in [register["name"] for register in sidecar["registers"]]


@pytest.mark.usefixtures("toy")
def test_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Through the RTL, against NumPy."""
    values = np.arange(0, 1 << 32, 1 << 23, dtype=np.uint32)[:-1]
    np.save(tmp_path / "a.npy", values)
    words = ["run", "toy-add", str(tmp_path / "a.npy"), "--constant", "4000000000"]
    assert main([*words, "-o", str(tmp_path / "sums.npy")]) == 0
    assert "511 sums" in capsys.readouterr().out
    expected = (values.astype(np.int64) + 4_000_000_000) % (1 << 32)
    assert np.load(tmp_path / "sums.npy").tolist() == expected.tolist()


@pytest.mark.usefixtures("toy")
def test_simulate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["simulate", "toy_adder", "--count", "25", "--seed", "7"]
    junit = ["--junit", str(tmp_path / "found.xml")]
    assert main([*words, "--json", str(tmp_path / "found.json"), *junit]) == 0
    assert "toy_adder: pass, 25 jobs with" in capsys.readouterr().out
    (case,) = ElementTree.parse(tmp_path / "found.xml").iter("testcase")
    assert (case.get("name"), case.find("failure")) == ("random jobs", None)
    report = json.loads((tmp_path / "found.json").read_text())
    assert (report["unit"], report["passed"], report["seed"]) == ("toy_adder", True, 7)
    assert report["config"] == ToyAdderConfig().resolved()
    monkeypatch.setattr(toy_simulate, "added", lambda values, constant: values)
    assert main([*words, *junit]) == 1
    (case,) = ElementTree.parse(tmp_path / "found.xml").iter("testcase")
    failure = case.find("failure")
    assert failure is not None
    wrong = failure.get("message")
    assert wrong is not None
    assert re.fullmatch(r"job 0: sums of \d+ elements are wrong", wrong)
    assert f"error: {wrong}\n" in capsys.readouterr().out
    assert failure.text == f"{wrong}\nseed 7, --count 25"
    assert main(["simulate", "toy_adder", "--sim", "icarus"]) == 2
    assert capsys.readouterr().err == (
        "error: --sim must be verilator for toy_adder, not 'icarus'\n"
    )


@pytest.mark.slow
@pytest.mark.usefixtures("toy")
def test_synth_and_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: str(tmp_path / f"{name}.json") for name in ("synth", "table")}
    assert main(["synth", "toy_adder", "--effort", "area", "--json", files["synth"]]) == 0
    assert main(["synth", "toy_adder", "--effort", "area", "--period", "100"]) == 0
    assert "met" in capsys.readouterr().out
    assert main(["synth", "toy_adder", "--frequency", "1e5", "--json", files["table"]]) == 1
    assert "NOT met" in capsys.readouterr().out
    late = json.loads(Path(files["table"]).read_text())
    assert (late["period_ns"], late["slack_ns"] < 0) == (0.01, True)
    assert main(["table", "toy-area", "--json", files["table"]]) == 0
    assert "toy-area" in capsys.readouterr().out
    report, table = (json.loads(Path(file).read_text()) for file in files.values())
    assert (report["unit"], table["table"]) == ("toy_adder", "toy-area")
    config = ToyAdderConfig().resolved()
    assert (report["config"], report["inputs"]) == (config, [])
    assert table["configs"] == [{"unit": "toy_adder", "config": config}]
    assert table["rows"][0]["ours"] == [report["area"], report["path"]["ns"]]
    path = report["path"]
    places = [path["start_source"], *(one["source"] for one in path["segments"])]
    for place in [*places, path["end_source"]]:
        assert re.fullmatch(r"(hw|verif)/[a-z_0-9/]+\.py:[0-9]+", place)


@pytest.mark.long
def test_the_tests_over_all_units_take_it() -> None:
    """Runs the tests over all units in a new process that registers the unit before collection."""
    folders = [str(ROOT / "verif" / name) for name in ("emit", "job", "catalogue", "conformance")]
    words = ["-p", "tilewright.verif.catalogue.toy.plugin", "-p", "no:cacheprovider", "-q"]
    words.append(f"--ignore={__file__}")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "-k", "toy_adder", *folders],
        cwd=ROOT,
        env={**os.environ, "TILEWRIGHT_TESTS": "default"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    passed = re.search(r"^(\d+) passed", done.stdout, re.M)
    assert passed
    assert int(passed[1]) >= 10


# The conformance suite finds what is wrong: the toy, each time with one fault in its Verilog.

_CYCLES = 5000

FOUND = (AssertionError, AcceleratorTimeout, AxiRuleError)

Unit = Conformance[NativeAccelerator[Any]]
Check = Callable[[Unit], object]


def jobs(unit: Unit) -> None:
    for behaviour in (AxiBehaviour(), AxiBehaviour(aw_after_w=True)):
        unit.device.behave(behaviour)
        for job in unit.subject.jobs:
            unit.check_job(job)


def read_errors(unit: Unit) -> None:
    for job in unit.subject.jobs:
        for beat, must, _ in unit.read_beats(job, rng_of(1)):
            unit.device.behave(AxiBehaviour(read_errors={beat: 2}))
            unit.check_failure(job, "bus_read", [beat], must=must)


def write_errors(unit: Unit) -> None:
    job = unit.subject.jobs[0]
    bad = unit.beats(job.outputs[0])
    unit.device.behave(AxiBehaviour(write_errors=dict.fromkeys(bad, 2)))
    unit.check_failure(job, "bus_write", bad, must=True)


def refusals(unit: Unit) -> int:
    return unit.check_refusals(refused_jobs(unit.subject))


def interrupt(unit: Unit) -> None:
    job = unit.subject.jobs[0]
    unit.device.write_memory(0, job.before.tobytes())
    check_interrupt(unit.device, unit.subject.spec, job.registers, 500)


def soft_resets(unit: Unit) -> None:
    job = unit.subject.jobs[-1]
    assert sum(unit.check_reset(job, cycle) for cycle in range(0, 100, 10)) > 0


def busy_registers(unit: Unit) -> None:
    unit.device.behave(AxiBehaviour(latency=(400, 400)))
    unit.check_busy(unit.subject.jobs[0])


FAULTS: dict[str, tuple[str, str, Check]] = {
    "reads whose errors are ignored": (
        r"r__payload\.response\[1\]", "1'h0", read_errors
    ),
    "writes whose errors are ignored": (
        r"b__payload\.response\[1\]", "1'h0", write_errors
    ),
    "an error at another address": (
        r"(error_address <= bursts\S+address) \+.*;", r"\1;", read_errors
    ),
    "counters that go on": (
        r"\.clear\(counters__clear\)", ".clear(1'h0)", jobs
    ),
    "an end that a start does not clear": (
        r"\.status_done_clear\(\w+\)", ".status_done_clear(1'h0)", interrupt
    ),
    "an interrupt that is not enabled": (
        r"registers__ctrl_irq_enable & ", "", interrupt
    ),
    "a soft reset that does nothing": (
        r"\.soft_reset\(control__soft_reset\)", ".soft_reset(1'h0)",
        soft_resets,
    ),
    "a writer that waits for AWREADY": (
        "~queued", "aw__ready", jobs
    ),
    "a rule that is not checked": (
        r"wrong_code = SIZE_LIMIT", "wrong_code = NONE", refusals
    ),
    "a refusal that names another register": (
        r"64'h108", "64'h100", refusals
    ),
    "registers that a job does not keep": (
        r"\bif \(taken\) begin", "if (1'h1) begin",
        busy_registers,
    ),
}  # fmt: skip
"""Pattern in the Verilog, its replacement, and the check of the suite that fails, by name."""


@contextmanager
def toy_faults(old: str = "", new: str = "") -> Iterator[Unit]:
    """The toy with another text in its Verilog."""
    with registered(SYSTEM):
        made: Subject = subject("toy_adder:0")
        emitted = made.emitted()
    verilog = re.sub(old, new, emitted.verilog) if old else emitted.verilog
    assert (verilog == emitted.verilog) == (not old), "the toy has changed"
    spoilt = Emitted(verilog, emitted.sidecar)
    with NativeAccelerator(
        spoilt, made.config, memory_bytes=MEMORY_BYTES, time_out=_CYCLES
    ) as device:
        yield Conformance(made, device)


@pytest.mark.parametrize(
    "fault", slow_but([], FAULTS, ["reads whose errors are ignored", "counters that go on"])
)
def test_a_fault_is_found(fault: str) -> None:
    old, new, check = FAULTS[fault]
    with toy_faults(old, new) as unit, pytest.raises(FOUND):
        check(unit)


@pytest.mark.slow
def test_wrong_bytes_are_found() -> None:
    """Outside of the results, and among them."""
    with toy_faults() as unit:
        job = unit.subject.jobs[0]
        unit.device.behave(AxiBehaviour())
        unit.check_job(job)
        for places, what in (
            (np.flatnonzero(job.written), "a"),
            (np.flatnonzero(~job.written), "no"),
        ):
            unit.run(job)
            place = int(places[len(places) // 2])
            byte = int(unit.content()[place]) ^ 1
            unit.device.write_memory(place, bytes([byte]))
            with pytest.raises(Mismatch, match=f"first {place:#x}, {what} result$"):
                unit.check_memory(job, "a job")


def _text(value: Any) -> str:
    """A parameter as it is typed."""
    return ",".join(value) if isinstance(value, tuple) else str(value)


@pytest.mark.long
@pytest.mark.parametrize("unit", entries())
def test_random_operations(unit: str, capsys: pytest.CaptureFixture[str]) -> None:
    small = entries()[unit].small.items()
    settings = [word for name, value in small for word in ("--set", f"{name}={_text(value)}")]
    assert main(["simulate", unit, *settings, "--count", "20", "--seed", "3"]) == 0
    said = capsys.readouterr().out
    counted = "20 operations" if entries()[unit].unit.jobs is None else "20 jobs"
    assert f"{unit}: pass, {counted}" in said
