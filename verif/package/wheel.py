"""A wheel of this tree, and environments that hold nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

__all__ = ["Completed", "build_wheel", "clean_environment", "find_python", "install", "pip"]

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
    """A new environment with a wheel and what the extras need; the path of its Python."""
    made = [python, "-m", "venv", str(directory)]
    subprocess.run(made, env=clean_environment(), check=True)
    own = directory / "bin" / "python"
    wanted = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
    pip(own, "install", "--quiet", wanted, directory=directory)
    return own
