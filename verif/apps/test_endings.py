"""The command line ends cleanly if it is interrupted or if its output cannot be written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tilewright.hw.spec.host.cache import scratch_directory
from tilewright.verif.kit.commands import SMALLEST
from tilewright.verif.kit.data import empty_cache, with_tools

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "tilewright"]
PATIENCE = 120
"""Seconds, on a machine that has much else to do."""


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Restores the default handlers of signals that the test process ignores, as it does in the
    background of a shell or under nohup: the processes it starts would ignore them too."""
    ignored = [n for n in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(n) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.default_int_handler)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


def until(holds: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


def running(words: list[str], directory: Path, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *words], cwd=directory, env={**os.environ, **more},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def children(process: subprocess.Popen[str]) -> list[int]:
    tasks = Path(f"/proc/{process.pid}/task").glob("*/children")
    return [int(number) for task in tasks for number in task.read_text().split()]


def is_running(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_generate_ends_at_a_signal(number: int, status: int, tmp_path: Path) -> None:
    """Ends silently and leaves no file if a signal arrives while the tool writes the Verilog."""
    words = ["generate", "m3xu", "--set", "rows=2", "--set", "cols=2", "-o", "unit.v"]
    with running(words, tmp_path) as process:
        until(lambda: bool(children(process)), process)
        (tool,) = children(process)
        process.send_signal(number)
        assert process.communicate(timeout=PATIENCE) == ("", "")
    assert process.returncode == status
    assert not is_running(tool)
    assert list(tmp_path.iterdir()) == []


def test_components_under_way_are_not_complained_about(tmp_path: Path) -> None:
    """Amaranth warns of each that was made and never used."""
    code = (
        "import os, signal\n"
        "from tilewright.hw.m3xu.grid import Grid\n"
        "from tilewright.__main__ import run\n"
        "elaborate = Grid.elaborate\n"
        "def interrupted(*arguments):\n"
        "    made = elaborate(*arguments)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    return made\n"
        "Grid.elaborate = interrupted\n"
        "run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "generate", "m3xu", "-o", "unit.v"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_an_interrupt_where_exceptions_are_dropped(tmp_path: Path) -> None:
    """Python prints and forgets what a destructor raises."""
    code = (
        "import os, signal, time, tilewright.commands.list_units as used\n"
        "from tilewright.__main__ import run\n"
        "class Component:\n"
        "    def __del__(self):\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "used.entries = lambda: (Component() and None, time.sleep(60))\n"
        "run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "list"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "")


def test_a_build_ends_at_a_signal(tmp_path: Path) -> None:
    """Ends the compiler and its child processes, and removes what they have written."""
    cache, marks = with_tools(tmp_path / "cache"), tmp_path / "marks"
    marks.mkdir()
    compiler = tmp_path / "compiler"
    compiler.write_text(
        "#!/bin/sh\n[ $1 = --version ] && exec echo compiler 1.0\n"
        f"mktemp >/dev/null\nsleep 600 & echo $! > {marks}/$$.new && mv {marks}/$$.new {marks}/$$\n"
        "wait\n"
    )
    compiler.chmod(0o755)
    np.save(tmp_path / "a.npy", np.eye(2))
    before = {*tmp_path.iterdir()}
    words = ["run", "gemm", "a.npy", "a.npy", *SMALLEST]
    variables = {"TILEWRIGHT_CACHE": str(cache), "CXX": str(compiler), "TMPDIR": str(tmp_path)}
    with running(words, tmp_path, **variables) as process:
        until(lambda: any(path.suffix == "" for path in marks.iterdir()), process)
        assert list(cache.glob("build-*"))
        process.terminate()
        assert process.communicate(timeout=PATIENCE) == ("", "")
    assert process.returncode == 143
    started = [int(path.read_text()) for path in marks.iterdir() if path.suffix == ""]
    assert [number for number in started if is_running(number)] == []
    assert {*tmp_path.iterdir()} == before
    assert [path.name for path in cache.glob("[!.]*")] == ["tools"]


def test_what_a_killed_build_has_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGKILL: nothing is removed then, but by a later build, once nobody holds it for sure."""
    cache = empty_cache(tmp_path / "cache", monkeypatch)
    code = "import time; from tilewright.hw.spec.host.cache import scratch_directory as make\n"
    code += "with make() as path: (path / 'x').touch(); print(path, flush=True); time.sleep(600)"
    holders = [
        subprocess.Popen([sys.executable, "-c", code], stdout=-1, text=True) for _ in range(2)
    ]
    try:
        held, left = (Path(str(holder.stdout and holder.stdout.readline()).strip())
                      for holder in holders)  # fmt: skip
        holders[1].kill()
        holders[1].wait()
        with scratch_directory() as own:
            assert {*cache.glob("build-*")} == {own, held, left}
        for path in (held, left):
            os.utime(path, (0, 0))
        with scratch_directory() as own:
            assert {*cache.glob("build-*")} == {own, held}
    finally:
        for holder in holders:
            holder.kill()
            holder.communicate()
    assert (held / "x").exists()


@pytest.mark.parametrize("words", [["list"], ["--help"]])
def test_standard_output_that_takes_nothing(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, *words], stdout=full, stderr=-1, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: standard output: No space left on device\n"
    closed, pipe = os.pipe()
    os.close(closed)
    done = subprocess.run([*COMMAND, *words], stdout=pipe, stderr=-1, text=True, check=False)
    os.close(pipe)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


def test_closed_streams(tmp_path: Path) -> None:
    """Files opened later do not reuse the numbers of closed streams, and errors never go to the
    output."""
    shell = f'exec "$0" -m tilewright "$@" <&- >&- 2> {tmp_path}/said'
    for words, status in ((["list"], 0), (["show", "m4xu"], 2)):
        command = ["sh", "-c", shell, sys.executable, *words]
        assert subprocess.run(command, check=False).returncode == status
        assert (tmp_path / "said").read_text().count("\n") == (1 if status else 0)
    shell = f'exec "$0" -m tilewright show m4xu > {tmp_path}/said 2>&-'
    assert subprocess.run(["sh", "-c", shell, sys.executable], check=False).returncode == 2
    assert (tmp_path / "said").read_text() == ""


def test_standard_error_that_takes_nothing() -> None:
    with open("/dev/full", "w") as full:
        assert subprocess.run([*COMMAND, "show", "m4xu"], stderr=full, check=False).returncode == 2
