"""Every report for machines: the request, the version, the files."""

import gzip
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
import typer
from scipy.io import mmwrite
from scipy.sparse import eye_array, random_array, triu
from tilewright.cli import main
from tilewright.commands import COMMANDS
from tilewright.commands.application import OUTPUTS, application
from tilewright.hw.emit.unit import describe
from tilewright.hw.spec.host.activity import InputFile, noting
from tilewright.hw.spec.host.inputs import read_bytes
from tilewright.hw.spec.simd2 import SIMD2
from tilewright.registry import System, Work, commands, entries, registered, tables
from tilewright.settings import read_config
from tilewright.synth.cells import library_text
from tilewright.synth.tables import Row, Table
from tilewright.verif.kit.sampling import slow_but

pytestmark = pytest.mark.quick

READ = {
    "--config", "--c", "--labels", "--query-labels", "--mask", "--right", "--program", "--x",
    "--schedule", "--weights", "--solve", "--liberty-path", "--rtl", "--activity",
}  # fmt: skip
"""Options whose files are read."""

FAMILIES = {
    "list": (),
    "show simd2 -c simd2.toml": ("simd2.toml",),
    "table read-here graph.mtx --set tile=2": ("graph.mtx",),
    "table sida-reuse graph.mtx": ("graph.mtx",),
    "synth m3xu -c m3xu.toml --target liberty:cells.lib --effort area": ("m3xu.toml", "cells.lib"),
    "simulate simd2 -c simd2.toml --count 8 --seed 5": ("simd2.toml",),
    "run gemm a.npy graph.mtx --c a.npy --backend model": ("a.npy", "graph.mtx"),
    "run gemm a.npy graph.mtx --unit simd2 --on engine --backend cycles": ("a.npy", "graph.mtx"),
    "run dft signal.npy --backend model": ("signal.npy",),
    "run conv2d picture.png --backend model": ("picture.png",),
    "run apsp graph.mtx --backend model -c simd2.toml": ("simd2.toml", "graph.mtx"),
    "run apsp graph.mtx --sparse --backend model": ("graph.mtx",),
    "run knn a.npy a.npy --labels labels.npy --backend model": ("a.npy", "labels.npy"),
    "run spgemm graph.mtx --backend model": ("graph.mtx",),
    "run triangles graph.mtx.gz --backend model": ("graph.mtx.gz",),
    "run mcl graph.mtx --backend model": ("graph.mtx",),
    "run spmm graph.mtx a.npy --backend model": ("graph.mtx", "a.npy"),
    "run spmttkrp tensor.tns --backend model --seed 3": ("tensor.tns",),
    "run cpd tensor.tns --backend model --seed 4": ("tensor.tns",),
    "run gcn graph.mtx a.npy --backend model --seed 2": ("graph.mtx", "a.npy"),
    "run gcn graph.mtx a.npy --unit sida --backend model": ("graph.mtx", "a.npy"),
    "run pagerank graph.mtx --backend model": ("graph.mtx",),
    "run cg definite.mtx --right signal.npy --backend model": ("definite.mtx", "signal.npy"),
    "run kmeanspp a.npy --backend model --seed 6": ("a.npy",),
    "run gemm a.npy graph.mtx --unit gta --backend model": ("a.npy", "graph.mtx"),
    "run bignum one.txt two.txt --backend model": ("one.txt", "two.txt"),
    "run color photo.png --backend model": ("photo.png",),
    "run fir labels.npy labels.npy --backend model": ("labels.npy",),
    "run lu a.npy --backend model": ("a.npy",),
    "run pca a.npy --backend model": ("a.npy",),
    "run mlp --samples 8 --backend model --seed 3": (),
    "run passes graph.mtx --program own.ew --x signal.npy --backend model": (
        "graph.mtx", "own.ew", "signal.npy",
    ),
}  # fmt: skip
"""Commands, and the files that they read."""
QUICK = [
    "list",
    "show simd2 -c simd2.toml",
    "table read-here graph.mtx --set tile=2",
    "run dft signal.npy --backend model",
]
_COMPILES = ("run apsp graph.mtx --sparse", "simulate")
LONG = [words for words in FAMILIES if words.startswith(_COMPILES)]
"""Command lines that compile first. Another test simulates the toy, with a report."""


