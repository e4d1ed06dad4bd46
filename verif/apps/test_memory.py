"""``tilewright run`` of sparse products: the memory they take; what is refused for want of it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import mmread, mmwrite
from scipy.sparse import random_array
from tilewright.apps.common import memory, session
from tilewright.apps.common.memory import available_memory, in_words
from tilewright.apps.common.options import DeviceOptions
from tilewright.apps.common.units.matraptor import LINE_BYTES, choose_sparse_unit
from tilewright.apps.graphs.commands import mcl, triangles
from tilewright.errors import UserError, told
from tilewright.hw.spec.host.cache import cache_directory
from tilewright.sim.device.driver import NoRoom, Placement
from tilewright.sim.matraptor.driver import SparseDriver
from tilewright.verif.kit.commands import SMALLEST, Run
from tilewright.verif.kit.data import with_tools
from tilewright.verif.kit.sampling import slow_but

GIBIBYTE = 1 << 30
MODEL = ("--backend", "model")
FIGURES = {
    "spgemm": LINE_BYTES * 2,
    "mcl": mcl.VERTEX_BYTES,
    "triangles": triangles.VERTEX_BYTES,
}
"""Bytes for a row and a column without entries, by command."""


def almost_empty(path: Path, size: int) -> Path:
    """A square matrix of one entry."""
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n{size} {size} 1\n2 1 1\n")
    return path


@pytest.mark.parametrize("backend", ["model", "cycles", "rtl"])
@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("spgemm", "a product of 2000000000 x 2000000000 would take some 558.8 GiB of memory"),
        ("mcl", "clusters of 2000000000 vertices would take some 838.2 GiB of memory"),
        ("triangles", "triangles of 2000000000 vertices would take some 1.3 TiB of memory"),
    ],
)
def test_a_header_that_asks_for_too_much(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str, line: str, backend: str
) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 24 * GIBIBYTE)
    file = almost_empty(run.directory / "a.mtx", 2_000_000_000)
    said = run.refused(command, file, "--backend", backend)
    assert said == f"{file}: {line}; 24.0 GiB are available"


@pytest.mark.slow
@pytest.mark.parametrize("command", FIGURES)
def test_the_estimate_is_not_far_off(run: Run, command: str) -> None:
    taken = []
    for size in (10, 10, 20_000):
        file = almost_empty(run.directory / "a.mtx", size)
        tracemalloc.start()
        try:
            assert run(command, file, *MODEL) == 0
            taken.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    each = (taken[-1] - taken[-2]) / 20_000
    assert FIGURES[command] / 3 < each < FIGURES[command]


def test_what_is_available(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < available_memory() < 1 << 50
    code = "import resource; from tilewright.apps.common.memory import available_memory;"
    code += "a = available_memory(); resource.setrlimit(resource.RLIMIT_{0}, ({1},) * 2);"
    code += "print(a, available_memory())"
    for name in ("AS", "DATA"):
        command = [sys.executable, "-c", code.format(name, GIBIBYTE)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        before, after = map(int, done.stdout.split())
        assert after < min(before, GIBIBYTE)
    sizes = {0: "0 bytes", 1023: "1023 bytes", 1536: "1.5 KiB", 1 << 40: "1.0 TiB"}
    assert {size: in_words(size) for size in sizes} == sizes


def test_no_room_says_how_much_would_do() -> None:
    with pytest.raises(NoRoom) as caught:
        Placement(100, 1000, 64).fit({"a": 128, "b": 745}, "both")
    assert caught.value.end == 128 + 128 + 745


def test_devices_grow_with_their_jobs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces the device by larger ones when a job, or a part of it, does not fit."""
    monkeypatch.setattr(session, "FIRST_BYTES", 1 << 12)
    made: list[int] = []
    honest = session.opened

    def counted(choice: Any, backend: str, size: int) -> Any:
        made.append(size)
        return honest(choice, backend, size)

    monkeypatch.setattr(session, "opened", counted)
    file, output = run.directory / "a.mtx", run.directory / "c.mtx"
    matrix = random_array((60, 60), density=0.3, rng=np.random.default_rng(6)).tocoo()
    mmwrite(file, matrix)
    settings = ("--set", "queues=3", "--set", "queue_depth=8", "--set", "value=fp64")
    assert run("spgemm", file, "-o", output, *settings, *MODEL) == 0
    assert made[0] == 1 << 12 < made[-1] < 1 << 20
    expected = (matrix @ matrix).toarray()
    np.testing.assert_allclose(mmread(output).toarray(), expected, rtol=1e-13)
    choice = choose_sparse_unit(DeviceOptions(backend="model", settings=["addr_bits=32"]))

    def beyond(driver: object) -> None:
        raise NoRoom("beyond its addresses", (1 << 32) + 1)

    with pytest.raises(UserError, match=r"^beyond its addresses$"):
        session.Session(choice, SparseDriver).run(beyond)

    def none(choice: Any, backend: str, size: int) -> Any:
        if made:
            raise MemoryError
        return counted(choice, backend, size)

    made.clear()
    monkeypatch.setattr(session, "opened", none)
    with pytest.raises(UserError, match=r"^the product takes .* KiB of the accelerator's memory; "):
        run("spgemm", file, *settings, *MODEL)


@pytest.mark.parametrize("backend", slow_but([], ["model", "cycles", "rtl"], ["model"]))
def test_a_small_product_in_little_memory(tmp_path: Path, backend: str) -> None:
    """A small product runs with 8 GB of address space (``ulimit -v 8000000``)."""
    file = almost_empty(tmp_path / "a.mtx", 6)
    words = ["run", "spgemm", str(file), "--backend", backend, "--lanes", "2"]
    words += ["--set", "queues=5", "--set", "outstanding=16"]
    limited = ["sh", "-c", 'ulimit -v 8000000; exec "$@"', "-", sys.executable, "-m", "tilewright"]
    done = subprocess.run(
        [*limited, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "6 x 6, 1 entries" in done.stdout


# The location of the cache, and locations that cannot be written.

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
    """Chooses a temporary directory if the user has no home, as in a container."""

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
    """A full disk, for our own files or the compiler's, ends in one line and leaves no files."""
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
