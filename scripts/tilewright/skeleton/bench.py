"""Writes a bench skeleton: the unit, a cocotb test, a Makefile, a pytest file.

The texts are those of the folder ``texts``, with ``$names`` in place of what depends on the unit.
The job of an accelerator is the function that the unit's registration names, as it stands there.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Any

from ..errors import UserError, user_errors
from ..hw.emit.unit import Emitted, emit
from ..hw.spec.config import Config
from ..hw.spec.host import outputs
from ..hw.spec.unit import Unit
from ..registry import Entry, entries, systems

__all__ = ["generate_bench"]

_TEXTS = Path(__file__).with_name("texts")

_IMPORTS = {
    "import cocotb",
    "import numpy as np",
    "import tilewright",
    "from cocotb.clock import Clock",
    "from cocotb.task import bridge, resume",
    "from cocotb.triggers import ClockCycles, RisingEdge, with_timeout",
    "from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam",
}
"""Imports of an accelerator's bench, besides those of its job."""

_MAKE_UNKNOWN = """
# In Icarus bytes without a write strobe are unknown, which cocotbext-axi does not read as such.
export COCOTB_RESOLVE_X ?= random
"""
_TEST_UNKNOWN = """
        # In Icarus bytes without a write strobe are unknown, which cocotbext-axi does not read.
        extra_env={"COCOTB_RESOLVE_X": "random"},"""

_FIRST = ("__future__", "typing")
"""Imports of a job's module that are written before, or not at all."""


def generate_bench(
    unit: Unit,
    config: Config,
    directory: Path,
    others: Mapping[str, Path | None],
    *,
    name: str | None = None,
) -> None:
    """``generate --cocotb``: write the skeleton, and say what is there and how to run it.

    Raises UserError if something else is asked for, too (``others``, by option), or the directory
    is not empty; then nothing is written.

    Parameters
    ----------
    name: of the top module; None: the unit's
    """
    for option in (option for option, path in others.items() if path is not None):
        raise UserError(f"--cocotb writes all its files into {directory}: leave out --{option}")
    _check_directory(directory)
    with user_errors(ValueError, about=unit.name):
        emitted = emit(unit, config, name)
    texts = _skeleton_texts(entries()[unit.name], emitted)
    _write_files(directory, texts)
    for file, text in texts.items():
        print(f"{directory / file}: {text.count(chr(10))} lines")
    print(f"run it: make -C {directory}, or pytest {directory}")
    if not all(map(_is_installed, ("cocotb", "cocotbext.axi"))):
        print("it needs cocotb: pip install 'tilewright[simulate]'")


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _check_directory(directory: Path) -> None:
    """Raise UserError for a directory that is not empty, or that cannot be made."""
    with user_errors(OSError, about=f"--cocotb {directory}"):
        if directory.is_dir():
            found = sorted(one.name for one in directory.iterdir())
            if found:
                raise UserError(
                    f"--cocotb {directory}: must be a new or an empty directory, "
                    f"not one that holds {found[0]}"
                )
            return
    if directory.exists() or directory.is_symlink():
        raise UserError(f"--cocotb {directory}: must be a directory, not a file")
    if not directory.parent.is_dir():
        raise UserError(f"--cocotb {directory}: {directory.parent} is not a directory")
    if why := outputs.obstacle(directory):
        raise UserError(f"--cocotb {directory}: cannot be written: {why}")


def _skeleton_texts(entry: Entry, emitted: Emitted) -> dict[str, str]:
    """The files of a skeleton by name.

    Raises UserError for an accelerator whose registration names no job.
    """
    emitted, others = _with_design(emitted)
    sidecar = emitted.sidecar
    module = sidecar["module"]
    names = {"unit": entry.unit.name, "module": module, "page": _page(entry)}
    names |= {"environment": "", "variables": ""}
    if entry.unit.jobs is None:
        bench = "streams.py.txt"
        operation = sidecar["operations"][0]
        incoming = [one["name"] for one in operation["operands"] if one["direction"] == "in"]
        names |= {
            "operation": operation["name"],
            "operands": ", ".join(f'"{name}": {name}' for name in incoming),
        }
    else:
        bench = "accelerator.py.txt"
        names |= _job(entry) | {"environment": _MAKE_UNKNOWN, "variables": _TEST_UNKNOWN}
    return {
        f"{module}.sv": emitted.verilog,
        f"{module}.json": json.dumps(sidecar, indent=1) + "\n",
        f"{module}_bench.py": _text(bench, names),
        f"test_{module}.py": _text("test.py.txt", names),
        "Makefile": _text("Makefile.txt", names),
        "ports.vlt": _text("ports.vlt.txt", names),
        **others,
    }


def _write_files(directory: Path, texts: Mapping[str, str]) -> None:
    """Write the files, all or none of them. Raises UserError if they cannot be written."""
    with user_errors(OSError, about=f"--cocotb {directory}"):
        made = not directory.exists()
        directory.mkdir(exist_ok=True)
        try:
            outputs.write_files(
                {directory / name: partial(_write, text) for name, text in texts.items()}
            )
        except OSError:
            if made:
                directory.rmdir()
            raise


def _write(text: str, file: Any) -> None:
    file.write(text.encode())


def _text(name: str, names: Mapping[str, str]) -> str:
    return Template((_TEXTS / name).read_text()).substitute(names)


def _page(entry: Entry) -> str:
    pages = [system.pages for system in systems() if entry in system.entries]
    return f"docs/{pages[0][0]}" if pages and pages[0] else "its page"


def _job(entry: Entry) -> dict[str, str]:
    """The job that the registration names: its imports, and all that comes after them."""
    if not entry.bench_job:
        raise UserError(f"--cocotb: the registration of {entry.unit.name} has no `bench_job`")
    module, _, _ = entry.bench_job.partition(":")
    source = inspect.getsource(import_module(module))
    found = [one for one in ast.parse(source).body if isinstance(one, ast.Import | ast.ImportFrom)]
    own = {ast.unparse(one) for one in found if getattr(one, "module", "") not in _FIRST}
    lines = sorted(_IMPORTS | own, key=lambda line: (line.startswith("from"), line))
    body = "\n".join(source.splitlines()[found[-1].end_lineno :]).strip()
    return {"imports": "\n".join(lines), "job": body}


def _with_design(emitted: Emitted) -> tuple[Emitted, dict[str, str]]:
    """Reduces the path of a unit's design file to its name; returns the file's text, too."""
    config = emitted.sidecar["config"]
    design = config.get("design", "")
    if not str(design).endswith(".py"):
        return emitted, {}
    path = Path(design)
    sidecar = emitted.sidecar | {"config": config | {"design": path.name}}
    verilog = emitted.verilog.replace(f"design = {design}\n", f"design = {path.name}\n", 1)
    with user_errors(OSError):
        return Emitted(verilog, sidecar), {path.name: path.read_text()}
