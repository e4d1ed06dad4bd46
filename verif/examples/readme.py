"""An example in a separate directory, and the commands of its README."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tilewright.sim.rtl.toolchain import ToolMissing, find_icarus
from tilewright.toolchain import install_verilator
from tilewright.verif.kit.pages import page

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


class Shell:
    """An empty directory with commands ``tilewright``, ``python`` and ``verilator`` that are those
    of the tests.

    Parameters
    ----------
    directory: where commands run
    programs: an empty directory for the commands
    """

    def __init__(self, directory: Path, programs: Path) -> None:
        self.directory, self._programs = directory, programs
        directory.mkdir(exist_ok=True)
        programs.mkdir()
        self._program("tilewright", f'"{sys.executable}" -m tilewright')
        self._program("python", f'"{sys.executable}"')

    def _program(self, name: str, command: str) -> None:
        path = self._programs / name
        path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        path.chmod(0o755)

    def with_verilator(self) -> None:
        """Adds the command ``verilator`` to the environment."""
        self._program("verilator", f'"{install_verilator()}"')

    def change(self, file: str, old: str, new: str) -> None:
        """Replaces a text that occurs once in one of its files."""
        path = self.directory / file
        text = path.read_text()
        assert text.count(old) == 1, old
        path.write_text(text.replace(old, new))

    def run(self, command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """A command in a shell, with variables of the environment; its output."""
        environment = {
            **os.environ, **variables, "PATH": f"{self._programs}:{os.environ['PATH']}"
        }  # fmt: skip
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


class Example(Shell):
    """A copy of an example, with the commands of :class:`Shell`.

    Parameters
    ----------
    name: its folder below ``examples``
    directory: an empty one
    """

    def __init__(self, name: str, directory: Path) -> None:
        shutil.copytree(EXAMPLES / name, directory / name)
        super().__init__(directory / name, directory / "bin")

    @property
    def page(self) -> str:
        return (self.directory / "README.md").read_text()

    @property
    def commands(self) -> list[str]:
        """Commands of the README, in order."""
        return re.findall(r"^    (\S.*)$", self.page, re.M)


_LINE = re.compile(r"^ *(0x[0-9a-f]+): ((?:[0-9a-f]{2} )*[0-9a-f]{2})\b(?! [0-9a-f]{2}\b)", re.M)


class Stranger(Example):
    """An example whose ``python`` finds the standard library and NumPy, and nothing else.

    ``tilewright`` and ``verilator`` are commands, as in any example.

    Parameters
    ----------
    name: its folder below ``examples/from_the_page``
    directory: an empty one
    """

    def __init__(self, name: str, directory: Path) -> None:
        super().__init__("from_the_page", directory)
        self.directory /= name
        packages = directory / "packages"
        packages.mkdir()
        installed = Path(np.__file__).parents[1]
        for package in ("numpy", "numpy.libs"):  # the libraries of the wheel, where there are any
            if (installed / package).exists():
                (packages / package).symlink_to(installed / package)
        # -S: no directory of packages is on the path.
        self._program("python", f'env PYTHONPATH="{packages}" "{sys.executable}" -S')
        self.with_verilator()
        self._has_numpy_only()

    def _has_numpy_only(self) -> None:
        """Fail unless Tilewright cannot be imported and NumPy can."""
        done = self.run('python -c "import numpy, tilewright"')
        assert "No module named 'tilewright'" in done.stderr, done.stderr


def memory_lines(text: str) -> dict[int, bytes]:
    """The bytes of memory that a page or a program shows, by address.

    A line is ``ADDRESS: BYTES``, in hexadecimal; what a page says of it comes three blanks later.
    """
    found = {int(address, 16): bytes.fromhex(content) for address, content in _LINE.findall(text)}
    assert found
    return found


def page_of_memory(name: str) -> str:
    """The section of a page of ``docs`` that shows the memory of a job."""
    section = page(name).read_text().partition("## Memory of a job, byte by byte\n")[2]
    return section.partition("\n## ")[0]
