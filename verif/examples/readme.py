"""An example in a separate directory, and the commands of its README."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tilewright.sim.rtl.toolchain import ToolMissing, find_icarus
from tilewright.toolchain import install_verilator
import importlib.util
import sys
from types import ModuleType


EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load_script(path: str) -> ModuleType:
    """The program at a path below ``examples``, which is no package."""
    name = "example_" + path.removesuffix(".py").replace("/", "_")
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


_SECONDS = 600


def needs_icarus() -> None:
    """Skips a test if Icarus is not installed."""
    try:
        find_icarus()
    except ToolMissing as missing:
        pytest.skip(str(missing))


class Example:
    """A copy of an example, with commands ``tilewright``, ``python`` and ``verilator`` that are
    those of the tests.

    Parameters
    ----------
    name: its folder below ``examples``
    directory: an empty one
    """

    def __init__(self, name: str, directory: Path) -> None:
        self.directory = directory / name
        shutil.copytree(EXAMPLES / name, self.directory)
        self._programs = directory / "bin"
        self._programs.mkdir()
        self._program("tilewright", f'"{sys.executable}" -m tilewright')
        self._program("python", f'"{sys.executable}"')

    def _program(self, name: str, command: str) -> None:
        path = self._programs / name
        path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        path.chmod(0o755)

    def with_verilator(self) -> None:
        """Adds the command ``verilator`` to the environment."""
        self._program("verilator", f'"{install_verilator()}"')

    @property
    def page(self) -> str:
        return (self.directory / "README.md").read_text()

    @property
    def commands(self) -> list[str]:
        """Commands of the README, in order."""
        return re.findall(r"^    (\S.*)$", self.page, re.M)

    def change(self, file: str, old: str, new: str) -> None:
        """Replaces a text that occurs once in one of its files."""
        path = self.directory / file
        text = path.read_text()
        assert text.count(old) == 1, old
        path.write_text(text.replace(old, new))

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """A command in a shell; its output."""
        environment = {**os.environ, "PATH": f"{self._programs}:{os.environ['PATH']}"}
        # cocotb ends the process of a test that fails, where it sees that pytest runs.
        environment.pop("PYTEST_CURRENT_TEST", None)
        return subprocess.run(
            command, shell=True, cwd=self.directory, capture_output=True, text=True, check=False,
            timeout=_SECONDS, env=environment,
        )  # fmt: skip

    def prints(self, command: str) -> str:
        """Runs a command that must succeed and returns its output."""
        done = self.run(command)
        assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
        return done.stdout
