"""The command ``cache``: what it counts, what it removes, and what it leaves alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tilewright.cli import main
from tilewright.hw.spec.host.cache import cache_directory, contents
from tilewright.sim.rtl import build
from tilewright.synth.base.cache import cached
from tilewright.verif.harness import adder
from tilewright.verif.kit.data import empty_cache

DAY = 24 * 3600
OURS = {
    f"unit-{'a' * 32}.so": "simulations",
    f"runtime-{'b' * 32}/verilated.o": "simulations",
    f"header-{'c' * 32}/begin.h": "simulations",
    f"cocotb-verilator-{'d' * 24}/built": "simulations",
    f"numba-{'e' * 16}/deep/er/code.nbc": "code",
    f"synth/{'f' * 40}.json": "synthesis",
    "tools/YoWASP/compiled": "tools",
    "tools/wasmtime/modules/one": "tools",
}
"""Files of ours, with the kind of what they belong to."""
OTHERS = (
    "notes.txt", "unit.so", f"unit-{'g' * 32}.so", f"unit-{'a' * 32}.so.txt", "numba-here/code",
    f"runtime-{'a' * 32}", f"unit-{'h' * 32}.so/file", "synth/notes.json", "results/a.json",
)  # fmt: skip
"""Files of others; some nearly have names of ours."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "cache"
    directory.mkdir()
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(directory))
    return directory


def put(cache: Path) -> None:
    """Files of ours, ten bytes each, and those of others."""
    for name in (*OURS, *OTHERS):
        (cache / name).parent.mkdir(parents=True, exist_ok=True)
        (cache / name).write_text("0123456789")
    elsewhere = cache.parent / f"unit-{'1' * 32}.so"
    elsewhere.write_text("of others")
    (cache / elsewhere.name).symlink_to(elsewhere)


def files(cache: Path) -> set[str]:
    return {str(path.relative_to(cache)) for path in cache.rglob("*") if not path.is_dir()}


def report(cache: Path, *words: str) -> dict[str, Any]:
    """Returns entries and bytes by kind, as a command line with ``--json`` reports them."""
    file = cache.parent / "report.json"
    assert main(["cache", *words, "--json", str(file)]) == 0
    found: dict[str, Any] = json.loads(file.read_text())
    assert found["directory"] == str(cache)
    return {kind["kind"]: (kind["entries"], kind["bytes"]) for kind in found["kinds"]} | {
        "removed": found["removed"]
    }


def test_what_is_there(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = {"simulations": (0, 0), "code": (0, 0), "synthesis": (0, 0), "tools": (0, 0)}
    assert report(cache) == {**empty, "removed": None}
    put(cache)
    expected = {"simulations": (4, 40), "code": (1, 10), "synthesis": (1, 10), "tools": (1, 20)}
    assert report(cache) == {**expected, "removed": None}
    out = capsys.readouterr().out
    assert "80 bytes" in out
    assert "today" in out


def test_only_what_is_ours_is_removed(cache: Path) -> None:
    put(cache)
    link = f"unit-{'1' * 32}.so"
    assert report(cache, "--clean", "synthesis")["removed"] == {"entries": 1, "bytes": 10}
    left = {name for name, kind in OURS.items() if kind != "synthesis"} | {*OTHERS, link}
    assert files(cache) == left
    assert report(cache, "--clean", "all")["removed"] == {"entries": 6, "bytes": 70}
    assert files(cache) == {*OTHERS, link}
    assert (cache.parent / link).read_text() == "of others"
    assert not (cache / f"numba-{'e' * 16}").exists()


def test_what_is_used_stays(cache: Path) -> None:
    put(cache)
    old = time.time() - 10 * DAY
    for name in (f"unit-{'a' * 32}.so", f"numba-{'e' * 16}", f"runtime-{'b' * 32}"):
        os.utime(cache / name, (old, old))
    assert report(cache, "--clean", "all", "--unused-for", "11")["removed"]["entries"] == 0
    assert report(cache, "--clean", "simulations", "--unused-for", "9")["removed"]["entries"] == 2
    assert report(cache)["code"] == (1, 10)
    assert report(cache, "--clean", "all", "--unused-for", "9")["removed"]["entries"] == 1


def test_locks_and_tools_of_others(cache: Path) -> None:
    """Removes locks of entries that no longer exist, and keeps tools beside which other files
    lie."""
    put(cache)
    gone, other = cache / f".unit-{'a' * 32}.so.lock", cache / ".notes.lock"
    gone.touch()
    other.touch()
    (cache / "tools" / "mine").touch()
    report(cache, "--clean", "all")
    assert not gone.exists()
    assert other.exists()
    assert (cache / "tools" / "YoWASP").exists()


def test_beside_a_command_that_runs(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Removes nothing while another process uses the cache, even if that only reads it."""
    put(cache)
    before = files(cache)
    code = (
        "from tilewright.hw.spec.host.cache import cache_directory; cache_directory();"
        "print('ready', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        assert main(["cache", "--clean", "all"]) == 2
        said = capsys.readouterr().err
        assert main(["cache"]) == 0
        other.communicate("\n")
    assert said == f"error: the cache {cache} is used by another command\n"
    assert files(cache) == before
    assert report(cache, "--clean", "all")["removed"]["entries"] == 7


def test_names_of_what_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache knows the names of all that builds leave, though nothing is compiled here. Tools
    behind a link do not count as ours."""
    empty_cache(tmp_path / "cache", monkeypatch)

    def link(output: Path, *_: object) -> None:
        output.touch()

    monkeypatch.setattr(build, "_compile", lambda *_: None)
    monkeypatch.setattr(build, "_run", lambda *_, **__: None)
    monkeypatch.setattr(build, "_link", link)
    made = adder.build()
    library = build.build_library(made.verilog, made.sidecar)
    cached(("a", "b"), lambda: "{}")
    found = contents(cache_directory())
    assert library in {kept.path for kept in found}
    assert sorted(kept.kind for kept in found) == ["simulations"] * 3 + ["synthesis"]
    before = library.stat().st_mtime
    os.utime(library, (before - DAY, before - DAY))
    assert build.build_library(made.verilog, made.sidecar) == library
    assert library.stat().st_mtime >= before


def test_refusals(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in [
        (["--clean", "mine"],
         "--clean must be one of all, simulations, code, synthesis, tools, not 'mine'"),
        (["--unused-for", "3"], "--unused-for limits what --clean removes: give both"),
        (["--clean", "all", "--unused-for", "-1"], "--unused-for must be an integer in 0..36500"),
        (["--json", "a.txt"], "a.txt: must end in .json, not '.txt'"),
    ]:  # fmt: skip
        assert main(["cache", *words]) == 2
        assert capsys.readouterr().err.startswith(f"error: {said}")
