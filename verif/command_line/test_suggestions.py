"""Unknown words, and names that are left out: what is suggested, or where a list is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer
from tilewright.cli import main
from tilewright.commands.application import application
from tilewright.hw.spec.host.words import close_words, did_you_mean, not_one_of, unknown
from tilewright.registry import commands, tables
from tilewright.verif.kit.commands import complaint

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("word", "close"),
    [
        ("rwos", ["rows"]),
        ("ROWS", ["rows"]),
        ("gem", ["gemm", "gemv"]),
        ("pagernk", ["pagerank"]),
        ("x", []),
        ("", []),
        ("r", []),
        ("z" * 10_000, []),
    ],
)
def test_close_words(word: str, close: list[str]) -> None:
    assert close_words(word, ["rows", "cols", "gemm", "gemv", "pagerank"]) == close


def test_too_many_close_words_are_none() -> None:
    names = [f"conv{number}" for number in range(6)]
    assert close_words("conv", names) == []
    assert close_words("conv", names[1:]) == names[1:]
    assert unknown("layer", "conv", names, "list") == "unknown layer 'conv'; `list` lists them all"


def test_suggestions_beside_a_list() -> None:
    """Suggests only very similar words, and never another format."""
    assert did_you_mean("cycels", ["rtl", "cycles"]) == "; did you mean 'cycles'?"
    assert did_you_mean("FP16", ["fp16", "fp32"]) == "; did you mean 'fp16'?"
    assert did_you_mean("int4", ["int8", "int64"]) == ""
    assert not_one_of("mode", ["a", "b"], 3, " here") == "mode must be one of a, b here, not 3"


TYPED = {
    "sho m3xu": "unknown command 'sho'; did you mean 'show'?",
    "gemm a.npy b.npy": "unknown command 'gemm'; did you mean 'run gemm'?",
    "run pagernk a.mtx": "unknown command of run 'pagernk'; did you mean 'pagerank'?",
    "tcu callibrate": "unknown command of tcu 'callibrate'; did you mean 'calibrate'?",
    "show engine-simd2": "unknown unit 'engine-simd2'; did you mean 'engine_simd2'?",
    "show nothing": "unknown unit 'nothing'; `tilewright list` lists them all",
    "table m3xu_area": "unknown table 'm3xu_area'; did you mean 'm3xu-area'?",
    "table nothing": "unknown table 'nothing'; `tilewright table` lists them all",
    "show m3xu --set rwos=4": "m3xu: unknown parameter 'rwos'; did you mean 'rows'?",
    "show m3xu --set speed=4":
        "m3xu: unknown parameter 'speed'; `tilewright show m3xu` lists them all",
    "show m3xu --set data_assignment=pipelind": "m3xu: `data_assignment` must be one of "
    "combinational, pipelined, not 'pipelind'; did you mean 'pipelined'?",
    "show m3xu --set modes=fp16,fp32cc": "m3xu: `modes` must be a non-empty subset of fp16, bf16, "
    "tf32, fp32, fp32c, not 'fp16,fp32cc'; did you mean 'fp32c'?",
    "simulate m3xu --sed 3": "unknown option '--sed'; did you mean '--seed'?",
    "simulate m3xu --sim verilater": "--sim must be one of verilator, icarus, not 'verilater'; did "
    "you mean 'verilator'?",
    "synth m3xu --target ecp": "`target` must be one of cmos, liberty:FILE, asap7, gscl45nm, "
    "sg13g2, sky130hd, ecp5, ice40, not 'ecp'",
    "show m3xu --rows 8": "unknown option '--rows'; did you mean '--set rows=VALUE'?",
    "show t2s --set design=mtkrp": "t2s: unknown design 'mtkrp'; did you mean 'mttkrp'?",
    "show m3xu --colour red":
        "unknown option '--colour'; `tilewright show --help` lists them all",
    "run spgemm a.mtx --queue-depth 8":
        "unknown option '--queue-depth'; did you mean '--set queue_depth=VALUE'?",
    "--versoin": "unknown option '--versoin'; did you mean '--version'?",
    "run gemm a.npy b.npy --unit simd2 --backend modell": "backend must be one of rtl, model, not "
    "'modell'; did you mean 'model'?",
    "run gemm a.npy b.npy --mode FP32": "did you mean 'fp32'?",
    "run spgemm a.mtx --semiring min-plus": "did you mean 'minplus'?",
    "run pca a.npy --backend cycels": "did you mean 'cycles'?",
}  # fmt: skip


@pytest.mark.parametrize("words", TYPED)
def test_what_is_suggested(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    said, expected = complaint(words.split(), capsys), TYPED[words]
    assert said.endswith(expected) if expected.startswith("did") else said == expected


@pytest.mark.parametrize(
    ("command", "titles"),
    [
        ("run", ["dense", "graphs", "sparse", "tensors", "solvers", "tensor-unit algorithms",
                 "mapping"]),
        ("table", ["All units", "M3XU", "SIMD2", "MatRaptor", "Tensaurus",
                   "SIDA and the OEI dataflow", "GTA", "(m, l)-TCU model", "T2S-Tensor", "Boards"]),
        ("tcu", []),
        ("t2s", []),
    ],
)  # fmt: skip
def test_a_command_alone_lists_what_it_accepts(
    command: str, titles: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = [line for line in out.splitlines() if not line.startswith("`")]
    listed = [line.split(maxsplit=1) for line in lines if line.startswith("  ")]
    known = tables() if command == "table" else commands(command)
    assert sorted(listed) == sorted([name, work.summary] for name, work in known.items())
    assert [line for line in lines if not line.startswith(" ")] == titles


def test_every_computation_and_table_is_in_a_group() -> None:
    works = {**commands("run"), **tables()}
    assert [name for name, work in works.items() if not work.group] == []


BLANK = {
    ("generate", "m3xu", "-o", ""): "-o/--output",
    ("generate", "m3xu", "-o", " "): "-o/--output",
    ("generate", "m3xu", "--output="): "-o/--output",
    ("generate", "m3xu", "-o", "unit.v", "--header", ""): "--header",
    ("simulate", "m3xu", "--waves", "\t"): "--waves",
    ("synth", "m3xu", "--json", ""): "--json",
    ("table", "sida-reuse", "--csv", ""): "--csv",
    ("show", "m3xu", "-c", ""): "-c/--spec/--config",
    ("run", "gemm", "", "b.npy"): "A",
    ("run", "pca", "a.npy", "-o", ""): "-o/--output",
}


@pytest.mark.parametrize("words", BLANK)
def test_blank_names_of_files(
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    said = complaint(list(words), capsys)
    assert said.startswith(f"{BLANK[words]} must be a path, not '")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("sys.exit()", "SystemExit: "),
        ("sys.exit('enough')", "SystemExit: enough"),
        ("raise BaseException('odd')", "BaseException: odd"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_mapping_that_stops(
    line: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "own.py"
    file.write_text(f"import sys\n{line}\n")
    told = complaint(["show", "t2s", "--spec", str(file)], capsys)
    assert told == f"{file}: own.py:2: {said}".rstrip()


def test_a_layer_is_refused_by_the_name_that_was_typed(capsys: pytest.CaptureFixture[str]) -> None:
    for words, name in ((["conv9"], "the layer"), (["--only", "conv9"], "--only")):
        said = complaint(["table", "gta-schedules", *words], capsys)
        assert said.startswith(f"{name} must be one of conv1, conv2, ")


# Options of ``run`` that name one of several things by its number count from 1, as Matrix Market
# and .tns files do, and say so.

COUNTED = {
    *((name, "--source") for name in ("bfs", "khop", "sssp")),
    *((name, flag) for name in ("spmttkrp", "spttmc") for flag in ("--mode", "--factor")),
}
"""Some of them."""


def options(name: str) -> list[Any]:
    """Returns the options of a command of ``run``."""
    command: Any = typer.main.get_command(application("run", [name]))
    return [
        option
        for option in command.commands["run"].commands[name].params
        if option.param_type_name == "option"
    ]


def test_numbers_count_from_1() -> None:
    """Options whose help says where they count from say 1."""
    found = set()
    for name in commands():
        for option in options(name):
            text = str(option.help)
            if option.opts[-1] not in ("-o", "--output", "--zero-based"):
                assert not re.search(r"\bfrom 0\b", text), (name, option.opts)
            if "counted from 1" in text:
                found.add((name, option.opts[-1]))
    assert found >= COUNTED
