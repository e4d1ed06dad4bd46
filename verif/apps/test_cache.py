"""Where what is kept lies, and what becomes of a place that cannot be written."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tilewright.errors import told
from tilewright.hw.spec.host.cache import cache_directory
from tilewright.verif.kit.caches import with_tools
from tilewright.verif.kit.commands import SMALLEST

GENERATE = ["generate", "m3xu", *SMALLEST[:-2]]
LIMITED = """
import resource
import tilewright.sim.rtl.build as build
from tilewright.__main__ import run

verilate = build._verilate

def limited(*arguments):
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    verilate(*arguments)

build._verilate = limited
run()
"""
"""The command line, where no file of a build may grow beyond a page."""


def without_home(**more: str) -> dict[str, str]:
    """The environment of a process whose home is nowhere."""
    names = ("HOME", "XDG_CACHE_HOME", "TILEWRIGHT_CACHE", "YOWASP_CACHE_DIR")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    return {**kept, "HOME": "/proc/nowhere", **more}


def command(
    words: list[str], directory: Path, environment: dict[str, str], code: str | None = None
) -> subprocess.CompletedProcess[str]:
    start = ["-m", "tilewright"] if code is None else ["-c", code]
    return subprocess.run(
        [sys.executable, *start, *words],
        cwd=directory, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


@pytest.fixture
def here(tmp_path: Path) -> Path:
    directory = tmp_path / "here"
    directory.mkdir()
    return directory


@pytest.mark.slow
def test_one_directory_for_all(tmp_path: Path, here: Path) -> None:
    """The tools' own caches as well: nothing needs a home."""
    cache = with_tools(tmp_path / "cache")
    done = command([*GENERATE, "-o", "u.v"], here, without_home(TILEWRIGHT_CACHE="../cache"))
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in here.iterdir()) == ["u.json", "u.v"]
    assert [path.name for path in cache.iterdir()] == ["tools"]


@pytest.mark.slow
def test_no_place_at_all(tmp_path: Path, here: Path) -> None:
    private = with_tools(tmp_path / f"tilewright-{os.getuid()}")
    done = command([*GENERATE, "-o", "u.v"], here, without_home(TMPDIR=str(tmp_path)))
    assert done.returncode == 0
    assert done.stderr == (
        "warning: the cache /proc/nowhere/.cache/tilewright cannot be written: No such file or "
        f"directory; {private} is used, TILEWRIGHT_CACHE names another directory\n"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", private.name]


def test_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value, expected in [
        ("HOME", "home", "home/.cache/tilewright"),
        ("XDG_CACHE_HOME", "xdg", "xdg/tilewright"),
        ("TILEWRIGHT_CACHE", "own", "own"),
    ]:
        for other in ("XDG_CACHE_HOME", "TILEWRIGHT_CACHE"):
            monkeypatch.delenv(other, raising=False)
        monkeypatch.setenv(name, str(tmp_path / value) if name == "HOME" else value)
        assert cache_directory() == tmp_path / expected
        assert (tmp_path / expected).is_dir()


def test_no_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a container that runs under a number of its own."""

    def nobody(_: int) -> None:
        raise KeyError("no such user")

    for name in ("HOME", "XDG_CACHE_HOME", "TILEWRIGHT_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert cache_directory() == tmp_path / f"tilewright-{os.getuid()}"
    assert capsys.readouterr().err.startswith("warning: there is no home directory that could ")


def test_the_private_directory_is_ours_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    file = tmp_path / "file"
    file.touch()
    known = tmp_path / f"tilewright-{os.getuid()}"
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(file))
    assert [cache_directory(), cache_directory()] == [known, known]
    assert stat.S_IMODE(known.stat().st_mode) == 0o700
    assert capsys.readouterr().err.count("\n") == 1
    known.chmod(0o777)
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(file / "below"))
    other = cache_directory()
    assert other != known
    assert other.parent == tmp_path
    assert stat.S_IMODE(other.stat().st_mode) == 0o700


@pytest.mark.slow
def test_a_build_that_finds_no_room(tmp_path: Path, here: Path) -> None:
    """In what we write, and in what the compiler writes: one line, and nothing is left."""
    cache = with_tools(tmp_path / "cache")
    np.save(here / "a.npy", np.eye(2))
    words = ["run", "gemm", "a.npy", "a.npy", *SMALLEST]
    done = command(words, here, {**os.environ, "TILEWRIGHT_CACHE": str(cache)}, LIMITED)
    about = "error: m3xu could not be built for simulation: "
    assert (done.returncode, done.stdout) == (2, "")
    another = "TILEWRIGHT_CACHE names another directory\n"
    assert done.stderr == f"{about}the cache {cache} cannot be written: File too large; {another}"

    compiler = tmp_path / "compiler"
    compiler.write_text(
        "#!/bin/sh\n[ $1 = --version ] && exec echo compiler 1.0\n"
        "echo x.cpp:1: fatal error: error writing to x.s: No space left on device >&2\nexit 1\n"
    )
    compiler.chmod(0o755)
    variables = {**os.environ, "TILEWRIGHT_CACHE": str(cache), "CXX": str(compiler)}
    done = command(words, here, variables)
    assert (done.returncode, done.stdout) == (2, "")
    full = f"{about}compiler: No space left on device; the cache is {cache}, {another}"
    assert done.stderr == full
    assert [path.name for path in cache.glob("[!.]*")] == ["tools"]


def test_an_error_without_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python names none where a write fails."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", "/tmp")
    assert told(OSError(28, "No space left on device")) == (
        f"No space left on device: in the cache {tmp_path}, or in /tmp for temporary files"
    )
    assert told(OSError(13, "Permission denied", "x")) == "x: Permission denied"
