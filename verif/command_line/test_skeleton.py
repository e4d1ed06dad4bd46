"""``generate --cocotb``: the bench passes as it is, finds what is wrong, and overwrites nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import tilewright
from tilewright.cli import main
from tilewright.errors import UserError
from tilewright.hw.emit.unit import Emitted, describe
from tilewright.hw.spec.unit import named_object
from tilewright.registry import entries
from tilewright.reports import write_junit
from tilewright.skeleton.bench import _skeleton_texts
from tilewright.toolchain import install_verilator
from tilewright.verif.examples.readme import needs_icarus
from tilewright.verif.kit.commands import check_refused
from tilewright.verif.kit.options import small
from tilewright.verif.kit.reports import JobsReport, Report, Timing
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but

SECONDS = 1000
MOST_LINES = 175

ACCELERATORS = [name for name, entry in entries().items() if entry.unit.jobs]
WAYS = ("make", "make icarus", "pytest icarus")
RUNS = [f"{how} {unit}" for unit in entries() for how in WAYS]
DEFAULT = ["pytest icarus engine_simd2"]


def _settings(unit: str) -> Iterator[str]:
    """The small configuration, as it is typed."""
    for name, value in entries()[unit].small.items():
        text = ",".join(value) if isinstance(value, tuple) else str(value)
        yield from ("--set", f"{name}={text}")


def _generate(unit: str, directory: Path, *more: str) -> None:
    assert main(["generate", unit, *_settings(unit), "--cocotb", str(directory), *more]) == 0


def _run(how: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """The bench as its user runs it."""
    tool, *simulator = how.split()
    commands = {"make": ["make"], "pytest": [sys.executable, "-m", "pytest", "-q", str(directory)]}
    environment = {**os.environ, "SIM": "".join(simulator) or "verilator"}
    # cocotb ends the process of a test that fails, where it sees that pytest runs.
    environment.pop("PYTEST_CURRENT_TEST", None)
    programs = [str(Path(sys.executable).parent), environment["PATH"]]
    if simulator:
        needs_icarus()
    else:
        programs.insert(0, str(install_verilator().parent))
    environment["PATH"] = os.pathsep.join(programs)
    return subprocess.run(
        commands[tool], cwd=directory, env=environment, capture_output=True, text=True,
        check=False, timeout=SECONDS,
    )  # fmt: skip


@pytest.mark.parametrize("run", slow_but([], RUNS, DEFAULT))
def test_it_passes_as_it_is(run: str, tmp_path: Path) -> None:
    how, _, unit = run.rpartition(" ")
    _generate(unit, tmp_path / "bench")
    done = _run(how, tmp_path / "bench")
    assert done.returncode == 0, done.stdout + done.stderr
    said = "1 passed" if how.startswith("pytest") else "TESTS=2 PASS=2 FAIL=0 SKIP=0"
    assert said in done.stdout


# An opcode that another number has; results in another place.
WRONG = {
    "gta_separate": ("== 3'h5", "== 3'h4", "the flag `error` is"),
    "engine_simd2": ("m0_axi_awaddr = ", "m0_axi_awaddr = 40'h40 ^ ", "AssertionError"),
}


@pytest.mark.parametrize("unit", slow_but([], WRONG, ["gta_separate"]))
def test_a_wrong_unit_is_found(unit: str, tmp_path: Path) -> None:
    old, new, wrong = WRONG[unit]
    _generate(unit, tmp_path, "--name", "wrong")
    text = (tmp_path / "wrong.sv").read_text()
    assert old in text
    (tmp_path / "wrong.sv").write_text(text.replace(old, new))
    done = _run("make icarus", tmp_path)
    assert done.returncode
    assert wrong in done.stdout
    done = _run("pytest icarus", tmp_path)
    assert done.returncode == 1
    assert "1 failed" in done.stdout


@pytest.mark.parametrize("unit", entries())
def test_files_are_clean(unit: str, tmp_path: Path) -> None:
    """The files are short, follow the project's rules and name no path of this machine."""
    entry = entries()[unit]
    sidecar = dict(describe(entry.unit, entry.small_config))
    texts = _skeleton_texts(entry, Emitted("", sidecar))
    here = [str(Path.home()), str(Path(tilewright.__file__).parents[1]), os.getcwd()]
    for name, text in texts.items():
        assert not [place for place in here if place in text], name
        (tmp_path / name).write_text(text)
    assert len(texts[f"{unit}_bench.py"].splitlines()) <= MOST_LINES
    root = Path(tilewright.__file__).resolve().parents[2]
    ruff = [sys.executable, "-m", "ruff"]
    settings = ["--config", str(root / "pyproject.toml"), "--no-cache", str(tmp_path)]
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run([*ruff, *command, *settings], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("unit", ACCELERATORS)
def test_jobs_suit_every_configuration(unit: str) -> None:
    """The jobs change the model's memory, and leave the same content in two runs."""
    entry = entries()[unit]
    job = named_object(entry.bench_job)
    variants = by_size((), (), entry.variants)
    for config in [entry.small_config, *(small(entry, changes) for changes in variants)]:
        left = []
        for _ in range(2):
            with tilewright.device(unit, config) as device:
                device.write_memory(0, rng_of(1).bytes(device.memory_bytes))
                before = device.memory.copy()
                job(tilewright.driver(device), np.random.default_rng(2))
                assert (device.memory != before).any()
                left.append(device.memory.tobytes())
        assert left[0] == left[1]


def test_a_mapping_goes_along(tmp_path: Path) -> None:
    """A design that a file describes is a part of the bench, which does not name its place."""
    design = tmp_path / "own.py"
    lines = [
        "from tilewright.hw.t2s.language import compute, indices, tensor",
        'i, k, ii, kk = indices("i k ii kk")',
        'A, X = tensor("A", "int8", i, k), tensor("X", "int8", k)',
        'Y = compute("Y", "int8", i, sum_over=k)[A[i, k] * X[k]]',
        "Y.tile(i, (ii, 5)).tile(k, (kk, 2)).order(i, k, ii, kk).vectorise(kk)",
    ]
    design.write_text("\n".join(lines) + "\n")
    bench = tmp_path / "bench"
    assert main(["generate", "t2s", "--spec", str(design), "--cocotb", str(bench)]) == 0
    assert (bench / "own.py").read_text() == design.read_text()
    for file in bench.iterdir():
        assert str(tmp_path) not in file.read_text()
    assert "design = own.py" in (bench / "t2s.sv").read_text()


def test_nothing_is_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("")
    command = ["generate", "gta_separate", "--cocotb"]
    refusals = {
        "full": "must be a new or an empty directory, not one that holds notes.txt",
        "file": "must be a directory, not a file",
        "no/where": "no is not a directory",
    }
    for name, why in refusals.items():
        check_refused([*command, name], f"--cocotb {name}: {why}", tmp_path, capsys)
    check_refused(
        [*command, "new", "-o", "unit.sv"],
        "--cocotb writes all its files into new: leave out --output", tmp_path, capsys,
    )  # fmt: skip
    check_refused(
        ["generate", "gta_separate"],
        "generate needs -o FILE or --cocotb DIR (see `tilewright generate --help`)",
        tmp_path, capsys,
    )  # fmt: skip
    (tmp_path / "empty").mkdir()
    _generate("gta_separate", tmp_path / "empty")
    assert sorted(os.listdir("empty")) == [
        "Makefile", "gta_separate.json", "gta_separate.sv", "gta_separate_bench.py", "ports.vlt",
        "test_gta_separate.py",
    ]  # fmt: skip


# ``simulate --junit``: which test case a fault belongs to, and what the file says of it.

CONFIG = {"rows": 4, "modes": ["fp16", "fp32"]}
MISMATCH = "1 of 20 results differ, first `o` 3: 0x1, expected 0x2"
BACK_TO_BACK = "back to back: 12 cycles, not 11"
TIMING = "fp32: latency or interval is not the sidecar's"


def _timing(mode: str, latency: int) -> Timing:
    return Timing(mode=mode, latency=latency, latency_promised=5, interval=1.0, interval_promised=1)


def _report(
    *complaints: str, latency: int = 5, cycles: int = 11, failed: str = ""
) -> dict[str, str]:
    """The complaint of each case of a stream unit's report."""
    found = Report(
        unit="unit",
        simulator="verilator",
        seed=7,
        operations=20,
        cycles=cycles,
        cycles_promised=11,
        timings=[_timing("fp16", 5), _timing("fp32", latency)],
        complaints=list(complaints),
        kinds=Counter({"fp16": 6, "illegal": 4}),
        failed=failed,
    )
    found.complaints.extend(found.timing_complaints())
    cases = found.cases()
    # Every complaint is in one case.
    assert [text for case in cases for text in [case.complaint] if text] == found.complaints
    return {case.name: case.complaint for case in cases}


@pytest.mark.parametrize(
    ("given", "name", "complaint"),
    [
        ({}, "", ""),
        ({"cycles": 12}, "back to back", BACK_TO_BACK),
        ({"latency": 6}, "timing of fp32", TIMING),
    ],
)
def test_a_case_for_each_fault(given: dict[str, int], name: str, complaint: str) -> None:
    names = ["random operations", "operations: fp16", "operations: illegal", "back to back"]
    expected = dict.fromkeys([*names, "timing of fp16", "timing of fp32"], "")
    assert _report(**given) == (expected | {name: complaint} if name else expected)  # type: ignore[arg-type]


def test_wrong_results() -> None:
    """Attributes wrong results to their kind if it is known, else to the run."""
    assert _report(MISMATCH, failed="illegal")["operations: illegal"] == MISMATCH
    assert _report(MISMATCH, failed="illegal")["random operations"] == ""
    assert _report(MISMATCH)["random operations"] == MISMATCH


def test_the_file(tmp_path: Path) -> None:
    report = JobsReport(
        unit="unit",
        simulator="verilator",
        seed=7,
        jobs=3,
        operations=20,
        cycles=100,
        complaints=["word <3> & \x00 differs"],
        kinds=Counter({"rows": 2, "outer": 1}),
        failed="outer",
    )
    path = tmp_path / "found.xml"
    write_junit(path, report, CONFIG, count=30, seconds=1.5)
    root = ElementTree.parse(path).getroot()
    (suite,) = root
    totals = {"tests": "3", "failures": "1", "errors": "0", "time": "1.500"}
    assert root.attrib == {"name": "tilewright simulate", **totals}
    assert suite.attrib == {"name": "unit", **totals}
    properties = {one.get("name"): one.get("value") for one in suite.iter("property")}
    wanted = {"simulator": "verilator", "seed": "7", "count": "30", "rows": "4"}
    assert properties.items() >= {**wanted, "modes": "fp16,fp32"}.items()
    names = [one.get("name") for one in suite.iter("testcase")]
    assert names == ["random jobs", "jobs: outer", "jobs: rows"]
    (failure,) = suite.iter("failure")
    assert failure.get("message") == "word <3> & ? differs"
    assert failure.text == "word <3> & ? differs\nseed 7, --count 30"
    assert "3 jobs with 20 operations in all" in "".join(suite.itertext())


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    report = JobsReport(unit="u", simulator="icarus", seed=0, jobs=1, operations=1, cycles=1)
    path = tmp_path / "nowhere" / "found.xml"
    with pytest.raises(UserError, match=f"^{path}: cannot be written: "):
        write_junit(path, report, {}, count=1, seconds=0.0)
