"""Schedules that the user requests: options, files, and tables of candidates."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.gta import GtaConfig
from tilewright.sim.gta.array_job import Schedule
from tilewright.sim.gta.schedule.cost import PGemm
from tilewright.sim.gta.schedule.evaluate import FilledChoice, evaluate, filled_candidates
from tilewright.sim.gta.tiles.choice import Choice, candidates, choose
from tilewright.verif.gta.devices import DEVICES, settings
from tilewright.verif.kit.commands import Run

M, N, K = 20, 24, 300
CYCLES = ("--backend", "cycles")


def product(run: Run, *words: object, mode: str = "int8", code: int = 0) -> Any:
    """The report of a run, whose values are checked."""
    rng = np.random.default_rng(81)
    a, b = rng.integers(-9, 10, (M, K)), rng.integers(-9, 10, (K, N))
    files = run.save("a.npy", a), run.save("b.npy", b)
    where, out = run.directory / "report.json", run.directory / "d.npy"
    given = ("gemm", *files, "--unit", "gta", "--mode", mode, *words, "--json", where, "-o", out)
    assert run(*given) == code
    assert np.array_equal(np.load(out), a @ b)
    report = run.report()
    assert report["mismatches"] == 0
    return report


def evaluated(schedule: Schedule) -> int:
    """Cycles of the model."""
    return evaluate(GtaConfig(), PGemm(m=M, n=N, k=K, format="int8"), schedule).cost.cycles


def test_segments(run: Run) -> None:
    """Considers only schedules with this number of segments."""
    report = product(run, "--segments", "2", "--layout", "1x2", "--dataflow", "os", *CYCLES)
    words = report["schedules"][0]["schedule"]
    assert words.startswith("os 1x2, 2 segments, ")
    schedule = Schedule(dataflow="os", rows=1, cols=2, segments=2, lateral="lateral" in words)
    assert report["cycles"] == evaluated(schedule)


def test_segments_on_the_rtl(run: Run, on_model: list[int]) -> None:
    """Runs on a model in place of the RTL: integer regions work at the same time, those of floats
    in succession."""
    report = product(run, "--segments", "2", "--backend", "rtl", *settings("all"))
    assert " 1x1, 2 segments, lateral, tiles of " in report["schedules"][0]["schedule"]
    assert report["schedules"][0]["file"]["segments"] == 2
    report = product(run, "--segments", "4", "--backend", "rtl", *settings("all"), mode="fp32")
    assert ", 4 segments, " in report["schedules"][0]["schedule"]
    assert len(on_model) == 2


FILES: dict[str, tuple[dict[str, Any], Schedule]] = {
    "os": ({"dataflow": "os", "layout": "4x1", "segments": 1, "direction": "vertical"},
           Schedule(dataflow="os", rows=4, cols=1, lateral=False)),
    "segments": ({"dataflow": "ws", "layout": "2x1", "segments": 2, "direction": "lateral",
                  "filled": False}, Schedule(dataflow="ws", rows=2, cols=1, segments=2)),
    "filled": ({"dataflow": "os", "layout": "1x4", "segments": 1, "direction": "vertical",
                "filled": True}, Schedule(dataflow="os", rows=1, cols=4, lateral=False,
                                          filled=True)),
    "vectors": ({"dataflow": "simd", "layout": "4x1", "segments": 1, "direction": "vertical"},
                Schedule(dataflow="simd", rows=4, cols=1, lateral=False)),
    "along": ({"dataflow": "simd", "along": True, "direction": "vertical"},
              Schedule(dataflow="simd", rows=4, cols=1, lateral=False, along=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_a_file_is_obeyed(run: Run, name: str, suffix: str) -> None:
    content, schedule = FILES[name]
    path = run.directory / f"s.{suffix}"
    toml = "\n".join(f"{key} = {json.dumps(value)}" for key, value in content.items())
    path.write_text(json.dumps(content) if suffix == "json" else toml)
    report = product(run, "--schedule", path, *CYCLES)
    assert report["schedules"][0]["schedule"] == schedule.words
    assert report["cycles"] == evaluated(schedule)
    assert report["schedules"][0]["file"] == {
        key: value for key, value in content.items() if value is not False
    }


@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_what_is_saved_is_taken_again(run: Run, suffix: str, on_model: list[int]) -> None:
    """Both backends accept a saved schedule."""
    path = run.directory / f"s.{suffix}"
    for backend in (CYCLES, ("--backend", "rtl", *settings("all"))):
        found = product(run, "--save-schedule", path, *backend)["schedules"][0]
        assert f"written to {path}" in run.out.replace("\n", "")
        content = path.read_text()
        saved = json.loads(content) if suffix == "json" else tomllib.loads(content)
        assert saved == found["file"]
        again = product(run, "--schedule", path, *backend)["schedules"][0]
        assert again == found
    assert len(on_model) == 2


def test_direction_and_layout_on_the_rtl(run: Run, on_model: list[int]) -> None:
    path = run.directory / "s.toml"
    path.write_text('dataflow = "is"\nlayout = "1x2"\ndirection = "vertical"\n')
    report = product(run, "--schedule", path, "--backend", "rtl", *settings("all"))
    assert report["schedules"][0]["schedule"].startswith("is 1x2, vertical, tiles of ")
    assert len(on_model) == 1


def test_explain_on_the_rtl(run: Run, on_model: list[int]) -> None:
    """Explains the driver's estimates, the chosen one first, next to the scores of schedules."""
    report = product(run, "--explain", "--backend", "rtl", *settings("all"))
    assert "…" not in run.out
    lines = [line for line in run.out.splitlines() if re.match("│ (ws|is|os) ", line)]
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines]
    config = DEVICES["all"].config
    found: list[Choice | FilledChoice] = [*candidates(config, "int8", (M, N, K), segments=None)]
    assert len(found) == 3 * 2 + 3
    found += filled_candidates(config, "int8", (M, N, K))
    assert len(cells) == len(found)
    assert report["schedules"][0]["schedule"].startswith(f"{cells[0][0]}, tiles of ")
    estimated = [int(row[2].replace(",", "")) for row in cells]
    assert sorted(estimated) == sorted(one.cycles for one in found)
    assert estimated[1:] == sorted(estimated[1:])
    assert min(float(row[5]) for row in cells if row[5]) >= 2
    assert len(on_model) == 1


