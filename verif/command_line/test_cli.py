"""The command line: its output, and one line and exit status 2 for every error."""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import tilewright
from tilewright.cli import main
from tilewright.hw.spec.host.activity import Activity, Event, Stopwatch, activity, listening
from tilewright.hw.spec.m3xu import M3XU, M3xuConfig
from tilewright.registry import entries, tables
from tilewright.sim.rtl.toolchain import find_compiler
from tilewright.verif.kit.commands import complaint

pytestmark = pytest.mark.quick

ROOT = Path(tilewright.__file__).resolve().parents[2]

SMALL = ["--set", "rows=2", "--set", "cols=2", "--set", "modes=fp16"]


def test_list_has_a_line_for_each_unit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(entries())
    pairs = zip(entries().values(), lines, strict=True)
    assert all(entry.unit.summary in line for entry, line in pairs)


def test_show_names_every_parameter_and_its_range(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "m3xu", "--set", "rows=16"]) == 0
    out = capsys.readouterr().out
    for item in M3xuConfig.parameters():
        assert item.name in out
    assert "an integer in 1..64" in out
    assert "a[16][8]" in out
    assert "fp16, bf16, tf32, fp32," in out
    assert M3XU.source in out


def test_generate_writes_verilog_and_sidecar(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", "m3xu", *SMALL, "-o", str(tmp_path / "unit.v")]) == 0
    assert str(tmp_path / "unit.v") in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["unit.json", "unit.v"]
    assert "\nmodule m3xu (" in (tmp_path / "unit.v").read_text()
    config = json.loads((tmp_path / "unit.json").read_text())["config"]
    assert (config["rows"], config["modes"]) == (2, ["fp16"])


def test_settings_go_before_the_file(tmp_path: Path) -> None:
    (tmp_path / "unit.toml").write_text('rows = 4\ncols = 2\nmodes = ["fp16", "bf16"]\n')
    words = ["generate", "m3xu", "-c", str(tmp_path / "unit.toml"), "--set", "rows=2"]
    assert main([*words, "-o", str(tmp_path / "unit.v")]) == 0
    config = json.loads((tmp_path / "unit.json").read_text())["config"]
    assert (config["rows"], config["cols"], config["modes"]) == (2, 2, ["fp16", "bf16"])


BAD_WORDS = {
    "unit": (["show", "m4xu"], "unknown unit 'm4xu'; did you mean 'm3xu'?"),
    "range": (["show", "m3xu", "--set", "rows=65"],
              "m3xu: `rows` must be an integer in 1..64, not 65"),
    "type": (["show", "m3xu", "--set", "rows=many"],
             "m3xu: `rows` must be an integer in 1..64, not 'many'"),
    "word": (["show", "m3xu", "--set", "data_assignment=late"],
             "m3xu: `data_assignment` must be one of combinational, pipelined, not 'late'"),
    "subset": (["show", "m3xu", "--set", "modes="],
               "m3xu: `modes` must be a non-empty subset of fp16, bf16, tf32, fp32, fp32c, not ''"),
    "together": (["show", "m3xu", "--set", "depth=6"],
                 "m3xu: `depth` must be a multiple of 4 for mode fp32c, not 6"),
    "parameter": (["show", "m3xu", "--set", "row=8"],
                  "m3xu: unknown parameter 'row'; did you mean 'rows'?"),
    "no value": (["show", "m3xu", "--set", "rows"], "--set must be NAME=VALUE, not 'rows'"),
    "too wide": (["show", "m3xu", "--set", "rows=64", "--set", "cols=64"],
                 "m3xu: `i` of m3xu would be 278531 bits wide; at most 65536 are allowed, choose "
                 "smaller parameters"),
    "no file": (["show", "m3xu", "-c", "missing.toml"], "missing.toml: No such file or directory"),
    "command": (["make"], "unknown command 'make'; `tilewright --help` lists them all"),
    "computation": (["run", "make"],
                    "unknown command of run 'make'; `tilewright run` lists them all"),
    "no command": ([""], "unknown command ''; `tilewright --help` lists them all"),
    "many": (["simulate", "m3xu", "--count", "1000001"],
             "--count must be an integer in 1..1000000, not '1000001'"),
    "twice": (["show", "m3xu", "--set", "rows=2", "--set", "cols=2", "--set", "rows=4"],
              "--set must name a parameter once, not `rows` as '2' and '4'"),
    "underscore": (["show", "m3xu", "--set", "rows=1_0"],
                   "m3xu: `rows` must be an integer in 1..64, not '1_0'"),
    "other digits": (["show", "m3xu", "--set", "rows=\u0664"],
                     "m3xu: `rows` must be an integer in 1..64, not '\u0664'"),
    "count": (["simulate", "m3xu", "--count", "-3"],
              "--count must be an integer in 1..1000000, not '-3'"),
    "seed": (["simulate", "m3xu", "--seed", "abc"],
             "--seed must be an integer of at least 0, not 'abc'"),
    "report": (["synth", "m3xu", "--json", "r.txt"], "r.txt: must end in .json, not '.txt'"),
    "period": (["synth", "m3xu", "--period", "0"],
               "--period must be a number in 0.001..1000000, not '0'"),
    "frequency": (["synth", "m3xu", "--frequency", "500MHz"],
                  "--frequency must be a number in 0.001..1000000, not '500MHz'"),
    "two clocks": (["synth", "m3xu", "--frequency", "500", "--period", "2"],
                   "--period and --frequency exclude each other: both are the clock"),
    "nothing to synthesize": (["synth"],
                              "a UNIT is missing (`tilewright list`), or --rtl with --top"),
    "unit and Verilog": (["synth", "m3xu", "--rtl", "a.v"],
                         "UNIT 'm3xu' and --rtl exclude each other"),
    "Verilog without a top": (["synth", "--rtl", "a.v"], "--rtl needs --top NAME, its top module"),
    "top of a unit": (["synth", "m3xu", "--top", "m"],
                      "--top is of --rtl: a unit of the catalogue knows its top module"),
    "Verilog that is not there": (["synth", "--rtl", "a.v", "--top", "m"],
                                  "a.v: No such file or directory"),
    "parameter of Verilog": (["synth", "--rtl", "a.v", "--top", "m", "--set", "N"],
                             "a parameter of m must be NAME=VALUE, not 'N'"),
    "table's report": (["table", "m3xu-area", "--json", "r"], "r: must end in .json, not ''"),
    "clock": (["run", "spgemm", "a.mtx", "--gigahertz", "nan"],
              "--gigahertz must be a number in 0.01..100, not 'nan'"),
    "inflation": (["run", "mcl", "a.mtx", "--inflation", "1"],
                  "--inflation must be a number in 1.01..20, not '1'"),
    "neighbours": (["run", "knn", "-k", "2.5"], "--neighbours must be an integer, not '2.5'"),
    "samples": (["run", "dft", "--length", "9" * 90],
                "--length must be in 1..5120, the samples there are, not " + "9" * 90),
    "option": (["show", "m3xu", "--rows", "8"],
               "unknown option '--rows'; did you mean '--set rows=VALUE'?"),
    "no unit": (["generate", "-o", "unit.v"],
                "Missing argument 'UNIT' (see `tilewright generate --help`)"),
    "no output": (["generate", "m3xu"],
                  "generate needs -o FILE or --cocotb DIR (see `tilewright generate --help`)"),
    "simulator": (["simulate", "m3xu", "--sim", "vcs"],
                  "--sim must be one of verilator, icarus, not 'vcs'"),
    "directory": (["generate", "m3xu", "-o", "nowhere/unit.v"],
                  "nowhere/unit.v: cannot be written: nowhere is not a directory"),
    "is directory": (["generate", "m3xu", "-o", "."], ".: cannot be written: it is a directory"),
    "sidecar": (["generate", "m3xu", "-o", "unit.json"],
                "unit.json: must end in .sv or .v, not '.json'"),
    "waves": (["simulate", "m3xu", "--waves", "nowhere/w.fst"],
              "nowhere/w.fst: cannot be written: nowhere is not a directory"),
    "json": (["synth", "m3xu", "--json", "nowhere/r.json"],
             "nowhere/r.json: cannot be written: nowhere is not a directory"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_WORDS)
def test_bad_words(
    case: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments, expected = BAD_WORDS[case]
    assert complaint(arguments, capsys) == expected
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--seed", "--count"])
@pytest.mark.parametrize("value", ["-1", "many", "1_0", "1.0", "", " 1", "\u0661", "9" * 4500])
def test_bad_numbers(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = complaint(["simulate", "m3xu", option, value], capsys)
    allowed = {"--seed": "of at least 0", "--count": "in 1..1000000"}[option]
    assert said == f"{option} must be an integer {allowed}, not {value[:60]!r}"


BAD_FILES = {
    "rows = ": "is not TOML: Invalid value (at end of document)",
    "rows = " + "[" * 5000: "is not TOML: ",
    "rows = 1\nrows = 2\n": "is not TOML: Cannot overwrite a value (at line 2, column 9)",
    "rows = 'eight'\n": ": `rows` must be an integer in 1..64, not 'eight'",
    "rows = 2.5\n": ": `rows` must be an integer in 1..64, not 2.5",
    "rows = true\n": ": `rows` must be an integer in 1..64, not True",
    "[m3xu]\nrows = 2\n": ": unknown parameter 'm3xu'; `tilewright show m3xu` lists them all",
    "modes = ['fp8']\n": ": `modes` must be a non-empty subset of fp16, bf16, tf32, fp32, fp32c, ",
    "\xff": "is not TOML: 'utf-8' codec can't decode byte 0xff in position 0",
}


@pytest.mark.parametrize("content", BAD_FILES)
def test_bad_files(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "unit.toml"
    path.write_bytes(content.encode("latin-1"))
    said = complaint(["generate", "m3xu", "-c", str(path), "-o", str(tmp_path / "u.v")], capsys)
    expected = BAD_FILES[content]
    assert said.startswith(f"{path}{expected if expected.startswith(':') else ' ' + expected}")
    assert list(tmp_path.iterdir()) == [path]


def test_a_directory_as_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = complaint(["show", "m3xu", "-c", str(tmp_path)], capsys)
    assert said == f"{tmp_path}: Is a directory"


def test_a_mapping_of_another_unit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.py"
    path.touch()
    said = complaint(["show", "m3xu", "--spec", str(path)], capsys)
    assert said == f"{path}: must be TOML; t2s alone accepts a mapping, a .py file"


def test_output_below_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "unit.v"
    said = complaint(["generate", "m3xu", "-o", str(path)], capsys)
    assert said == f"{path}: cannot be written: {path.parent} is not a directory"


@pytest.mark.parametrize(
    ("sim", "missing"),
    [("icarus", "command `iverilog` (Debian package `iverilog`)"),
     ("verilator", "C++ compiler `g++` (Debian package `g++`)")],
)  # fmt: skip
def test_missing_simulator(
    sim: str,
    missing: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    find_compiler.cache_clear()
    said = complaint(["simulate", "m3xu", "--sim", sim], capsys)
    assert said == f"no {missing}"


def test_interrupted_output_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    # The cache, which is written in the same way, is filled first.
    before = tmp_path / "before.v"
    assert main(["generate", "m3xu", *SMALL, "-o", str(before)]) == 0
    for one in tmp_path.iterdir():
        one.unlink()
    capsys.readouterr()
    monkeypatch.setattr("tilewright.hw.spec.host.outputs.os.replace", full)
    path = tmp_path / "unit.v"
    said = complaint(["generate", "m3xu", *SMALL, "-o", str(path)], capsys)
    assert said == f"{path}: cannot be written: No space left on device"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["", "list", "table", "run dft"])
def test_short_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--help"]) == 0
    long = capsys.readouterr().out
    assert main([*command.split(), "-h"]) == 0
    assert capsys.readouterr().out == long
    assert f"Usage: tilewright {command}".rstrip() in long


def test_help_wraps_paragraphs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lines end where the terminal does, not where the docstring's do."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["run", "pagerank", "--help"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "compared with those of NetworkX, iterated further: the difference must be" in lines


def test_the_page_and_the_help_list_all_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """``tilewright table`` alone, and ``tilewright table --help`` at its end."""
    assert main(["table", "--help"]) == 0
    said = capsys.readouterr().out
    assert main(["table"]) == 0
    listed = capsys.readouterr().out
    assert listed in said
    lines = [line.split(maxsplit=1) for line in listed.splitlines() if line.startswith("  ")]
    assert lines == [[name, work.summary] for name, work in tables().items()]
    page = (ROOT / "docs" / "command-line.md").read_text()
    _, _, rest = page.partition("| table | what it measures |\n|---|---|\n")
    listed, _, _ = rest.partition("\n\n")
    rows = [f"| `{name}` | {work.summary} |" for name, work in tables().items()]
    assert listed.splitlines() == rows


def test_gcn_has_the_clock_of_both_its_units(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "gcn", "-h"]) == 0
    assert "in 0.01..100; │ │ default 1." in " ".join(capsys.readouterr().out.split())


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr() == (f"tilewright {tilewright.__version__}\n", "")


def test_module_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tilewright", "show", "m4xu"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: unknown unit 'm4xu'; did you mean 'm3xu'?\n"


# Long activities report to every listener; compilation time is counted separately.


class Heard:
    """A listener's memory: the event, what it was about, how far that was."""

    def __init__(self) -> None:
        self.events: list[tuple[Event, str, int, str]] = []

    def __call__(self, event: Event, one: Activity) -> None:
        self.events.append((event, one.what, one.done, one.detail))


def test_events_come_in_order_one_within_the_other() -> None:
    heard = Heard()
    with listening(heard), activity("outer", total=3) as outer:
        outer.step()
        with activity("inner") as inner:
            inner.about("a part")
        outer.step(2)
    assert heard.events == [
        ("begin", "outer", 0, ""),
        ("step", "outer", 1, ""),
        ("begin", "inner", 0, ""),
        ("step", "inner", 0, "a part"),
        ("end", "inner", 0, "a part"),
        ("step", "outer", 3, ""),
        ("end", "outer", 3, ""),
    ]


def test_an_error_ends_what_it_goes_through() -> None:
    heard = Heard()
    with pytest.raises(KeyboardInterrupt), listening(heard), activity("outer"), activity("inner"):
        raise KeyboardInterrupt
    assert [event[:2] for event in heard.events] == [
        ("begin", "outer"), ("begin", "inner"), ("end", "inner"), ("end", "outer"),
    ]  # fmt: skip
    with activity("unheard"):
        pass
    assert len(heard.events) == 4


def test_each_of_several_listeners_hears_what_is_its_own() -> None:
    first, second = Heard(), Heard()
    with listening(first):
        with listening(second), activity("both"):
            pass
        with activity("one"):
            pass
    assert [what for _, what, *_ in first.events] == ["both", "both", "one", "one"]
    assert [what for _, what, *_ in second.events] == ["both", "both"]


def test_compiling_is_counted_once_and_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts compilations on a fake clock: nested ones are part of the outer one, a failed one
    counts, and nothing else does."""
    now = 100.0
    monkeypatch.setattr("time.perf_counter", lambda: now)
    watch = Stopwatch()
    now += 1
    with activity("outer", compiles=True):
        now += 10
        with activity("inner", compiles=True):
            now += 20
    now += 2
    with activity("not compiling"):
        now += 4
    with suppress(KeyboardInterrupt), activity("again", compiles=True):
        now += 40
        raise KeyboardInterrupt
    assert watch.compiled == pytest.approx(70)
    assert watch.seconds == pytest.approx(7)
    assert Stopwatch().compiled == 0
