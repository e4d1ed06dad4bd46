"""A terminal shows what is under way; a pipe stays quiet."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
import pytest
from tilewright.cli import main
from tilewright.hw.spec.host.activity import Activity, activity
from tilewright.signs_of_life import in_words, shown_on_terminal
from tilewright.verif.kit.caches import empty_cache
from tilewright.verif.kit.commands import SMALLEST

COMMAND = [sys.executable, "-m", "tilewright"]
_MOST = 1 << 16
_MARK = "\a"
_COLUMNS = 120


def test_in_words() -> None:
    one = Activity("compiling the RTL, once", 7, done=2, began=0.0)
    assert in_words(one, 0.5) == "compiling the RTL, once: 2 of 7"
    assert in_words(one, 12.3) == "compiling the RTL, once: 2 of 7, 12 s"
    one = Activity("simulating products", 1000, done=1020, detail="a part", began=0.0)
    assert in_words(one, 0.0) == "simulating products: 1,000 of 1,000, a part"
    assert in_words(Activity("elaborating", began=0.0), 0.0) == "elaborating"


class Terminal:
    """What a terminal has been given to show."""

    def __init__(self, end: int, file: IO[str]) -> None:
        self._end, self._file = end, file

    def shown(self) -> bytes:
        """Since the last time: all that comes before a mark, for which alone this waits."""
        self._file.write(_MARK)
        self._file.flush()
        found = b""
        while not found.endswith(_MARK.encode()):
            found += os.read(self._end, _MOST)
        return found.removesuffix(_MARK.encode())


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """Standard error is one."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", str(_COLUMNS))
    ours, theirs = pty.openpty()
    with open(theirs, "w") as file, monkeypatch.context() as patch:
        patch.setattr("sys.stderr", file)
        try:
            yield Terminal(ours, file)
        finally:
            os.close(ours)


def plain(shown: bytes) -> str:
    """Without what moves the cursor and colours."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())


def test_a_terminal_shows_the_innermost(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as end:
        with shown_on_terminal(), activity("outer"):
            assert "outer" in plain(end.shown())
            with activity("compiling the RTL, once", total=7) as inner:
                assert "compiling the RTL, once: 0 of 7" in plain(end.shown())
                inner.step(2)
        assert "outer" in plain(end.shown())
        with activity("unseen"):
            pass
        assert not end.shown()


def test_an_error_gives_the_cursor_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as end:
        with pytest.raises(KeyboardInterrupt), shown_on_terminal(), activity("outer"):
            raise KeyboardInterrupt
        shown = end.shown()
    hidden, given_back = shown.rfind(b"\x1b[?25l"), shown.rfind(b"\x1b[?25h")
    assert 0 <= hidden < given_back


def test_a_pipe_stays_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    with shown_on_terminal(), activity("unseen", total=2) as one:
        one.step()
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_generate_shows_its_steps(tmp_path: Path) -> None:
    """On a terminal; in a pipe the same command says nothing on standard error."""
    words = [*COMMAND, "generate", "simd2", "--set", "tile=2", "-o", "unit.v"]
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(_COLUMNS)}
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs, env=environment
    ) as child:
        os.close(theirs)
        assert child.stdout is not None
        shown = b""
        while part := _read(ours):
            shown += part
        printed = child.stdout.read().decode()
    os.close(ours)
    assert child.returncode == 0
    assert "elaborating simd2" in plain(shown)
    assert "writing the Verilog of simd2: " in plain(shown)
    quiet = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (quiet.stdout, quiet.stderr) == (printed, "")


def _read(descriptor: int) -> bytes:
    """What a terminal shows next; nothing behind its end, of which Linux makes an error."""
    try:
        return os.read(descriptor, _MOST)
    except OSError:
        return b""


@pytest.mark.slow
def test_what_compiles_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The first run of a unit compiles it; the second finds it in the cache."""
    empty_cache(tmp_path / "cache", monkeypatch)
    monkeypatch.setenv("TILEWRIGHT_OPTIMISE", "0")
    np.save(tmp_path / "a.npy", np.eye(4))
    operands = [str(tmp_path / "a.npy")] * 2
    reports, printed = [], []
    for number in range(2):
        file = tmp_path / f"{number}.json"
        assert main(["run", "gemm", *operands, *SMALLEST, "--json", str(file)]) == 0
        reports.append(json.loads(file.read_text()))
        out, err = capfd.readouterr()
        assert not err
        printed.append(out)
    first, second = reports
    assert first["compile_seconds"] > 1 > first["seconds"]
    assert second["compile_seconds"] == 0
    assert ["compiled, once" in text for text in printed] == [True, False]
    assert first["operations_per_second"] == pytest.approx(first["operations"] / first["seconds"])