def test_the_driver_may_choose_segments() -> None:
    """The least estimate of one, two and four at the same time."""
    config, sizes = GtaConfig(), (8, 8, 4096)
    each = [choose(config, "int8", sizes, segments=segments) for segments in (1, 2, 4)]
    best = choose(config, "int8", sizes, segments=None)
    assert best is not None
    assert best.cycles == min(one.cycles for one in each if one)
    assert len(best.regions) > 1


@pytest.mark.parametrize(
    ("name", "content", "words", "line"),
    [
        ("s.toml", 'tile = 3', (), "{s}: a key must be one of dataflow, layout, segments, "
                                   "direction, filled, along, not 'tile'"),
        ("s.toml", 'dataflow = "rs"', (),
         "{s}: dataflow must be one of auto, ws, is, os, simd, not 'rs'"),
        ("s.toml", 'dataflow = "ws"', ("--mode", "fp32"),
         "{s}: dataflow must be one of auto, os, simd in fp32, not 'ws'"),
        ("s.toml", 'layout = "3x1"', (),
         "{s}: layout must be one of 1x4, 2x2, 4x1, as there are 4 lanes, not '3x1'"),
        ("s.toml", 'layout = "2x2"\nsegments = 2', (),
         "{s}: layout must be one of 1x2, 2x1, as there are 2 lanes a segment, not '2x2'"),
        ("s.toml", 'layout = 4', (),
         "{s}: layout must be one of 1x4, 2x2, 4x1, as there are 4 lanes, not 4"),
        ("s.json", '{"segments": 3}', (),
         "{s}: segments must be one of 1, 2, 4 in int8, as there are 4 lanes, not 3"),
        ("s.json", '{"segments": true}', (),
         "{s}: segments must be one of 1, 2, 4 in int8, as there are 4 lanes, not True"),
        ("s.json", '{"segments": [1]}', (),
         "{s}: segments must be one of 1, 2, 4 in int8, as there are 4 lanes, not [1]"),
        ("s.json", '{"segments": 8}', ("--mode", "fp32"),
         "{s}: segments must be one of 1, 2, 4 in fp32, not 8"),
        ("s.toml", 'dataflow = "ws"\nalong = true', (),
         "{s}: along must be false with ws, not True"),
        ("s.toml", 'dataflow = "simd"\nalong = true\nlayout = "2x2"', (),
         "{s}: along must be false with a layout, not True"),
        ("s.json", '{"segments": 2, "dataflow": "simd"}', (),
         "{s}: segments must be 1 with simd, not 2"),
        ("s.json", '{"direction": "up"}', (),
         "{s}: direction must be one of lateral, vertical, not 'up'"),
        ("s.json", '{"filled": 1}', (), "{s}: filled must be true or false, not 1"),
        ("s.json", '{"filled": true, "dataflow": "simd"}', (),
         "{s}: filled must be false with simd, not True"),
        ("s.json", '{"filled": true, "segments": 2}', ("--backend", "rtl"),
         "{s}: filled must be false with 2 segments, not True"),
        ("s.json", '[1]', (),
         "{s}: must hold an object with keys of dataflow, layout, segments, direction, filled, "
         "along"),
        ("s.json", '{', (), None),
        ("s.toml", '=', (), None),
        ("s.txt", '', (), "{s}: must end in .toml or .json"),
        ("s.toml", '', ("--layout", "2x2"),
         "--layout must not come with --schedule, which says it; it is '2x2'"),
        ("s.toml", '', ("--segments", "2"),
         "--segments must not come with --schedule, which says it; it is 2"),
        ("", '', ("--segments", "3"),
         "--segments must be one of 1, 2, 4 in int8, as there are 4 lanes, not 3"),
        ("", '', ("--explain", "--backend", "model"),
         "--explain must come with backend rtl or cycles, not with model"),
        ("", '', ("--explain", "--backend", "rtl", "--dataflow", "simd"),
         "--explain must come with ws, is, os or auto on the RTL, not with simd"),
        ("", '', ("--save-schedule", "x.toml", "--backend", "model"),
         "--save-schedule must come with backend rtl or cycles, not with model"),
        ("", '', ("--unit", "m3xu", "--mode", "fp16", "--segments", "2"),
         "--segments must come with --unit gta, not m3xu, as 2"),
        ("", '', ("--unit", "m3xu", "--mode", "fp16", "--save-schedule", "x.toml"),
         "--save-schedule must come with --unit gta, not m3xu, as 'x.toml'"),
    ],
)  # fmt: skip
def test_refusals(
    run: Run, name: str, content: str, words: tuple[str, ...], line: str | None
) -> None:
    """Refuses each with one line that names file, key, value and what is allowed; writes
    nothing."""
    a = run.save("a.npy", np.ones((3, 3)))
    given: list[object] = ["gemm", a, a]
    for option, value in (("--unit", "gta"), ("--mode", "int8"), ("--backend", "cycles")):
        given += [] if option in words else [option, value]
    path = run.directory / name
    if name:
        path.write_text(content)
        given += ["--schedule", path]
    out = run.directory / "d.npy"
    said = run.refused(*given, *words, "-o", out)
    if line is None:
        assert said.startswith(f"{path} is not {'TOML' if name == 's.toml' else 'JSON'}: ")
    else:
        assert said == line.format(s=path)
    assert not out.exists()


def test_a_file_that_there_is_not(run: Run, tmp_path: Path) -> None:
    a = run.save("a.npy", np.ones((3, 3)))
    path = tmp_path / "none.toml"
    line = run.refused("gemm", a, a, "--unit", "gta", *CYCLES, "--schedule", path)
    assert line == f"{path}: cannot be read: No such file or directory"