def read_here(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    files: Sequence[Path] = (),
    settings: Sequence[str] = (),
) -> Table:
    """A table of the sizes of files."""
    read_config(SIMD2, None, settings)
    rows = [Row(str(file), [None], [len(read_bytes(file))]) for file in files]
    return Table("read-here", target, ["bytes"], rows)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to be in, with a file of each kind."""
    from PIL import Image

    rng = np.random.default_rng(7)
    graph = triu(random_array((16, 16), density=0.3, rng=rng), k=1)
    mmwrite(tmp_path / "graph.mtx", (graph + graph.T).tocoo())
    packed = gzip.compress((tmp_path / "graph.mtx").read_bytes())
    (tmp_path / "graph.mtx.gz").write_bytes(packed)
    mmwrite(tmp_path / "definite.mtx", (graph + graph.T + eye_array(16) * 9).tocoo())
    np.save(tmp_path / "a.npy", rng.integers(0, 9, (16, 16)).astype(float))
    np.save(tmp_path / "labels.npy", rng.integers(0, 3, 16))
    np.save(tmp_path / "signal.npy", rng.standard_normal(16))
    (tmp_path / "tensor.tns").write_text("1 1 1 2.0\n2 3 1 1.5\n3 2 2 -1.0\n")
    Image.fromarray(rng.integers(0, 255, (9, 8)).astype(np.uint8)).save(tmp_path / "picture.png")
    photo = rng.integers(0, 255, (5, 4, 3)).astype(np.uint8)
    Image.fromarray(photo).save(tmp_path / "photo.png")
    (tmp_path / "one.txt").write_text("123456789123456789\n")
    (tmp_path / "two.txt").write_text("0xfedcba9876543210\n")
    (tmp_path / "cells.lib").write_text(library_text())
    (tmp_path / "own.ew").write_text("vector u\ne1:\n    store u, y\n    out y\ne2:\n    out y\n")
    (tmp_path / "simd2.toml").write_text("tile = 2\n")
    (tmp_path / "m3xu.toml").write_text('rows = 1\ncols = 1\ndepth = 4\nmodes = ["fp16"]\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def table_here() -> Iterator[None]:
    """Registers a table ``read-here``."""
    work = Work(f"{read_here.__module__}:read_here", "A table of the sizes of files.")
    with registered(System(name="here", entries=(), tables={"read-here": work})):
        yield


def reported(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The report of a command, which is all that it prints."""
    assert main([*words, "--json", "-"]) in (0, 1)
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


@pytest.mark.parametrize(
    "command", slow_but(QUICK, FAMILIES, [one for one in FAMILIES if one not in LONG])
)
@pytest.mark.usefixtures("table_here")
def test_what_every_report_holds(
    command: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = command.split()
    report = reported(words, capsys)
    assert list(report)[:2] == ["version", "command"]
    assert report["version"] == tilewright.__version__
    assert report["command"] == f"tilewright {command} --json -"
    expected = [
        {
            "file": name,
            "sha256": hashlib.sha256((files / name).read_bytes()).hexdigest(),
            "bytes": (files / name).stat().st_size,
        }
        for name in FAMILIES[command]
    ]
    assert sorted(report["inputs"], key=str) == sorted(expected, key=str)
    if "--seed" in words:
        assert report["seed"] == int(words[words.index("--seed") + 1])
    if words[0] == "run":
        assert report["config"].keys() == resolved(report["unit"]).keys()
    if words[0] in ("run", "show", "simulate") and "simd2.toml" in words:
        assert report["config"] == resolved("simd2", tile=2)


def resolved(unit: str, **settings: int) -> dict[str, Any]:
    """The configuration of a unit, as a report has it."""
    found = entries()[unit].unit.config(**settings).resolved()
    made: dict[str, Any] = json.loads(json.dumps(found))
    return made


@pytest.mark.usefixtures("files", "table_here")
def test_a_table_says_what_it_measured(capsys: pytest.CaptureFixture[str]) -> None:
    report = reported(["table", "read-here", "--set", "tile=2"], capsys)
    assert report["configs"] == [{"unit": "simd2", "config": resolved("simd2", tile=2)}]
    assert report["rows"] == []


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    report = reported(["list"], capsys)
    assert [unit["name"] for unit in report["units"]] == list(entries())
    for unit, entry in zip(report["units"], entries().values(), strict=True):
        assert unit["summary"] == entry.unit.summary
        assert unit["takes_jobs"] == (entry.unit.jobs is not None)
        assert unit["config"] == resolved(unit["name"])
    assert [table["name"] for table in report["tables"]] == list(tables())
    assert report["commands"] == [
        {"name": name, "summary": work.summary} for name, work in commands().items()
    ]


@pytest.mark.parametrize("unit", slow_but(["simd2", "matraptor"], entries()))
def test_what_is_shown(unit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same for machines and for people."""
    assert main(["show", unit, "--json", str(tmp_path / "unit.json")]) == 0
    shown = "".join(capsys.readouterr().out.split())
    report = json.loads((tmp_path / "unit.json").read_text())
    chosen = entries()[unit].unit
    config = chosen.config()
    names = [item.name for item in chosen.config.parameters()]
    assert [item["name"] for item in report["parameters"]] == names
    for item in report["parameters"]:
        declared = next(one for one in config.parameters() if one.name == item["name"])
        values = [getattr(config, declared.name), config.default_of(declared)]
        assert [item["value"], item["default"]] == json.loads(json.dumps(values))
        assert item["allowed"]
        assert item["doc"]
    sidecar = report["sidecar"]
    assert sidecar == json.loads(json.dumps(describe(chosen, config)))
    assert ("registers" in sidecar) == (chosen.jobs is not None)
    lines = [(one["name"], one["access"]) for one in sidecar.get("registers", ())]
    lines += [(one["prefix"], one["role"]) for one in sidecar.get("axi", ())]
    lines += [(one["name"], one["found"]) for one in sidecar.get("jobs", {}).get("errors", ())]
    lines += [(f"port{one['name']}:", one["direction"]) for one in sidecar.get("ports", ())]
    lines += [(one["name"], one["direction"]) for one in sidecar["streams"]]
    for first, second in lines:
        assert first in shown
        assert second in shown[shown.index(first) :]


def test_alone_on_standard_output() -> None:
    """Runs the command in a new process: standard output holds only the report."""
    command = [sys.executable, "-m", "tilewright", "list", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (json.loads(done.stdout)["command"], done.stderr) == ("tilewright list --json -", "")


@pytest.mark.parametrize(
    ("words", "lost"),
    [
        (["run", "gemm", "a.npy", "a.npy", "-o", "a.npy"], "a.npy"),
        (["run", "gemm", "a.npy", "a.npy", "--backend", "model", "-o", "link.npy"], "link.npy"),
        (["run", "spgemm", "graph.mtx", "-o", "sub/../graph.mtx"], "sub/../graph.mtx"),
        (["generate", "simd2", "-c", "simd2.toml", "-o", "simd2.toml"], "simd2.toml"),
        (["table", "sida-reuse", "graph.mtx", "--plot", "graph.mtx"], "graph.mtx"),
        (["show", "simd2", "-c", "simd2.toml", "--json", "simd2.toml"], "simd2.toml"),
    ],
)
def test_an_output_that_is_read(
    words: list[str], lost: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / "link.npy").symlink_to("a.npy")
    (files / "sub").mkdir()
    before = {path: path.read_bytes() for path in files.iterdir() if path.is_file()}
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"error: {lost}: must not be a file that is read, which would be lost\n"
    assert before == {path: path.read_bytes() for path in files.iterdir() if path.is_file()}


def test_files_are_read_or_written() -> None:
    """Every option that takes a file either reads or writes it, and the tables say which."""
    found: set[str] = set()
    for words in [
        *([name] for name, command in COMMANDS.items() if not command.group),
        *([group, name] for group in ("run", "tcu", "t2s") for name in commands(group)),
    ]:
        command: Any = typer.main.get_command(application(words[0], words[1:]))
        for word in words:
            command = command.commands[word]
        paths = [option for option in command.params if "Path" in str(vars(option))]
        found |= {option.opts[-1] for option in paths if option.param_type_name == "option"}
    assert found == READ | set(OUTPUTS)


def test_notes(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "later").write_bytes(b"")
    with noting() as outer:
        for _ in range(2):
            read_bytes(tmp_path / "file")
        with noting() as inner:
            read_bytes(tmp_path / "later")
    read_bytes(tmp_path / "file")
    assert [file.bytes for file in outer.files] == [3, 0]
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert inner.files == [InputFile(str(tmp_path / "later"), empty, 0)]
